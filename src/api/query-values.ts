import { refuse } from '../errors/catalogue.ts';
import { decimalToScaled } from '../money/krw.ts';

/** What a query parameter may be. Each reads one value and refuses with `400 invalid_request` what is none. */

/** An integer from `least` to `most`. */
export function integerOf(name: string, text: string, least: number, most = 1e15): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw wrong(
    name,
    most === 1e15 ? `an integer of at least ${least}` : `an integer from ${least} to ${most}`,
  );
}

/** A decimal number of at least 0, times 10^`decimals`, rounded half up. */
export function decimalOf(name: string, text: string, decimals: number): bigint {
  const value = decimalToScaled(text, decimals);
  if (value === null || value < 0n) throw wrong(name, 'a number of at least 0');
  return value;
}

/** One of some words. */
export function wordOf<W extends string>(name: string, text: string, message: readonly W[]): W {
  const word = message.find((each) => each === text);
  if (word === undefined) throw wrong(name, `one of ${message.join(', ')}`);
  return word;
}

/** The entries of a comma-separated list, without the empty ones. */
export function listOf(text: string): readonly string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

function wrong(name: string, what: string): Error {
  return refuse('invalid_request', `\`${name}\` must be ${what}.`);
}
