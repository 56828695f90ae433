import { type Day, parseDay } from '../datasets/days.ts';
import { refuse } from '../errors/catalogue.ts';
import { messages, requirements } from '../errors/messages.ts';
import { integerOf, wordOf } from './query-values.ts';

/**
 * The day in a parameter; null when absent. Throws `invalid_request` unless it is `YYYY-MM-DD`
 * (spec:api/18.2).
 */
export function dayOf(query: URLSearchParams, name: string): Day | null {
  const text = query.get(name);
  if (text === null) return null;
  const day = parseDay(text);
  if (day === null) throw refuse('invalid_request', messages.invalidValue(name, requirements.date));
  return day;
}

/**
 * The whole number in a parameter; null when absent. Throws `invalid_request` for any other value.
 */
export function countOf(query: URLSearchParams, name: string, least: number, most?: number): number | null {
  const text = query.get(name);
  return text === null ? null : integerOf(name, text, least, most);
}

/**
 * One of the values of a parameter; null when absent. Throws `invalid_request` for any other value.
 */
export function choiceOf<W extends string>(
  query: URLSearchParams,
  name: string,
  values: readonly W[],
): W | null {
  const text = query.get(name);
  return text === null ? null : wordOf(name, text, values);
}
