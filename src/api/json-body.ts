import type { z } from 'zod';
import type { KeyKind } from '../accounts/api-key.ts';
import type { Caller } from '../accounts/authenticate.ts';
import { assertValid } from '../accounts/rules.ts';
import type { Clock } from '../time/clock.ts';
import { parsedValue } from '../wire/json.ts';
import type { RequestContext } from '../wire/request-context.ts';
import { validated } from './validated.ts';

/** What reading a body needs. */
export interface JsonBodyParts {
  readonly clock: Clock;
  readonly maxBodyBytes: () => number;
}

/**
 * Reads the body of an identified caller's request as its schema parses it. A key that is not valid
 * any more when the body has arrived is refused. Refuses with `400 invalid_request` what does not
 * follow the schema; of a doubled member the last one counts.
 */
export async function readJsonBody<S extends z.ZodType>(
  { clock, maxBodyBytes }: JsonBodyParts,
  { caller: { key }, exchange }: { readonly caller: Caller; readonly exchange: RequestContext },
  credential: KeyKind,
  schema: S,
): Promise<z.output<S>> {
  const { parsed } = await key.withPin(exchange.json(maxBodyBytes()));
  assertValid(key, credential, clock.now());
  return validated(schema, parsedValue(parsed));
}
