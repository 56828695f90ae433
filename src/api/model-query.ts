import { z } from 'zod';
import type { Candidate, Model } from '../catalogue/model.ts';
import {
  booleanText,
  decimalText,
  integerText,
  listText,
  listTextOf,
  wordText,
} from '../wire/shapes/query.ts';

const inputNames = ['text', 'image', 'file', 'audio', 'video'] as const;
const outputNames = [
  'text',
  'image',
  'audio',
  'video',
  'embeddings',
  'rerank',
  'speech',
  'transcription',
] as const;
const daySeconds = 86_400;
/** A rate is pico-won per token; a filter states won per million tokens. */
const picoDecimalsPerMillion = 6;

const price = decimalText(picoDecimalsPerMillion).optional().describe('Won per million tokens');
const age = integerText(0).optional().describe('Whole days since the release');

/**
 * The filters of OpenRouter that apply here (spec:compat/7.5). Prices are won per million tokens.
 * No model is known to stay in a region, so that filter matches nothing.
 * Use-case categories and benchmark indices are unknown: these filters, like unknown ones, are
 * ignored.
 */
export const filterShapes = {
  q: wordText().optional().describe('Part of an id or a name'),
  input_modalities: listTextOf(inputNames)
    .optional()
    .describe('Kinds of input that a model must accept, separated by commas'),
  output_modalities: listTextOf([...outputNames, 'all'])
    .prefault('text')
    .describe('Kinds of output, separated by commas, or `all`'),
  supported_parameters: listText()
    .optional()
    .describe('Parameters that a model must support, separated by commas'),
  context: integerText(1).optional().describe('Minimum context length'),
  min_price: price,
  max_price: price,
  min_output_price: price,
  max_output_price: price,
  min_age_days: age,
  max_age_days: age,
  arch: wordText().optional().describe('The family of the tokenizer'),
  model_authors: listText().optional().describe('Authors, separated by commas'),
  providers: listText().optional().describe('Providers, by slug or name, separated by commas'),
  zdr: booleanText().optional().describe('true: only models that a candidate serves with no data retention'),
  distillable: booleanText()
    .optional()
    .describe('true: only models that a candidate serves whose text may be used for distillation'),
  region: z.enum(['eu', 'us']).optional().describe('Matches no model'),
};

type FilterName = keyof typeof filterShapes;
type Filters = z.output<z.ZodObject<typeof filterShapes>>;
/** Whether a model is in the listing. */
type Wanted = (model: Model) => boolean;
/** The filter of a parameter, from its value. */
type Filter<T> = (value: T, nowMs: number) => Wanted;

const filters: { readonly [Name in FilterName]: Filter<NonNullable<Filters[Name]>> } = {
  q: (value) => {
    const text = searched(value);
    return ({ id, name }) => searched(id).includes(text) || searched(name).includes(text);
  },
  input_modalities: (values) => {
    const wanted = new Set<string>(values);
    return ({ inputModalities }) => wanted.isSubsetOf(new Set(inputModalities));
  },
  output_modalities: (values) => {
    const wanted = new Set<string>(values);
    if (wanted.size === 0 || wanted.has('all')) return () => true;
    return ({ outputModalities }) => outputModalities.some((output) => wanted.has(output));
  },
  supported_parameters: (values) => {
    const wanted = new Set(values);
    return ({ supportedParameters }) => wanted.isSubsetOf(new Set(supportedParameters));
  },
  context:
    (min) =>
    ({ contextLength }) =>
      contextLength >= min,
  min_price: (limit) => (model) => model.price.prompt >= limit,
  max_price: (limit) => (model) => model.price.prompt <= limit,
  min_output_price: (limit) => (model) => model.price.completion >= limit,
  max_output_price: (limit) => (model) => model.price.completion <= limit,
  min_age_days: (limit, nowMs) => (model) => ageOf(model, nowMs) >= limit,
  max_age_days: (limit, nowMs) => (model) => ageOf(model, nowMs) <= limit,
  arch: (value) => {
    const family = value.toLowerCase();
    return ({ tokenizer }) => family === '' || (tokenizer ?? 'Other').toLowerCase() === family;
  },
  model_authors: (values) => {
    const authors = new Set(values.map((value) => value.toLowerCase()));
    return ({ id }) => authors.size === 0 || authors.has(id.slice(0, id.indexOf('/')).toLowerCase());
  },
  providers: (values) => {
    const names = new Set(values.map((value) => value.toLowerCase()));
    return ({ candidates }) => names.size === 0 || candidates.some((one) => isAt(one, names));
  },
  zdr:
    (isWanted) =>
    ({ candidates }) =>
      !isWanted || candidates.some(({ zdr }) => zdr),
  distillable:
    (isWanted) =>
    ({ candidates }) =>
      !isWanted || candidates.some(({ distillable }) => distillable),
  region: () => () => false,
};

/** The filters of a query, all of which must match. */
export function filterOf(query: Filters, nowMs: number): Wanted {
  const names = Object.keys(filters) as FilterName[];
  const active = names.map((name) => wantedBy(name, query, nowMs)).filter((wanted) => wanted !== null);
  return (model) => active.every((wanted) => wanted(model));
}

function wantedBy<Name extends FilterName>(name: Name, query: Filters, nowMs: number): Wanted | null {
  const value = query[name];
  return value === undefined ? null : filters[name](value as NonNullable<Filters[Name]>, nowMs);
}

/**
 * Normalizes text for a search: case-insensitive, and with Hangul in one form, because some
 * keyboards send decomposed letters.
 */
function searched(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

/** Whole days since the release of a model. */
function ageOf({ created }: Model, nowMs: number): number {
  return Math.floor((nowMs / 1000 - created) / daySeconds);
}

/** A provider matches by its slug or its name, one slot by its tag. */
function isAt({ providerTag, providerName }: Candidate, names: ReadonlySet<string>): boolean {
  return names.has(providerTag.toLowerCase()) || names.has(providerName.toLowerCase());
}
