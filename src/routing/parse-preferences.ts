import { z } from 'zod';
import { refuse } from '../errors/catalogue.ts';
import { parseWith } from '../wire/parse-with.ts';
import type { Cutoffs, Names, Preferences } from '../wire/preferences.ts';
import { preferencesShape } from '../wire/shapes/requests.ts';

/** Its faults have the path of the member in the body. */
const bodyShape = z.object({ provider: preferencesShape.nullable().optional() });
type Stated = z.output<typeof preferencesShape>;

/**
 * Parses the member `provider`; refuses malformed and unknown members with `400 invalid_request`
 * (spec:compat/5). `route` is OpenRouter's former name for the partition of a sort.
 */
export function readPreferences(provider: unknown, route: unknown = null): Preferences {
  const parsed = parseWith(bodyShape, { provider });
  if (!parsed.ok) throw refuse('invalid_request', parsed.fault.message);
  const stated: Stated = parsed.value.provider ?? {};
  const sort = typeof stated.sort === 'string' ? { by: stated.sort } : (stated.sort ?? {});
  return {
    order: namesOf(stated.order),
    only: namesOf(stated.only),
    ignore: namesOf(stated.ignore) ?? new Map(),
    allowFallbacks: stated.allow_fallbacks ?? true,
    requireParameters: stated.require_parameters ?? false,
    // There is no measure of what OpenRouter calls `exacto`: the order stays as it is.
    sort: sort.by == null || sort.by === 'exacto' ? null : sort.by,
    sortAcrossModels: (sort.partition ?? (route === 'sort' ? 'none' : 'model')) === 'none',
    maxPrice: maxPriceOf(stated.max_price),
    preferredMinThroughput: cutoffsOf(stated.preferred_min_throughput, 1),
    preferredMaxLatency: cutoffsOf(stated.preferred_max_latency, 1_000),
    quantizations: stated.quantizations == null ? null : new Set(stated.quantizations),
    denyDataCollection: stated.data_collection === 'deny' || stated.data_collection === 'disallow',
    zdr: stated.zdr ?? false,
    distillable: stated.enforce_distillable_text ?? false,
  };
}

/** Names in lower case, each with its place. */
function namesOf(stated: readonly string[] | null | undefined): Names | null {
  if (stated == null) return null;
  const places = new Map<string, number>();
  for (const name of new Set(stated.map((each) => each.toLowerCase()))) places.set(name, places.size);
  return places;
}

/** No candidate has a price for images or audio, so all candidates meet those bounds. */
function maxPriceOf(stated: Stated['max_price']): Preferences['maxPrice'] {
  if (stated == null) return null;
  const { prompt = null, completion = null, request = null } = stated;
  return { prompt, completion, request };
}

/** A number is a bound of the median. `unit` converts one of the client's units to ours. */
function cutoffsOf(stated: Stated['preferred_max_latency'], unit: number): Cutoffs | null {
  const bounds = typeof stated === 'number' ? { p50: stated } : (stated ?? {});
  const cutoffs = Object.entries(bounds).flatMap(([percentile, bound]) =>
    bound == null ? [] : [[percentile, bound * unit] as const],
  );
  return cutoffs.length === 0 ? null : Object.fromEntries(cutoffs);
}
