import { isObject, type JsonObject } from '../../wire/json.ts';
import type { NoteChange, PricedServices } from '../dialect.ts';

/** Tiers that upstreams bill above their ordinary prices. */
const dearerTiers: ReadonlySet<unknown> = new Set(['priority', 'scale', 'fast', 'performance', 'reserved']);

/** Whether parameters request a service that costs more than the ordinary one. */
export function requestsDearerService({ service_tier: tier, cache_control: control }: JsonObject): boolean {
  return dearerTiers.has(tier) || isLongLived(control);
}

/**
 * The parameters without a service that the upstream bills above its ordinary price and the price
 * has no row for (spec:money/4.14).
 */
export function withoutDearerService(
  parameters: JsonObject,
  priced: PricedServices,
  note: NoteChange,
): JsonObject {
  const { service_tier: tier, ...rest } = parameters;
  const isDropped = dearerTiers.has(tier) && !hasTier(priced, tier);
  if (isDropped) note('service_tier', 'dropped');
  return withPricedCache(isDropped ? rest : parameters, priced, note);
}

/**
 * A part, a tool, a message or parameters whose cache is written at a price that is known: for 5
 * minutes where a write for an hour has no row.
 */
export function withPricedCache(item: JsonObject, priced: PricedServices, note: NoteChange): JsonObject {
  const { cache_control: control } = item;
  if (priced.cacheWrite1h !== undefined || !isLongLived(control)) return item;
  note('cache_control', 'changed');
  const { ttl: _, ...short } = control as JsonObject;
  return { ...item, cache_control: short };
}

/** Whether a price has a row for a service tier. */
export function hasTier({ tiers }: PricedServices, tier: unknown): tier is string {
  return tiers !== undefined && typeof tier === 'string' && Object.hasOwn(tiers, tier);
}

function isLongLived(control: unknown): boolean {
  return isObject(control) && control['ttl'] === '1h';
}
