import { z } from 'zod';

/** Won as a JSON number, exact to six decimals. */
export const won = z.number().describe('Won, exact to six decimals');
/** An instant of the API. */
export const instant = z.iso.datetime({ offset: true }).describe('ISO 8601 in UTC');
/** A count. */
export const count = z.int().min(0);
/** A rate in won per unit, as text, so that all of its decimals are kept. */
export const rate = z
  .string()
  .regex(/^\d+(\.\d+)?$/)
  .describe('Won per unit as a decimal string');

/** A response object inside `data`. */
export function inData<T extends z.ZodType>(shape: T) {
  return z.strictObject({ data: shape });
}
