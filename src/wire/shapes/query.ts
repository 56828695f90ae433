import { z } from 'zod';
import { type Bilingual, requirements } from '../../errors/messages.ts';
import { decimalToScaled } from '../../money/krw.ts';
import { maxNameLength } from '../ids/name.ts';
import { must, reading } from '../parse-with.ts';

/*
 * Parameters of a query. Each is parsed from its text, and documented as what that text stands for.
 */

/** The longest query, in bytes; of both APIs (spec:errors/7.13). */
export const maxQueryBytes = 8_192;
/** The most entries of a comma-separated list (spec:errors/7.13). */
export const maxEntries = 100;

/** JSON Schema of the value that the text stands for. */
type Documented = Readonly<Record<string, unknown>>;

/** A parameter that `read` parses; it returns null for text that does not meet the requirement. */
export function parameter<T>(read: (text: string) => T | null, requirement: Bilingual, as: Documented) {
  return reading(z.string().meta(as), read, requirement);
}

/**
 * An integer between two bounds, inclusive. Without an upper bound a larger one than `max` is read as
 * `max`, which is beyond every list.
 */
export function integerText(min: number, max = Number.MAX_SAFE_INTEGER) {
  const isOpen = max === Number.MAX_SAFE_INTEGER;
  return parameter(
    (text) => {
      const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
      if (isOpen && value > max) return max;
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

/** A text to compare with: no name is longer. */
export function wordText() {
  return z.string().max(maxNameLength);
}

/** The distinct entries of a comma-separated list, without empty ones. */
export function listText() {
  return boundedList({ pattern: `^[^,]*(?:,[^,]*){0,${maxEntries - 1}}$` }).transform(entriesOf);
}

/** A comma-separated list of some of the values. */
export function listTextOf<const W extends string>(values: readonly W[]) {
  const some = `(?:(?:${values.join('|')})\\s*)?`;
  const known = new Set<string>(values);
  return reading(
    boundedList({
      pattern: `^\\s*${some}(?:,\\s*${some}){0,${maxEntries - 1}}$`,
      examples: [...values.slice(0, 1), values.slice(0, 2).join(',')],
    }),
    (text): readonly W[] | null => {
      const entries = entriesOf(text);
      return entries.every((entry) => known.has(entry)) ? (entries as readonly W[]) : null;
    },
    requirements.oneOf(values),
  );
}

function boundedList(as: Documented) {
  return z
    .string()
    .refine((text) => text.split(',', maxEntries + 1).length <= maxEntries, {
      error: must(requirements.maxEntries(maxEntries)),
    })
    .meta({ maxLength: maxQueryBytes, ...as });
}

function entriesOf(text: string): readonly string[] {
  const entries = text.split(',').map((entry) => entry.trim());
  return [...new Set(entries.filter((entry) => entry !== ''))];
}
