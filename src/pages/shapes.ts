import { z } from 'zod';

/** Shapes that many rows share. Money crosses as text: a JSON number cannot hold it exactly. */

/** Micro-won as a decimal integer: `"1234567890"` is 1,234.56789 won. */
export const micro = z
  .string()
  .regex(/^-?\d{1,30}$/)
  .describe('Micro-won (1 won = 1,000,000), as text');

/** An instant in UTC, ISO 8601 with milliseconds. */
export const instant = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  .describe('ISO 8601 in UTC');

/** The body of every error of the page API. */
export const pageErrorShape = z.looseObject({
  error: z.looseObject({
    code: z.int(),
    type: z.string().describe('Stable; the pages choose their words by it'),
    message: z.strictObject({ ko: z.string(), en: z.string() }),
  }),
});
