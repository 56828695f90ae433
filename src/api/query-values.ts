import { refuse } from '../errors/catalogue.ts';
import { type Bilingual, messages, requirements } from '../errors/messages.ts';
import { decimalToScaled } from '../money/krw.ts';

/**
 * Parsers of query parameters. Each parses one value and refuses an invalid one with `400
 * invalid_request`.
 */

/** An integer between two bounds, inclusive. */
export function integerOf(name: string, text: string, least: number, most = 1e15): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw wrong(name, most === 1e15 ? requirements.minInteger(least) : requirements.integer(least, most));
}

/** A decimal number of at least 0, times 10^`decimals`, rounded half up. */
export function decimalOf(name: string, text: string, decimals: number): bigint {
  const value = decimalToScaled(text, decimals);
  if (value === null || value < 0n) throw wrong(name, requirements.nonNegative);
  return value;
}

/** One of a set of values. */
export function wordOf<W extends string>(name: string, text: string, values: readonly W[]): W {
  const value = values.find((each) => each === text);
  if (value === undefined) throw wrong(name, requirements.oneOf(values));
  return value;
}

/** The entries of a comma-separated list, without empty ones. */
export function listOf(text: string): readonly string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

function wrong(name: string, requirement: Bilingual): Error {
  return refuse('invalid_request', messages.invalidValue(name, requirement));
}
