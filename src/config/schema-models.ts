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
/** What goes into or comes out of a model. */
export const modalities = ['text', 'image', 'file', 'audio', 'video'] as const;
// biome-ignore format: one word a line says no more
const quantizations = ['int4', 'int8', 'fp4', 'mxfp4', 'nvfp4', 'fp6', 'fp8', 'mxfp8', 'fp16', 'bf16', 'fp32', 'unknown'] as const;

/** What tokens cost. */
const price = object(
  'What tokens cost. Exact decimals; won per token are rounded half up at 12 decimals.',
  {
    prompt: decimal('For prompt tokens.'),
    completion: decimal('For completion tokens, reasoning included.'),
    request: withDefault(decimal('For a request, whatever its size; `per` does not apply.'), '0'),
    cache_read: decimal('For prompt tokens read from a cache; without it `prompt`.').optional(),
    cache_write: decimal('For prompt tokens written to a cache; without it `prompt`.').optional(),
    currency: withDefault(choice('The currency; USD needs `exchange`.', ['KRW', 'USD']), 'KRW'),
    per: withDefault(choice('How many tokens the prices are for.', ['token', '1K', '1M']), 'token'),
  },
  { id: 'price' },
);

const parameterName = shaped('A parameter.', /^[a-z][a-z0-9_]{0,63}$/, 'must be a name such as top_p');

/** One way to serve a model. */
const candidate = object(
  'A way to serve the model: a `slot` or a `provider`. What it does not state is as the model states it.',
  {
    slot: text('The name of a slot.').optional(),
    provider: text('The slug of a provider.').optional(),
    model: text("The provider's name for the model; without it the model's id.").optional(),
    context_length: integer('Prompt and completion together, in tokens.', 1, maxTokens).optional(),
    max_completion_tokens: integer('The longest completion.', 1, maxTokens).optional(),
    input_modalities: list('What it takes.', choice('A modality.', modalities), 1).optional(),
    supported_parameters: list('The parameters it understands.', parameterName).optional(),
    parameters: parameterOverrides,
    quantization: choice('How its weights are quantized.', quantizations).optional(),
    price: price.optional(),
    weight: number(
      'Its share beside the neighbours that state one too, over the square of its price; 0: only when nothing else is left; without it the order of the list.',
      0,
      1e6,
    ).optional(),
    data_collection: flag(
      'Whether the upstream may keep or learn from prompts; without it false for a slot or with `zdr`, else true.',
    ).optional(),
    zdr: flag('Whether nothing is retained; without it true for a slot, false for a provider.').optional(),
  },
);

const defaultParameters = object(
  'What the model uses for parameters that a request leaves out. Shown in the listing.',
  {
    temperature: number('Of sampling.', 0, 2).optional(),
    top_p: number('Nucleus sampling.', 0, 1).optional(),
    top_k: number('The tokens to choose from.', 0, 1e6).optional(),
    frequency_penalty: number('On what was said often.', -2, 2).optional(),
    presence_penalty: number('On what was said at all.', -2, 2).optional(),
    repetition_penalty: number('On repeating the prompt or the answer.', 0, 2).optional(),
  },
);

/** One model of the catalogue. */
export const model = object('A model that clients may ask for.', {
  id: checked('`author/slug`: what clients ask for, matched exactly.', modelId),
  name: text('The name that people read, such as "Author: Model"; without it the id.').optional(),
  description: withDefault(shaped('What it is good for.', /^[^\0]{0,20000}$/su, 'must be text'), ''),
  created: checked(
    'The day it appeared, YYYY-MM-DD, or an instant with its offset.',
    isDayOrInstant,
  ).optional(),
  context_length: integer(
    'Prompt and completion together, in tokens. Required where no public fact states it.',
    1,
    maxTokens,
  ).optional(),
  max_completion_tokens: integer(
    'The longest completion; without it only the context limits it.',
    1,
    maxTokens,
  ).optional(),
  input_modalities: list('What it takes.', choice('A modality.', modalities), 1).prefault(['text']),
  output_modalities: list('What it gives.', choice('A modality.', modalities), 1).prefault(['text']),
  supported_parameters: list(
    'The parameters it understands; without it every known one is passed on.',
    parameterName,
  ).optional(),
  default_parameters: defaultParameters.optional(),
  hugging_face_id: text('Its name on Hugging Face.').optional(),
  knowledge_cutoff: checked('The last day it knows of, YYYY-MM-DD.', isDay).optional(),
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
    "With `provider`: its name for the model; without it the maker's own name where the provider's slug is the id's author, else the id.",
  ).optional(),
  facts: withDefault(flag('Whether public facts fill in what this row leaves out.'), 'true'),
});

/** Epoch milliseconds of `YYYY-MM-DD` (midnight in UTC) or of an instant that states its offset; null for anything else. */
export function instantOf(value: string): number | null {
  return parseInstant(/^\d{4}-\d{2}-\d{2}$/.test(value) ? `${value}T00:00:00Z` : value);
}

function isDayOrInstant(value: string): string | null {
  return instantOf(value) === null ? 'must be a date such as 2026-01-31' : null;
}

function isDay(value: string): string | null {
  return value.length === 10 && instantOf(value) !== null ? null : 'must be a date such as 2026-01-31';
}
