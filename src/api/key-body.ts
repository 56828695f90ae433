import { refuse } from '../errors/catalogue.ts';
import { type Bilingual, messages, requirements } from '../errors/messages.ts';
import { isStorableName, maxNameLength, showsSomething } from '../ids/name.ts';
import type { KeyChange } from '../keys/keys.ts';
import { type Krw, krwFromNumber } from '../money/krw.ts';
import { parseInstant } from '../time/clock.ts';
import { type LimitReset, limitResets } from '../time/period.ts';
import { type JsonObject, member } from './json-body.ts';

/** The settings of a new key in the body of `POST /keys` (spec:api/7.2). */
export interface NewKeyBody {
  readonly name: string;
  readonly limit: Krw | null;
  readonly limitReset: LimitReset;
  readonly expiresAtMs: number | null;
}

/** Reads the body of `POST /keys`; refuses with `400 invalid_request`. */
export function readNewKey(body: JsonObject): NewKeyBody {
  const name = member(body, 'name');
  if (name === undefined) throw refuse('invalid_request', messages.missing('name'));
  return {
    name: nameOf(name),
    limit: limitOf(member(body, 'limit') ?? null),
    limitReset: limitResetOf(member(body, 'limit_reset') ?? null),
    expiresAtMs: expiryOf(member(body, 'expires_at') ?? null),
  };
}

/**
 * Reads the body of `PATCH /keys/{hash}` (spec:api/6.4): absent members are absent in the result.
 * Refuses all of it or nothing.
 */
export function readKeyChange(body: JsonObject): KeyChange {
  const name = member(body, 'name');
  const disabled = member(body, 'disabled');
  const limit = member(body, 'limit');
  const limitReset = member(body, 'limit_reset');
  return {
    ...(name === undefined ? {} : { name: nameOf(name) }),
    ...(disabled === undefined ? {} : { userDisabled: flagOf(disabled) }),
    ...(limit === undefined ? {} : { limitMicro: limitOf(limit) }),
    ...(limitReset === undefined ? {} : { limitReset: limitResetOf(limitReset) }),
  };
}

function nameOf(value: unknown): string {
  if (typeof value !== 'string') throw invalid('name', requirements.string);
  if (!showsSomething(value)) throw invalid('name', requirements.notEmpty);
  if (!isStorableName(value)) throw invalid('name', requirements.storableName(maxNameLength));
  return value;
}

function flagOf(value: unknown): boolean {
  if (typeof value !== 'boolean') throw invalid('disabled', requirements.boolean);
  return value;
}

/** Null is no limit; 0 refuses every request; more than six decimals are rounded half up (spec:money/1.5,7.3,7.4). */
function limitOf(value: unknown): Krw | null {
  if (value === null) return null;
  // The sign is checked before rounding: a negative limit is invalid, however near to zero.
  const isPositive = typeof value === 'number' && value >= 0 && !Object.is(value, -0);
  const limit = isPositive ? krwFromNumber(value) : null;
  if (limit === null) throw invalid('limit', requirements.spendLimit);
  return limit;
}

function limitResetOf(value: unknown): LimitReset {
  if (value === null) return 'never';
  const reset = limitResets.find((name) => name === value);
  if (reset === undefined) throw invalid('limit_reset', requirements.nullOrOneOf(limitResets));
  return reset;
}

/** A past instant is valid too, as in OpenRouter: the key is then created expired. */
function expiryOf(value: unknown): number | null {
  if (value === null) return null;
  const atMs = typeof value === 'string' ? parseInstant(value) : null;
  if (atMs === null) throw invalid('expires_at', requirements.nullOrInstant);
  return atMs;
}

function invalid(name: string, requirement: Bilingual): Error {
  return refuse('invalid_request', messages.invalidValue(name, requirement));
}
