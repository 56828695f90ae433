import { isUtf8 } from 'node:buffer';
import { refuse } from '../errors/catalogue.ts';
import type { Exchange } from './exchange.ts';

/** A JSON object as a client sent it; nothing in it has been checked. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The body as a JSON object. Refuses with `400 invalid_request` what is not one; of a doubled member the last one counts. */
export async function readJsonObject(exchange: Exchange, maxBytes: number): Promise<JsonObject> {
  const bytes = await exchange.body(maxBytes);
  const parsed = isUtf8(bytes) ? parse(bytes.toString('utf8')) : undefined;
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw refuse('invalid_request', '본문이 JSON 객체가 아닙니다. The body must be a JSON object.');
  }
  return parsed as JsonObject;
}

/** A member of the object itself, never of a prototype; undefined when it was not sent. */
export function member(body: JsonObject, name: string): unknown {
  return Object.hasOwn(body, name) ? body[name] : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
