import { z } from 'zod';
import { requirements } from '../errors/messages.ts';
import { type Krw, krwOfMicro, maxKrw } from '../money/krw.ts';
import { parseInstant } from '../time/clock.ts';
import { must, reading } from '../wire/parse-with.ts';

/** Shapes that many rows share. Money crosses as text: a JSON number cannot hold it exactly. */

/** Micro-won as a decimal integer: `"1234567890"` is 1,234.56789 won. */
export const micro = z
  .string()
  .regex(/^-?\d{1,30}$/)
  .describe('Micro-won (1 won = 1,000,000) as a string');

/** An instant in UTC, ISO 8601 with milliseconds. */
export const instant = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  .describe('ISO 8601 in UTC');

/** An instant in a query, with its offset, as epoch milliseconds. */
export const instantText = reading(
  z.string().meta({ format: 'date-time' }),
  parseInstant,
  requirements.nullOrInstant,
);

/** `YYYY-MM-DD`, a day in Asia/Seoul. */
export const day = z.iso.date().describe('A day in Korean time (KST)');

/**
 * `YYYY-MM`, a month in Asia/Seoul, from 1970 to 2999: its days, and those beside it, have years of
 * four digits.
 */
export const month = z
  .string()
  .regex(/^(?:19[7-9]\d|2\d{3})-(?:0[1-9]|1[0-2])$/)
  .describe('A month in Korean time (KST)');

/** A text in both languages. */
export const bilingual = z.strictObject({ ko: z.string(), en: z.string() });

/** The member of a response with secrets that says why a repeated request gets none. */
export const sentOnceShape = {
  message: bilingual
    .nullable()
    .describe('Why this response has no secret: it answers a repeated request. Null in the first response'),
};

/** The body of every error of the page API. */
export const pageErrorShape = z.looseObject({
  error: z.looseObject({
    code: z.int(),
    type: z.string().describe('A stable code, from which the pages choose their message'),
    message: bilingual,
  }),
});

/** An amount in a body: micro-won as text, from 0 to 10^15 won. */
export const microText = reading(
  z.string({ error: must(requirements.microWon) }).meta({ pattern: '^\\d{1,21}$' }),
  (text) => {
    const amount = /^\d{1,21}$/.test(text) ? krwOfMicro(BigInt(text)) : null;
    return amount === null || amount > maxKrw ? null : amount;
  },
  requirements.microWon,
);

/** The most won that one act moves; far below what the ledger holds, so that no sum overflows. */
const maxMovedMicro = 10n ** 18n;

/** An amount in a body that becomes credit: micro-won as text, above zero, at most 10^12 won. */
export const creditText = reading(
  z.string({ error: must(requirements.creditMicro) }).meta({ pattern: '^\\d{1,19}$' }),
  (text) => movedOf(text, /^\d{1,19}$/),
  requirements.creditMicro,
);

/** The same for an act that adds or deducts: `-` deducts. */
export const movedText = reading(
  z.string({ error: must(requirements.movedMicro) }).meta({ pattern: '^-?\\d{1,19}$' }),
  (text) => movedOf(text, /^-?\d{1,19}$/),
  requirements.movedMicro,
);

function movedOf(text: string, form: RegExp): Krw | null {
  const micro = form.test(text) ? BigInt(text) : 0n;
  return micro === 0n || micro > maxMovedMicro || micro < -maxMovedMicro ? null : krwOfMicro(micro);
}

/** The id in a path; 0, which nothing has, when it is malformed. */
export function pathId(text: string): number {
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : 0;
}

/** A page of a list: `next` is the cursor of the next page, null on the last one. */
export function pageOf<T extends z.ZodType>(item: T) {
  return z.strictObject({ items: z.array(item), next: z.string().nullable() });
}
