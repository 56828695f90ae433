import type { Candidate, DrainView } from '../catalogue/model.ts';
import { isSupported } from '../dialects/known-parameters.ts';
import type { rejectReasons } from '../errors/messages.ts';
import { type Price, priceIn } from '../money/price.ts';
import type { CompletionRequest } from '../wire/chat.ts';
import type { MaxPrice, Names } from '../wire/preferences.ts';

/** Why a candidate is not tried. */
export type RejectReason = Exclude<keyof typeof rejectReasons, 'part_not_supported'>;

/**
 * A prompt is rejected only if our count exceeds the context by this factor: the model uses another
 * tokenizer.
 */
export const contextMargin = 1.1;

/** Levels that another one includes, as in OpenRouter. */
const wider: ReadonlyMap<string, string> = new Map([
  ['mxfp4', 'fp4'],
  ['nvfp4', 'fp4'],
  ['mxfp8', 'fp8'],
]);

/** What candidates are dropped for besides the request. */
export interface FilterContext {
  /** Our count of the prompt tokens, or an upper bound. */
  readonly promptTokens: number;
  /** The candidates that operators drained. */
  readonly drains: DrainView;
  /** The providers that the key may use; null: all. */
  readonly allowed: Names | null;
}

/**
 * Why this candidate cannot or must not take the request, independent of the others; null when it
 * can. Sends nothing.
 */
export function rejectReason(
  request: CompletionRequest,
  candidate: Candidate,
  { promptTokens, drains, allowed }: FilterContext,
): RejectReason | null {
  if (request.wantsMedia) return 'output_not_supported';
  if (drains.isDrained(candidate)) return 'drained';
  if (allowed !== null && placeIn(allowed, candidate) === null) return 'not_allowed';
  const unwanted = unwantedReason(request, candidate);
  if (unwanted !== null) return unwanted;
  if (promptTokens > candidate.contextLength * contextMargin) return 'context_too_small';
  for (const input of request.inputs) if (!candidate.inputs.has(input)) return 'input_not_supported';
  const wantsTools = request.parameters['tools'] !== undefined;
  if (wantsTools && candidate.supportedParameters !== null && !candidate.supportedParameters.has('tools'))
    return 'tools_not_supported';
  return null;
}

/** Why the request itself excludes a candidate. */
function unwantedReason(
  { provider: wanted, parameters }: CompletionRequest,
  candidate: Candidate,
): RejectReason | null {
  const { only, ignore, quantizations, maxPrice } = wanted;
  if (only !== null && placeIn(only, candidate) === null) return 'not_in_only';
  if (placeIn(ignore, candidate) !== null) return 'ignored';
  if (quantizations !== null && !isQuantizedAs(candidate, quantizations)) return 'quantization';
  if (wanted.denyDataCollection && candidate.dataCollection) return 'data_collection';
  if (wanted.zdr && !candidate.zdr) return 'not_zdr';
  if (wanted.distillable && !candidate.distillable) return 'not_distillable';
  // An upstream without capacity in the requested tier may respond in the ordinary one.
  const { price } = candidate;
  const tier = typeof parameters['service_tier'] === 'string' ? parameters['service_tier'] : null;
  if (maxPrice !== null && [price, priceIn(price, tier)].some((one) => isAbove(one, maxPrice)))
    return 'above_max_price';
  if (wanted.requireParameters && !Object.keys(parameters).every((name) => isTaken(candidate, name)))
    return 'parameters_not_supported';
  return null;
}

/**
 * The place of the first name of a request that refers to this candidate; null when none does. A
 * name is its provider's slug or its tag, in any case, its full label, or the first part of a
 * two-part tag: `vertex` is any `vertex/…`, and `naru` any slot.
 */
export function placeIn(names: Names, { providerTag, providerName, label }: Candidate): number | null {
  if (names.size === 0) return null;
  let first = Number.POSITIVE_INFINITY;
  const look = (name: string): void => {
    first = Math.min(first, names.get(name) ?? first);
  };
  const tag = providerTag.toLowerCase();
  for (const name of [tag, providerName.toLowerCase(), label.toLowerCase()]) look(name);
  for (let at = tag.indexOf('/'); at !== -1; at = tag.indexOf('/', at + 1)) look(tag.slice(0, at));
  return Number.isFinite(first) ? first : null;
}

/** Whether a parameter is passed on: it is declared, or none is and the API accepts it. */
function isTaken({ supportedParameters: declared, acceptedParameters }: Candidate, name: string): boolean {
  return declared === null ? acceptedParameters.includes(name) : isSupported(name, declared);
}

function isQuantizedAs({ quantization }: Candidate, wanted: ReadonlySet<string>): boolean {
  const level = quantization ?? 'unknown';
  return wanted.has(level) || wanted.has(wider.get(level) ?? level);
}

function isAbove(price: Price, { prompt, completion, request }: MaxPrice): boolean {
  return (
    (prompt !== null && price.prompt > prompt) ||
    (completion !== null && price.completion > completion) ||
    (request !== null && price.request > request)
  );
}
