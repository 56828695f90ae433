import { z } from 'zod';
import { type Bilingual, requirements } from '../../errors/messages.ts';
import { decimalToScaled } from '../../money/krw.ts';
import { reading } from '../parse-with.ts';

/*
 * Parameters of a query. Each is parsed from its text, and documented as what that text stands for.
 */

/** JSON Schema of the value that the text stands for. */
type Documented = Readonly<Record<string, unknown>>;

/** A parameter that `read` parses; it returns null for text that does not meet the requirement. */
export function parameter<T>(read: (text: string) => T | null, requirement: Bilingual, as: Documented) {
  return reading(z.string().meta(as), read, requirement);
}

/** An integer of at most 15 digits between two bounds, inclusive. */
export function integerText(min: number, max = 1e15) {
  const isOpen = max === 1e15;
  return parameter(
    (text) => {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      return value >= min && value <= max ? value : null;
    },
    isOpen ? requirements.minInteger(min) : requirements.integer(min, max),
    { type: 'integer', minimum: min, ...(isOpen ? {} : { maximum: max }) },
  );
}

/** A decimal number of at least 0, times 10^`decimals`, rounded half up. */
export function decimalText(decimals: number) {
  return parameter(
    (text) => {
      const value = decimalToScaled(text, decimals);
      return value === null || value < 0n ? null : value;
    },
    requirements.nonNegative,
    { type: 'number', minimum: 0 },
  );
}

/** `true` or `false`. */
export function booleanText() {
  return z.enum(['true', 'false']).transform((text) => text === 'true');
}

/** A boolean as clients write it in a query in their language: in any case. */
export function anyCaseBooleanText() {
  return parameter(
    (text) => {
      const word = text.toLowerCase();
      return word === 'true' || word === 'false' ? word === 'true' : null;
    },
    requirements.oneOf(['true', 'false']),
    { enum: ['true', 'false'] },
  );
}

/** The entries of a comma-separated list, without empty ones. */
export function listText() {
  return z.string().transform(entriesOf);
}

/** A comma-separated list of some of the values. */
export function listTextOf<const W extends string>(values: readonly W[]) {
  const some = `(?:(?:${values.join('|')})\\s*)?`;
  const isOne = (entry: string): entry is W => values.some((value) => value === entry);
  return parameter(
    (text): readonly W[] | null => {
      const entries = entriesOf(text);
      return entries.every(isOne) ? entries : null;
    },
    requirements.oneOf(values),
    {
      pattern: `^\\s*${some}(?:,\\s*${some})*$`,
      examples: [...values.slice(0, 1), values.slice(0, 2).join(',')],
    },
  );
}

function entriesOf(text: string): readonly string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}
