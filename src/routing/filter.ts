import type { DrainView } from '../catalogue/drains.ts';
import type { Candidate } from '../catalogue/model.ts';
import { isSupported } from '../dialects/known-parameters.ts';
import type { rejectReasons } from '../errors/messages.ts';
import type { CompletionRequest } from '../wire/chat.ts';
import type { MaxPrice } from '../wire/preferences.ts';

/** Why a candidate is not tried. */
export type RejectReason = Exclude<keyof typeof rejectReasons, 'part_not_supported'>;

/**
 * A prompt is rejected only if our count exceeds the context by this factor: the model uses another
 * tokenizer.
 */
export const contextMargin = 1.1;

/** Levels that include others, as in OpenRouter. */
const wider: Readonly<Record<string, readonly string[]>> = {
  fp4: ['fp4', 'mxfp4', 'nvfp4'],
  fp8: ['fp8', 'mxfp8'],
};

/**
 * Why this candidate cannot or must not take the request, independent of the others; null when it
 * can. Sends nothing.
 */
export function rejectReason(
  request: CompletionRequest,
  candidate: Candidate,
  { promptTokens, drains }: { readonly promptTokens: number; readonly drains: DrainView },
): RejectReason | null {
  if (request.wantsMedia) return 'output_not_supported';
  if (drains.isDrained(candidate)) return 'drained';
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
  if (only !== null && !only.some((name) => isAt(candidate, name))) return 'not_in_only';
  if (ignore.some((name) => isAt(candidate, name))) return 'ignored';
  if (quantizations !== null && !isQuantizedAs(candidate, quantizations)) return 'quantization';
  if (wanted.denyDataCollection && candidate.dataCollection) return 'data_collection';
  if (wanted.zdr && !candidate.zdr) return 'not_zdr';
  if (wanted.distillable && !candidate.distillable) return 'not_distillable';
  if (maxPrice !== null && isAbove(candidate, maxPrice)) return 'above_max_price';
  if (wanted.requireParameters && !Object.keys(parameters).every((name) => isTaken(candidate, name)))
    return 'parameters_not_supported';
  return null;
}

/**
 * Whether a name in a request refers to this candidate: its provider's slug or its tag, in any
 * case, its full label, or the first part of a two-part tag: `vertex` is any `vertex/…`, and `naru`
 * any slot.
 */
export function isAt({ providerTag, providerName, label }: Candidate, name: string): boolean {
  const wanted = name.toLowerCase();
  const tag = providerTag.toLowerCase();
  return (
    tag === wanted ||
    providerName.toLowerCase() === wanted ||
    label.toLowerCase() === wanted ||
    tag.startsWith(`${wanted}/`)
  );
}

/** Whether a parameter is passed on: it is declared, or none is and the API accepts it. */
function isTaken({ supportedParameters: declared, acceptedParameters }: Candidate, name: string): boolean {
  return declared === null ? acceptedParameters.includes(name) : isSupported(name, declared);
}

function isQuantizedAs({ quantization }: Candidate, wanted: readonly string[]): boolean {
  const level = quantization ?? 'unknown';
  return wanted.some((name) => (wider[name] ?? [name]).includes(level));
}

function isAbove({ price }: Candidate, { prompt, completion, request }: MaxPrice): boolean {
  return (
    (prompt !== null && price.prompt > prompt) ||
    (completion !== null && price.completion > completion) ||
    (request !== null && price.request > request)
  );
}
