import { isObject } from '../wire/json.ts';

/** The bodies of errors are short; a longer one is not searched for a wait. */
const maxSearchedLength = 20_000;
const unitMs: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['sec', 1_000],
  ['second', 1_000],
  ['seconds', 1_000],
  ['m', 60_000],
  ['min', 60_000],
  ['minute', 60_000],
  ['minutes', 60_000],
  ['h', 3_600_000],
  ['hour', 3_600_000],
  ['hours', 3_600_000],
]);
/** Members that state seconds, or milliseconds, wherever in the body they are. */
const secondMembers = new Set(['retry_after', 'retry_after_sec', 'retry_after_seconds', 'retryAfter']);
const millisecondMembers = new Set(['retry_after_ms', 'retryAfterMs']);

/**
 * The wait that the body of a 429 states, in milliseconds: a `RetryInfo` of Google, a member such
 * as `retry_after`, or "try again in 1m2.5s" of the message. Null when it states none.
 */
export function statedWaitMs(body: string): number | null {
  if (body.length > maxSearchedLength) return null;
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return inWords(body);
  }
  return inMembers(parsed) ?? inWords(body);
}

function inMembers(value: unknown): number | null {
  if (Array.isArray(value)) return firstOf(value.map(inMembers));
  if (!isObject(value)) return null;
  return firstOf(
    Object.entries(value).map(([name, member]) => {
      if (name === 'retryDelay' && typeof member === 'string') return durationMs(member);
      if (secondMembers.has(name)) return numberMs(member, 1_000);
      return millisecondMembers.has(name) ? numberMs(member, 1) : inMembers(member);
    }),
  );
}

function firstOf(waits: readonly (number | null)[]): number | null {
  return waits.find((wait) => wait !== null) ?? null;
}

function numberMs(value: unknown, unit: number): number | null {
  const stated = typeof value === 'string' ? Number(value) : value;
  return typeof stated === 'number' && Number.isFinite(stated) && stated >= 0 ? stated * unit : null;
}

function inWords(text: string): number | null {
  const found =
    /\b(?:try again|retry|wait)\b[^0-9"]{0,30}((?:\d{1,9}(?:\.\d{1,9})?\s?[a-z]{1,7}\s?){1,3})/i.exec(text);
  return found?.[1] === undefined ? null : durationMs(found[1]);
}

/** `2.9s`, `1m2s`, `850ms`, `20 seconds`. */
function durationMs(text: string): number | null {
  let sum: number | null = null;
  for (const [, amount, unit = ''] of text.matchAll(/(\d{1,9}(?:\.\d{1,9})?)\s?([a-z]{1,7})/gi)) {
    const ms = unitMs.get(unit.toLowerCase());
    if (ms === undefined) break;
    sum = (sum ?? 0) + Number(amount) * ms;
  }
  return sum;
}
