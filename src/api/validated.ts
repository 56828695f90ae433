import type { z } from 'zod';
import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import { parseWith } from '../wire/parse-with.ts';
import { maxQueryBytes } from '../wire/shapes/query.ts';

/** The value as its schema parses it. Refuses its first fault with `400 invalid_request`. */
export function validated<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const parsed = parseWith(schema, value);
  if (!parsed.ok) throw refuse('invalid_request', parsed.fault.message);
  return parsed.value;
}

/**
 * As `validated`, for the text of a query, at most `maxQueryBytes` of it: of a repeated parameter the
 * first value counts.
 */
export function validatedQuery<S extends z.ZodType>(schema: S, text: string): z.output<S> {
  if (text.length > maxQueryBytes) throw refuse('invalid_request', messages.queryTooLong(maxQueryBytes));
  const values: Record<string, string> = Object.create(null);
  if (text !== '') {
    for (const [name, value] of new URLSearchParams(text)) values[name] ??= value;
  }
  return validated(schema, values);
}
