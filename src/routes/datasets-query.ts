import { type Day, parseDay } from '../datasets/days.ts';
import { refuse } from '../errors/catalogue.ts';

/** A day, `YYYY-MM-DD`; null when absent. Throws `invalid_request` for any other form (service.md 4.4). */
export function dayOf(query: URLSearchParams, name: string): Day | null {
  const text = query.get(name);
  if (text === null) return null;
  const day = parseDay(text);
  if (day === null) throw refuse('invalid_request', `\`${name}\` must be a date as YYYY-MM-DD.`);
  return day;
}

/** A whole number within bounds; `absent` when it is not there. Throws `invalid_request`. */
export function integerOf<T>(
  query: URLSearchParams,
  name: string,
  bounds: { readonly least: number; readonly most: number; readonly absent: T },
): number | T {
  const text = query.get(name);
  if (text === null) return bounds.absent;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < bounds.least || value > bounds.most) {
    const upTo = bounds.most === Number.POSITIVE_INFINITY ? '' : ` and at most ${bounds.most}`;
    throw refuse('invalid_request', `\`${name}\` must be a whole number of at least ${bounds.least}${upTo}.`);
  }
  return Math.min(value, Number.MAX_SAFE_INTEGER);
}

/** One of some words; null when absent. Throws `invalid_request`. */
export function choiceOf<T extends string>(
  query: URLSearchParams,
  name: string,
  choices: readonly T[],
): T | null {
  const text = query.get(name);
  if (text === null) return null;
  const choice = choices.find((each) => each === text);
  if (choice === undefined)
    throw refuse('invalid_request', `\`${name}\` must be one of ${choices.join(', ')}.`);
  return choice;
}
