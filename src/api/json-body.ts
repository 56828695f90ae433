import { refuse } from '../errors/catalogue.ts';
import type { Exchange } from '../http/exchange.ts';

/** A JSON object as a client sent it; nothing in it has been checked. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The body as a JSON object. Refuses with `400 invalid_request` what is not one; of a doubled member the last one counts. */
export async function readJsonObject(exchange: Exchange, maxBytes: number): Promise<JsonObject> {
  const { parsed } = await exchange.json(maxBytes);
  const value = parsed.kind === 'value' ? parsed.value : undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refuse('invalid_request', '본문이 JSON 객체가 아닙니다. The body must be a JSON object.');
  }
  return value as JsonObject;
}

/** A member of the object itself, never of a prototype; undefined when it was not sent. */
export function member(body: JsonObject, name: string): unknown {
  return Object.hasOwn(body, name) ? body[name] : undefined;
}
