import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import type { KeyKind } from '../ids/api-key.ts';
import { assertValid, type Caller } from '../keys/authenticate.ts';
import type { Clock } from '../time/clock.ts';
import type { RequestContext } from '../wire/request-context.ts';

/** A JSON object as a client sent it, unchecked. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** What reading a body needs. */
export interface JsonBodyParts {
  readonly clock: Clock;
  readonly maxBodyBytes: () => number;
}

/**
 * Reads the body of an identified caller's request as a JSON object. A key that is not valid any
 * more when the body has arrived is refused. Refuses with `400 invalid_request` what is not an
 * object; of a doubled member the last one counts.
 */
export async function readJsonObject(
  { clock, maxBodyBytes }: JsonBodyParts,
  { caller: { key }, exchange }: { readonly caller: Caller; readonly exchange: RequestContext },
  credential: KeyKind,
): Promise<JsonObject> {
  const { parsed } = await key.withPin(exchange.json(maxBodyBytes()));
  assertValid(key, credential, clock.now());
  const value = parsed.kind === 'value' ? parsed.value : undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refuse('invalid_request', messages.bodyNotObject());
  }
  return value as JsonObject;
}

/** A member of the object itself, never of a prototype; undefined when absent. */
export function member(body: JsonObject, name: string): unknown {
  return Object.hasOwn(body, name) ? body[name] : undefined;
}
