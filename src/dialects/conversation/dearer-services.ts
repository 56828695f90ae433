import { isObject, type JsonObject } from '../../wire/json-object.ts';
import type { NoteChange } from '../parameter-change.ts';

/** Tiers that upstreams bill above their ordinary prices. */
const dearerTiers: ReadonlySet<unknown> = new Set(['priority', 'scale', 'fast']);

/** Whether parameters request a service that costs more than the ordinary one. */
export function requestsDearerService({ service_tier: tier, cache_control: control }: JsonObject): boolean {
  return dearerTiers.has(tier) || isLongLived(control);
}

/**
 * The parameters without a service that the upstream bills above its ordinary price, which no price
 * of the catalogue has a row for (spec:money/4.14).
 */
export function withoutDearerService(parameters: JsonObject, note: NoteChange): JsonObject {
  const { service_tier: tier, ...rest } = parameters;
  const isDearer = dearerTiers.has(tier);
  if (isDearer) note('service_tier', 'dropped');
  return withShortCache(isDearer ? rest : parameters, note);
}

/** A part, a tool, a message or parameters whose cache is written at the ordinary price: for 5 minutes. */
export function withShortCache(item: JsonObject, note: NoteChange): JsonObject {
  const { cache_control: control } = item;
  if (!isLongLived(control)) return item;
  note('cache_control', 'changed');
  const { ttl: _, ...short } = control as JsonObject;
  return { ...item, cache_control: short };
}

function isLongLived(control: unknown): boolean {
  return isObject(control) && control['ttl'] === '1h';
}
