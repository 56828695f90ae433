import { Refusal } from './refusal.ts';

/** An unchecked JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

/** The value as an object; otherwise throws a 400 that names `parameter`. */
export function objectOf(value: unknown, parameter: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw new Refusal(400, `${parameter} must be an object`, parameter);
}

/** The value as an array; otherwise throws a 400 that names `parameter`. */
export function arrayOf(value: unknown, parameter: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new Refusal(400, `${parameter} must be an array`, parameter);
}

/** The value as a string; otherwise throws a 400 that names `parameter`. */
export function stringOf(value: unknown, parameter: string): string {
  if (typeof value === 'string') return value;
  throw new Refusal(400, `${parameter} must be a string`, parameter);
}

/**
 * A number of the body within its bounds, or `otherwise` when absent or null; anything else is a
 * 400.
 */
export function numberIn<T>(
  body: Fields,
  name: string,
  [least, most]: readonly [number, number],
  otherwise: T,
): number | T {
  const value = body[name];
  if (value === undefined || value === null) return otherwise;
  if (typeof value === 'number' && value >= least && value <= most) return value;
  throw new Refusal(400, `${name} must be a number from ${least} to ${most}`, name);
}

/** Like `numberIn`, for whole numbers. */
export function integerIn<T>(
  body: Fields,
  name: string,
  bounds: readonly [number, number],
  otherwise: T,
): number | T {
  const value = numberIn(body, name, bounds, otherwise);
  if (typeof value === 'number' && !Number.isInteger(value))
    throw new Refusal(400, `${name} must be a whole number`, name);
  return value;
}

/** A boolean of the body; absent or null is false, anything else is a 400. */
export function flagOf(body: Fields, name: string): boolean {
  const value = body[name] ?? false;
  if (typeof value === 'boolean') return value;
  throw new Refusal(400, `${name} must be true or false`, name);
}
