import type { Candidate, Model } from '../catalogue/model.ts';
import { decimalOf, integerOf, listOf, wordOf } from './query-values.ts';

/** Whether a model is in the listing. */
type Wanted = (model: Model) => boolean;

/**
 * A filter of the listing, built from its value. Refuses a malformed value with `400
 * invalid_request`.
 */
type Filter = (name: string, value: string, nowMs: number) => Wanted;

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

/**
 * The filters of OpenRouter that apply here (spec:compat/7.5). Prices are won per million tokens.
 * No model is known to be distillable or to stay in a region, so these filters match nothing.
 * Use-case categories and benchmark indices are unknown: these filters, like unknown ones, are
 * ignored.
 */
const filters: Readonly<Record<string, Filter>> = {
  q: (_name, value) => {
    const message = searched(value);
    return ({ id, name }) => searched(id).includes(message) || searched(name).includes(message);
  },
  input_modalities: (name, value) => {
    const values = listOf(value).map((entry) => wordOf(name, entry, inputNames));
    return ({ inputModalities }) => values.every((entry) => inputModalities.includes(entry));
  },
  output_modalities: (name, value) => {
    const values = listOf(value).map((entry) => wordOf(name, entry, [...outputNames, 'all']));
    if (values.length === 0 || values.includes('all')) return () => true;
    return ({ outputModalities }) =>
      outputModalities.some((output) => values.some((entry) => entry === output));
  },
  supported_parameters: (_name, value) => {
    const values = listOf(value);
    return ({ supportedParameters }) => values.every((entry) => supportedParameters.includes(entry));
  },
  context: (name, value) => {
    const least = integerOf(name, value, 1);
    return ({ contextLength }) => contextLength >= least;
  },
  min_price: priceFilter((model, limit) => model.price.prompt >= limit),
  max_price: priceFilter((model, limit) => model.price.prompt <= limit),
  min_output_price: priceFilter((model, limit) => model.price.completion >= limit),
  max_output_price: priceFilter((model, limit) => model.price.completion <= limit),
  min_age_days: ageFilter((days, limit) => days >= limit),
  max_age_days: ageFilter((days, limit) => days <= limit),
  arch: (_name, value) => {
    const family = value.toLowerCase();
    return ({ tokenizer }) => family === '' || (tokenizer ?? 'Other').toLowerCase() === family;
  },
  model_authors: (_name, value) => {
    const authors = listOf(value.toLowerCase());
    return ({ id }) => authors.length === 0 || authors.includes(id.slice(0, id.indexOf('/')).toLowerCase());
  },
  providers: (_name, value) => {
    const values = listOf(value.toLowerCase());
    return ({ candidates }) =>
      values.length === 0 || candidates.some((one) => values.some((name) => isAt(one, name)));
  },
  zdr: (name, value) =>
    wordOf(name, value, ['true', 'false']) === 'true'
      ? ({ candidates }) => candidates.some(({ zdr }) => zdr)
      : () => true,
  distillable: (name, value) => {
    const values = wordOf(name, value, ['true', 'false']);
    return () => values === 'false';
  },
  region: (name, value) => {
    wordOf(name, value, ['eu', 'us']);
    return () => false;
  },
};

/** The default filters of a listing. */
const defaults: Readonly<Record<string, string>> = { output_modalities: 'text' };

/**
 * The filters of a query, all of which must match. Of a repeated parameter the first value counts.
 */
export function readFilters(query: URLSearchParams, nowMs: number): Wanted {
  const active = Object.entries(filters).flatMap(([name, filter]) => {
    const value = query.get(name) ?? defaults[name];
    return value === undefined ? [] : [filter(name, value, nowMs)];
  });
  return (model) => active.every((wanted) => wanted(model));
}

/**
 * Normalizes text for a search: case-insensitive, and with Hangul in one form, because some
 * keyboards send decomposed letters.
 */
function searched(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

function priceFilter(matches: (model: Model, pico: bigint) => boolean): Filter {
  return (name, value) => {
    const limit = decimalOf(name, value, picoDecimalsPerMillion);
    return (model) => matches(model, limit);
  };
}

function ageFilter(matches: (days: number, limit: number) => boolean): Filter {
  return (name, value, nowMs) => {
    const limit = integerOf(name, value, 0);
    return ({ created }) => matches(Math.floor((nowMs / 1000 - created) / daySeconds), limit);
  };
}

/** A provider matches by its slug or its name, one slot by its tag. */
function isAt({ providerTag, providerName }: Candidate, name: string): boolean {
  return providerTag.toLowerCase() === name || providerName.toLowerCase() === name;
}
