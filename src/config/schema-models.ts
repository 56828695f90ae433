import type { z } from 'zod';
import { parseInstant } from '../time/clock.ts';
import {
  checked,
  choice,
  flag,
  integer,
  list,
  number,
  object,
  objectAsNamed,
  optional,
  shaped,
  text,
  withDefault,
} from './fields.ts';
import type { ExchangeRate } from './rates.ts';
import { type BilledPrice, billedPriceOf, price } from './schema-prices.ts';
import { parameterOverrides } from './schema-providers.ts';
import { modelId } from './validators.ts';

const maxTokens = 1_000_000_000;
/** A kind of input or output of a model. */
export const modalities = ['text', 'image', 'file', 'audio', 'video'] as const;
// biome-ignore format: one word per line is no clearer
const quantizations = ['int4', 'int8', 'fp4', 'mxfp4', 'nvfp4', 'fp6', 'fp8', 'mxfp8', 'fp16', 'bf16', 'fp32', 'unknown'] as const;

const parameterName = shaped('A parameter.', /^[a-z][a-z0-9_]{0,63}$/, 'must be a name such as top_p');

/** One way to serve a model. */
export const candidate = object(
  "A way to serve the model: a `slot` or a `provider`. Members that it omits are the model's.",
  {
    slot: optional(text('The name of a slot.')),
    provider: optional(text('The slug of a provider.')),
    model: optional(text("The provider's name for the model; by default the model's id.")),
    context_length: optional(integer('Prompt and completion together, in tokens.', 1, maxTokens)),
    max_completion_tokens: optional(integer('Maximum completion tokens.', 1, maxTokens)),
    input_modalities: optional(list('The kinds of input.', choice('A modality.', modalities), 1)),
    supported_parameters: optional(list('The supported parameters.', parameterName)),
    parameters: parameterOverrides,
    quantization: optional(choice('The quantization of its weights.', quantizations)),
    price: optional(price),
    weight: optional(
      number(
        'Its weight among neighbours with a weight, divided by the square of its price; 0: tried last; by default the order of the list.',
        0,
        1e6,
      ),
    ),
    data_collection: optional(
      flag(
        'Whether the upstream may store prompts or train on them; by default false for a slot or with `zdr`, else true.',
      ),
    ),
    zdr: optional(
      flag('Whether the upstream retains no data; by default true for a slot, false for a provider.'),
    ),
    distillable: optional(
      flag(
        "Whether the model's author allows its text to train other models (`enforce_distillable_text`); by default false.",
      ),
    ),
  },
);

const defaultParameters = objectAsNamed(
  'Values that the model uses for parameters that a request omits. Shown in the listing.',
  {
    temperature: optional(number('Sampling temperature.', 0, 2)),
    top_p: optional(number('Nucleus sampling.', 0, 1)),
    top_k: optional(number('The number of tokens to sample from.', 0, 1e6)),
    frequency_penalty: optional(number('Penalty by how often a token occurred.', -2, 2)),
    presence_penalty: optional(number('Penalty for tokens that occurred.', -2, 2)),
    repetition_penalty: optional(number('Penalty for repeating the prompt or the response.', 0, 2)),
  },
).transform((parameters) =>
  Object.fromEntries(
    Object.entries(parameters).filter((entry): entry is [string, number] => entry[1] !== null),
  ),
);

/** One model of the catalogue. */
export const model = object('A model that clients may request.', {
  id: checked('`author/slug`: the id that clients request, matched exactly.', modelId),
  name: optional(text('The display name, such as "Author: Model"; by default the id.')),
  description: withDefault(
    shaped('The description in the listing.', /^[^\0]{0,20000}$/su, 'must be text'),
    '',
  ),
  created: optional(checked('The release day, YYYY-MM-DD, or an instant with its offset.', isDayOrInstant)),
  context_length: optional(
    integer(
      'Prompt and completion together, in tokens. Required where no public fact states it.',
      1,
      maxTokens,
    ),
  ),
  max_completion_tokens: optional(
    integer('Maximum completion tokens; by default only the context limits them.', 1, maxTokens),
  ),
  input_modalities: list('The kinds of input.', choice('A modality.', modalities), 1).prefault(['text']),
  output_modalities: list('The kinds of output.', choice('A modality.', modalities), 1).prefault(['text']),
  supported_parameters: optional(
    list('The supported parameters; by default every known one is passed on.', parameterName),
  ),
  default_parameters: optional(defaultParameters),
  hugging_face_id: optional(text('Its name on Hugging Face.')),
  knowledge_cutoff: optional(checked('Its knowledge cutoff, YYYY-MM-DD.', isDay)),
  tokenizer: optional(text('The family of its tokenizer, such as Qwen3.')),
  price: optional(price),
  candidates: optional(
    list('The ways to serve it, at least one; or one `provider` or `slot` instead.', candidate, 1),
  ),
  provider: optional(text('Instead of `candidates`: the slug of the one provider that serves it.')),
  slot: optional(text('Instead of `candidates`: the name of the one slot that serves it.')),
  model: optional(
    text(
      "With `provider`: its name for the model; by default the maker's own name where the provider's slug is the id's author, else the id.",
    ),
  ),
  facts: withDefault(flag('Whether public facts fill in members that this row omits.'), 'true'),
});

type ParsedModel = z.output<typeof model>;
type ParsedCandidate = z.output<typeof candidate>;

/** A model whose candidates have every value that they take from it. Its price is in won. */
export function modelOf(parsed: ParsedModel, exchangeRate: ExchangeRate | null, factsAsOf: string | null) {
  const { candidates, provider, slot, model: asks, price, created, contextLength, facts, ...row } = parsed;
  if (contextLength === null) throw new Error(`${row.id} has no context length`);
  const own = price === null ? null : billedPriceOf(price, exchangeRate, factsAsOf);
  const inherited = { ...row, contextLength, billed: own };
  return {
    ...row,
    name: row.name ?? row.id,
    /** Civil time, epoch milliseconds; null when not stated. */
    createdMs: created === null ? null : instantOf(created),
    contextLength,
    candidates: (candidates ?? [onlyCandidate(parsed)]).map((each) =>
      candidateOf(each, inherited, exchangeRate),
    ),
  };
}

/** The candidate of a row with its own `provider` or `slot`. */
function onlyCandidate({ id, provider, slot, model }: ParsedModel): ParsedCandidate {
  const [author, ...rest] = id.split('/');
  const name = model ?? (provider === author ? rest.join('/') : id);
  return candidate.parse(provider === null ? { slot } : { provider, model: name });
}

interface Inherited
  extends Pick<ParsedModel, 'id' | 'maxCompletionTokens' | 'inputModalities' | 'supportedParameters'> {
  readonly contextLength: number;
  readonly billed: BilledPrice | null;
}

function candidateOf(
  { slot, provider, model: asks, price, ...own }: ParsedCandidate,
  model: Inherited,
  exchangeRate: ExchangeRate | null,
) {
  const billed = price === null ? model.billed : billedPriceOf(price, exchangeRate, null);
  if (billed === null) throw new Error(`a candidate of ${model.id} has no price`);
  const contextLength = own.contextLength ?? model.contextLength;
  const max = own.maxCompletionTokens ?? model.maxCompletionTokens;
  const zdr = own.zdr ?? (slot !== null && own.dataCollection !== true);
  return {
    ...own,
    target: targetOf(slot, provider, asks ?? model.id),
    contextLength,
    // The inherited value may exceed a smaller context.
    maxCompletionTokens: max === null ? null : Math.min(max, contextLength),
    inputModalities: own.inputModalities ?? model.inputModalities,
    supportedParameters: own.supportedParameters ?? model.supportedParameters,
    ...billed,
    dataCollection: own.dataCollection ?? !(slot !== null || zdr),
    zdr,
    distillable: own.distillable ?? false,
  };
}

function targetOf(slot: string | null, provider: string | null, model: string) {
  if (slot !== null) return { kind: 'slot' as const, slot };
  if (provider === null) throw new Error('a candidate has neither a slot nor a provider');
  /** `model` is the upstream's name of the model. */
  return { kind: 'provider' as const, provider, model };
}

/**
 * Epoch milliseconds of `YYYY-MM-DD` (midnight in UTC) or of an instant with its offset; null for
 * anything else.
 */
export function instantOf(value: string): number | null {
  return parseInstant(/^\d{4}-\d{2}-\d{2}$/.test(value) ? `${value}T00:00:00Z` : value);
}

function isDayOrInstant(value: string): string | null {
  return instantOf(value) === null ? 'must be a date such as 2026-01-31' : null;
}

function isDay(value: string): string | null {
  return value.length === 10 && instantOf(value) !== null ? null : 'must be a date such as 2026-01-31';
}
