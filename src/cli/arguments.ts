import { InvalidArgumentError } from 'commander';
import { parseBusinessNumber } from '../accounts/business-number.ts';
import { address } from '../config/validators.ts';
import { type Email, isOperatorName, parseEmail } from '../identity/email.ts';
import { isFinerThanMicroWon, type Krw, krwFromDecimal } from '../money/krw.ts';
import { oldestMajor } from '../postgres/binaries.ts';
import { parseInstant, systemClock } from '../time/clock.ts';
import { isoDay, periodAt, seoulDayAt } from '../time/period.ts';
import { type GenerationUuid, parseGenerationId } from '../wire/ids/generation-id.ts';
import { isStorableName, showsSomething, storableName } from '../wire/ids/name.ts';
import { generationOfRequest } from '../wire/ids/request-id.ts';

/** Won above zero, at most six decimals. */
export function positiveKrw(text: string): Krw {
  const amount = exactKrw(text);
  if (amount <= 0n) throw new InvalidArgumentError('must be more than 0 won.');
  return amount;
}

/** Won above or below zero, at most six decimals. */
export function signedKrw(text: string): Krw {
  const amount = exactKrw(text);
  if (amount === 0n) throw new InvalidArgumentError('must not be 0 won.');
  return amount;
}

/** A generation id, `gen-…`. */
export function generationUuid(text: string): GenerationUuid {
  const uuid = parseGenerationId(text);
  if (uuid === null)
    throw new InvalidArgumentError('must be a generation id such as gen-1795256637-6lyTdB8kBGAxXmx.');
  return uuid;
}

/** The identity of a generation by its id, or by that of its request, `req_…`. */
export function requestUuid(text: string): GenerationUuid {
  const uuid = generationOfRequest(text) ?? parseGenerationId(text);
  if (uuid === null)
    throw new InvalidArgumentError('must be the id of a generation, gen-…, or of a request, req_….');
  return uuid;
}

/** A spend limit as the API takes it: won from 0 to 10^15, rounded half up (spec:money/1.5,7.3). */
export function limitKrw(text: string): Krw {
  const amount = krwFromDecimal(text);
  // The sign is checked before rounding, as in the API.
  if (amount === null || text.startsWith('-'))
    throw new InvalidArgumentError(
      'must be an amount in won from 0 to 1000000000000000, such as 5000 or 0.5.',
    );
  return amount;
}

/**
 * The number of worker processes; null for `auto`. The bound keeps a mistyped number from starting
 * thousands.
 */
export function workers(text: string): number | null {
  if (text === 'auto') return null;
  const count = Number(text);
  if (!/^\d{1,3}$/.test(text) || count < 1 || count > 128)
    throw new InvalidArgumentError('must be "auto" or a whole number from 1 to 128.');
  return count;
}

/** A major version of PostgreSQL that Naru runs on. */
export function postgresMajor(text: string): number {
  const major = Number(text);
  if (!/^\d{2}$/.test(text) || major < oldestMajor)
    throw new InvalidArgumentError(`must be a major version of PostgreSQL from ${oldestMajor} on.`);
  return major;
}

/** An account id. */
export function accountId(text: string): number {
  const id = Number(text);
  if (!/^\d{1,15}$/.test(text) || id === 0)
    throw new InvalidArgumentError('must be an account id, a whole number.');
  return id;
}

/** A Korean business number, as its ten digits; null for `none`. */
export function businessNumber(text: string): string | null {
  if (text === 'none') return null;
  const digits = parseBusinessNumber(text);
  if (digits === null)
    throw new InvalidArgumentError('must be a business number such as 124-81-00998, or none.');
  return digits;
}

/** The id of a request for a top-up. */
export function topupId(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text))
    throw new InvalidArgumentError('must be the id of a request, a whole number.');
  return Number(text);
}

/** The first hex digits of a key's hash, or all 64. */
export function keyHash(text: string): string {
  if (!/^[0-9a-f]{6,64}$/.test(text))
    throw new InvalidArgumentError('must be at least the first 6 lowercase hex digits of a key hash.');
  return text;
}

/** An ISO 8601 instant with its offset, as epoch milliseconds. */
export function instant(text: string): number {
  const atMs = parseInstant(text);
  if (atMs === null) throw new InvalidArgumentError('must be a timestamp such as 2026-12-31T23:59:59+09:00.');
  return atMs;
}

/** Whether an instant is in the past: valid, but hardly intended. */
export function isPast(atMs: number | undefined): boolean {
  return atMs !== undefined && atMs <= systemClock.now();
}

/** A month `YYYY-MM` from 1970 to 2999, as the instant at which it begins in Seoul, epoch milliseconds. */
export function seoulMonth(text: string): number {
  if (!/^(19[7-9]\d|2\d{3})-(0[1-9]|1[0-2])$/.test(text))
    throw new InvalidArgumentError('must be a month such as 2026-01.');
  return periodAt('monthly', Date.parse(`${text}-01`)).startMs;
}

/** A day `YYYY-MM-DD` from 1970 to 2999, as the instant at which it begins in Seoul, epoch milliseconds. */
export function seoulDay(text: string): number {
  const atMs = /^(19[7-9]\d|2\d{3})-\d{2}-\d{2}$/.test(text)
    ? Date.parse(`${text}T00:00:00+09:00`)
    : Number.NaN;
  if (Number.isNaN(atMs) || isoDay(seoulDayAt(atMs)) !== text)
    throw new InvalidArgumentError('must be a day such as 2026-01-31.');
  return atMs;
}

/** The beginning of a day in Seoul, or an instant; epoch milliseconds. */
export function fromDay(text: string): number {
  return isDay(text) ? seoulDay(text) : instant(text);
}

/** The end of a day in Seoul, or an instant; epoch milliseconds. */
export function toDay(text: string): number {
  return isDay(text) ? periodAt('daily', seoulDay(text)).endMs : instant(text);
}

function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text);
}

/** An IP address or a host name. */
export function host(text: string): string {
  const fault = address(text);
  if (fault !== null) throw new InvalidArgumentError(`${fault}.`);
  return text;
}

/** A TCP port; 0 lets the system choose. */
export function port(text: string): number {
  const value = Number(text);
  if (!/^\d{1,5}$/.test(text) || value > 65_535)
    throw new InvalidArgumentError('must be a port from 0 to 65535.');
  return value;
}

/** Names separated by commas, or `none`. */
export function names(text: string): readonly string[] | 'none' {
  return text === 'none' ? text : text.split(',').map((each) => each.trim());
}

/** A number of requests a minute, or `none`. */
export function perMinute(text: string): number | 'none' {
  return text === 'none' ? text : count(text);
}

/** A whole number from 1 to a million. */
export function count(text: string): number {
  const value = Number(text);
  if (!/^\d{1,7}$/.test(text) || value === 0 || value > 1_000_000)
    throw new InvalidArgumentError('must be a whole number from 1 to 1000000.');
  return value;
}

/** Seconds from 0 to a day; decimals are allowed. */
export function seconds(text: string): number {
  const value = Number(text);
  if (!/^\d{1,5}(\.\d{1,3})?$/.test(text) || value > 86_400)
    throw new InvalidArgumentError('must be seconds from 0 to 86400.');
  return value;
}

/** An e-mail address. */
export function email(text: string): Email {
  const address = parseEmail(text);
  if (address === null) throw new InvalidArgumentError('must be an e-mail address such as name@example.com.');
  return address;
}

/** The name of an operator. */
export function operatorName(text: string): string {
  if (!isOperatorName(text) || text.trim() !== text)
    throw new InvalidArgumentError(
      'must be a name of at most 60 letters, digits, spaces and . _ @ -, or an e-mail address.',
    );
  return text;
}

/** A name, by the rule of the API. */
export function name(text: string): string {
  visibleText(text);
  if (!isStorableName(text)) throw new InvalidArgumentError(storableName);
  return text;
}

/** Text with at least one visible character. */
export function visibleText(text: string): string {
  if (!showsSomething(text)) throw new InvalidArgumentError('must contain a visible character.');
  return text;
}

/** The largest amount that a bigint column holds, in micro-won. */
const maxStored = 2n ** 63n - 1n;

function exactKrw(text: string): Krw {
  const amount = krwFromDecimal(text);
  if (amount === null || amount > maxStored || amount < -maxStored)
    throw new InvalidArgumentError(
      'must be an amount in won such as 5000 or 0.5, at most 9223372036854.775807.',
    );
  if (isFinerThanMicroWon(text))
    throw new InvalidArgumentError('has more than six decimals; the smallest amount is 0.000001 won.');
  return amount;
}
