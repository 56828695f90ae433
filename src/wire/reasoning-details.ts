import { isObject, type JsonObject } from './json.ts';

/**
 * An entry of `reasoning_details` in OpenRouter's shapes. A stream delivers an entry in pieces,
 * each with the entry's `index`; a client sends them back as received, or joined.
 */
export interface ReasoningDetail {
  readonly type: 'reasoning.text' | 'reasoning.summary' | 'reasoning.encrypted';
  readonly text?: string;
  readonly summary?: string;
  readonly signature?: string;
  readonly data?: string;
  /** The tool call that an encrypted entry belongs to. */
  readonly id?: string;
  readonly format: string;
  readonly index: number;
}

type Entry = JsonObject;

/**
 * An entry for reasoning that is plain text. Clients that send back only entries return it then.
 */
export function detailOfText(text: string): ReasoningDetail {
  return { type: 'reasoning.text', text, format: 'unknown', index: 0 };
}

/**
 * The text of the entries, joined: `text` of texts, `summary` of summaries. Empty when there is
 * none.
 */
export function textOfDetails(details: unknown): string {
  if (!Array.isArray(details)) return '';
  return details.map((detail) => (isObject(detail) ? (textIn(detail) ?? '') : '')).join('');
}

/** Whether some entry has more than its text: a signature, encrypted data, a format of its own. */
export function hasMoreThanText(details: unknown): boolean {
  if (!Array.isArray(details)) return false;
  return details.some(
    (detail) =>
      isObject(detail) &&
      (detail['type'] === 'reasoning.encrypted' ||
        detail['signature'] != null ||
        (detail['format'] != null && detail['format'] !== 'unknown')),
  );
}

/** Joins consecutive pieces of the same type and index. Entries of other kinds stay as they are. */
export function joinDetails<T>(details: readonly T[]): readonly T[] {
  const joined: T[] = [];
  for (const detail of details) addDetail(joined, detail);
  return joined;
}

/** Joins a piece to the last of joined entries, or adds it behind them. */
export function addDetail<T>(joined: T[], detail: T): void {
  const last = joined.at(-1);
  const both = isObject(last) && isObject(detail) ? joinedEntry(last, detail) : null;
  if (both === null) joined.push(detail);
  else joined[joined.length - 1] = both as T;
}

function joinedEntry(one: Entry, other: Entry): Entry | null {
  const { type } = one;
  if (type !== other['type'] || one['index'] !== other['index']) return null;
  const member = type === 'reasoning.text' ? 'text' : type === 'reasoning.summary' ? 'summary' : null;
  if (member === null) return null;
  // Added, not joined as a list: that would copy the text so far for each piece.
  const text = stringOf(one[member]) + stringOf(other[member]);
  const signature = other['signature'] ?? one['signature'];
  return { ...one, [member]: text, ...(signature === undefined ? {} : { signature }) };
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textIn(detail: Entry): string | null {
  const text = detail['type'] === 'reasoning.summary' ? detail['summary'] : detail['text'];
  return typeof text === 'string' ? text : null;
}
