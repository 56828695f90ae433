import { parseInstant } from '../time/clock.ts';
import {
  checked,
  choice,
  decimal,
  flag,
  integer,
  list,
  number,
  object,
  shaped,
  text,
  withDefault,
} from './fields.ts';
import { parameterOverrides } from './schema-upstreams.ts';
import { modelId } from './validators.ts';

const maxTokens = 1_000_000_000;
/** A kind of input or output of a model. */
export const modalities = ['text', 'image', 'file', 'audio', 'video'] as const;
// biome-ignore format: one word per line is no clearer
const quantizations = ['int4', 'int8', 'fp4', 'mxfp4', 'nvfp4', 'fp6', 'fp8', 'mxfp8', 'fp16', 'bf16', 'fp32', 'unknown'] as const;

/** The amounts of one service. */
const amounts = {
  prompt: decimal('For prompt tokens.'),
  completion: decimal('For completion tokens, reasoning included.'),
  cache_read: decimal('For prompt tokens read from a cache; by default `prompt`.').optional(),
  cache_write: decimal('For prompt tokens written to a cache; by default `prompt`.').optional(),
  cache_write_1h: decimal(
    'For prompt tokens written to a cache for an hour; without it, no such write is requested.',
  ).optional(),
};
const request = withDefault(decimal('Per request, whatever its size; `per` does not apply.'), '0');
const per = choice('The number of tokens that the prices are for.', ['token', '1K', '1M']);

const tierNames = ['priority', 'flex', 'scale', 'fast', 'performance', 'reserved'] as const;
/** The price of one service tier. */
export const tier = object(
  'The price of one service tier.',
  {
    tier: choice('The tier, as the upstream reports it in its responses.', tierNames),
    ...amounts,
  },
  { id: 'tier' },
);
const tiers = list(
  'Other prices by the service tier that the upstream reports. A dearer tier without a price is not requested.',
  tier,
).optional();

/** What the upstream charges. */
export const upstreamPrice = object(
  'What the upstream charges: the cost of this price. It bills nothing; it is published with the price.',
  {
    ...amounts,
    request,
    tiers,
    currency: withDefault(
      shaped(
        'The currency, such as KRW, USD or CNY.',
        /^[A-Z]{3}$/,
        'must be three capital letters such as USD',
      ),
      'KRW',
    ),
    rate: decimal(
      'Won for one unit of the currency; by default `exchange.usd_krw` for USD.',
      'above zero',
    ).optional(),
    per,
  },
  { id: 'upstream_price' },
);

/** The price of tokens. */
export const price = object(
  'The price of tokens. Exact decimals; won per token are rounded half up at 12 decimals.',
  {
    ...amounts,
    request,
    tiers,
    upstream_price: upstreamPrice.optional(),
    currency: withDefault(choice('The currency; USD needs `exchange`.', ['KRW', 'USD']), 'KRW'),
    per,
    confirm: withDefault(
      flag(
        'True: a rate above ten times that of the dearest model that Naru lists (1.05 won per token, 1,050 won per request) is meant.',
      ),
      'false',
    ),
  },
  { id: 'price' },
);

const parameterName = shaped('A parameter.', /^[a-z][a-z0-9_]{0,63}$/, 'must be a name such as top_p');

/** One way to serve a model. */
export const candidate = object(
  "A way to serve the model: a `slot` or a `provider`. Members that it omits are the model's.",
  {
    slot: text('The name of a slot.').optional(),
    provider: text('The slug of a provider.').optional(),
    model: text("The provider's name for the model; by default the model's id.").optional(),
    context_length: integer('Prompt and completion together, in tokens.', 1, maxTokens).optional(),
    max_completion_tokens: integer('Maximum completion tokens.', 1, maxTokens).optional(),
    input_modalities: list('The kinds of input.', choice('A modality.', modalities), 1).optional(),
    supported_parameters: list('The supported parameters.', parameterName).optional(),
    parameters: parameterOverrides,
    quantization: choice('The quantization of its weights.', quantizations).optional(),
    price: price.optional(),
    weight: number(
      'Its weight among neighbours with a weight, divided by the square of its price; 0: tried last; by default the order of the list.',
      0,
      1e6,
    ).optional(),
    data_collection: flag(
      'Whether the upstream may store prompts or train on them; by default false for a slot or with `zdr`, else true.',
    ).optional(),
    zdr: flag(
      'Whether the upstream retains no data; by default true for a slot, false for a provider.',
    ).optional(),
    distillable: flag(
      "Whether the model's author allows its text to train other models (`enforce_distillable_text`); by default false.",
    ).optional(),
  },
);

const defaultParameters = object(
  'Values that the model uses for parameters that a request omits. Shown in the listing.',
  {
    temperature: number('Sampling temperature.', 0, 2).optional(),
    top_p: number('Nucleus sampling.', 0, 1).optional(),
    top_k: number('The number of tokens to sample from.', 0, 1e6).optional(),
    frequency_penalty: number('Penalty by how often a token occurred.', -2, 2).optional(),
    presence_penalty: number('Penalty for tokens that occurred.', -2, 2).optional(),
    repetition_penalty: number('Penalty for repeating the prompt or the response.', 0, 2).optional(),
  },
);

/** One model of the catalogue. */
export const model = object('A model that clients may request.', {
  id: checked('`author/slug`: the id that clients request, matched exactly.', modelId),
  name: text('The display name, such as "Author: Model"; by default the id.').optional(),
  description: withDefault(
    shaped('The description in the listing.', /^[^\0]{0,20000}$/su, 'must be text'),
    '',
  ),
  created: checked('The release day, YYYY-MM-DD, or an instant with its offset.', isDayOrInstant).optional(),
  context_length: integer(
    'Prompt and completion together, in tokens. Required where no public fact states it.',
    1,
    maxTokens,
  ).optional(),
  max_completion_tokens: integer(
    'Maximum completion tokens; by default only the context limits them.',
    1,
    maxTokens,
  ).optional(),
  input_modalities: list('The kinds of input.', choice('A modality.', modalities), 1).prefault(['text']),
  output_modalities: list('The kinds of output.', choice('A modality.', modalities), 1).prefault(['text']),
  supported_parameters: list(
    'The supported parameters; by default every known one is passed on.',
    parameterName,
  ).optional(),
  default_parameters: defaultParameters.optional(),
  hugging_face_id: text('Its name on Hugging Face.').optional(),
  knowledge_cutoff: checked('Its knowledge cutoff, YYYY-MM-DD.', isDay).optional(),
  tokenizer: text('The family of its tokenizer, such as Qwen3.').optional(),
  price: price.optional(),
  candidates: list(
    'The ways to serve it, at least one; or one `provider` or `slot` instead.',
    candidate,
    1,
  ).optional(),
  provider: text('Instead of `candidates`: the slug of the one provider that serves it.').optional(),
  slot: text('Instead of `candidates`: the name of the one slot that serves it.').optional(),
  model: text(
    "With `provider`: its name for the model; by default the maker's own name where the provider's slug is the id's author, else the id.",
  ).optional(),
  facts: withDefault(flag('Whether public facts fill in members that this row omits.'), 'true'),
});

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
