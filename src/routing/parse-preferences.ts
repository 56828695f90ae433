import { refuse } from '../errors/catalogue.ts';
import { type Bilingual, messages, requirements } from '../errors/messages.ts';
import { decimalToScaled } from '../money/krw.ts';
import { type Rate, rateOfPico } from '../money/price.ts';
import { isObject, type JsonObject } from '../wire/json-object.ts';
import { maxima } from '../wire/maxima.ts';
import type { Cutoffs, MaxPrice, Names, Preferences, Sort } from '../wire/preferences.ts';

const sorts: readonly Sort[] = ['price', 'throughput', 'latency'];
const percentiles = ['p50', 'p75', 'p90', 'p99'] as const;
/** A won per million tokens is 10^6 pico-won per token; a won per request is 10^12 pico-won. */
const perMillionTokens = 6;
const perRequest = 12;

/**
 * Parses the `provider` object; refuses invalid values with `400 invalid_request`. Unknown members
 * are ignored. `route` is OpenRouter's former name for the partition of a sort.
 */
export function readPreferences(provider: JsonObject, route: unknown = null): Preferences {
  const quantizations = listOf(provider, 'quantizations');
  return {
    order: namesOf(provider, 'order'),
    only: namesOf(provider, 'only'),
    ignore: namesOf(provider, 'ignore') ?? new Map(),
    allowFallbacks: flagOf(provider, 'allow_fallbacks') ?? true,
    requireParameters: flagOf(provider, 'require_parameters') ?? false,
    sort: sortOf(provider['sort']),
    sortAcrossModels: (partitionOf(provider['sort']) ?? (route === 'sort' ? 'none' : 'model')) === 'none',
    maxPrice: maxPriceOf(provider['max_price'] ?? null),
    preferredMinThroughput: cutoffsOf(provider, 'preferred_min_throughput', 1),
    preferredMaxLatency: cutoffsOf(provider, 'preferred_max_latency', 1_000),
    quantizations: quantizations === null ? null : new Set(quantizations),
    denyDataCollection: ['deny', 'disallow'].includes(String(provider['data_collection'] ?? 'allow')),
    zdr: flagOf(provider, 'zdr') ?? false,
  };
}

function namesOf(provider: JsonObject, member: string): Names | null {
  const names = listOf(provider, member);
  if (names === null) return null;
  const places = new Map<string, number>();
  for (const name of new Set(names.map((each) => each.toLowerCase()))) places.set(name, places.size);
  return places;
}

function listOf(provider: JsonObject, member: string): readonly string[] | null {
  const value = provider[member] ?? null;
  if (value === null) return null;
  if (!Array.isArray(value)) throw invalid(member, requirements.strings);
  if (value.length > maxima.providers) throw invalid(member, requirements.maxItems(maxima.providers));
  if (value.some((name) => typeof name !== 'string')) throw invalid(member, requirements.strings);
  if (value.some((name) => name.length > maxima.name))
    throw invalid(member, requirements.eachMaxLength(maxima.name));
  return value as readonly string[];
}

function flagOf(provider: JsonObject, member: string): boolean | null {
  const value = provider[member] ?? null;
  if (value !== null && typeof value !== 'boolean') throw invalid(member, requirements.boolean);
  return value;
}

/** `"throughput"` or `{ by: "throughput" }`; an unknown sort leaves the order unchanged. */
function sortOf(value: unknown): Sort | null {
  const by = isObject(value) ? value['by'] : value;
  if (by != null && typeof by !== 'string') throw invalid('sort', requirements.string);
  return sorts.find((sort) => sort === by) ?? null;
}

function partitionOf(sort: unknown): string | null {
  const value = (isObject(sort) ? sort['partition'] : null) ?? null;
  if (value !== null && value !== 'model' && value !== 'none')
    throw invalid('sort.partition', requirements.partition);
  return value;
}

/**
 * Numbers, or decimals as text. No candidate has a price for images or audio, so all candidates
 * meet those bounds.
 */
function maxPriceOf(value: unknown): MaxPrice | null {
  if (value === null) return null;
  if (!isObject(value)) throw invalid('max_price', requirements.object);
  for (const member of ['image', 'audio']) rateOf(value, member, perRequest);
  return {
    prompt: rateOf(value, 'prompt', perMillionTokens),
    completion: rateOf(value, 'completion', perMillionTokens),
    request: rateOf(value, 'request', perRequest),
  };
}

function rateOf(bounds: JsonObject, member: string, decimals: number): Rate | null {
  const value = bounds[member] ?? null;
  if (value === null) return null;
  const isShort = typeof value === 'string' && value.length <= maxima.name;
  const pico = typeof value === 'number' || isShort ? scaled(value, decimals) : null;
  if (pico === null || pico < 0n) throw invalid(`max_price.${member}`, requirements.wonAmount);
  return rateOfPico(pico);
}

function scaled(value: number | string, decimals: number): bigint | null {
  return decimalToScaled(String(value).trim(), decimals);
}

/** A number is a bound of the median. `unit` converts one of the client's units to ours. */
function cutoffsOf(provider: JsonObject, member: string, unit: number): Cutoffs | null {
  const value = provider[member] ?? null;
  if (value === null) return null;
  const bounds = isObject(value) ? value : { p50: value };
  const cutoffs: { -readonly [P in keyof Cutoffs]: number } = {};
  for (const percentile of percentiles) {
    const bound = bounds[percentile] ?? null;
    if (bound === null) continue;
    if (typeof bound !== 'number' || !(bound >= 0 && bound <= Number.MAX_VALUE))
      throw invalid(member, requirements.cutoffs);
    cutoffs[percentile] = bound * unit;
  }
  return Object.keys(cutoffs).length === 0 ? null : cutoffs;
}

function invalid(member: string, requirement: Bilingual): Error {
  return refuse('invalid_request', messages.invalidValue(`provider.${member}`, requirement));
}
