import { useState } from 'react';
import { read, urlOf } from '../../api/client.ts';
import { type LiveState, useLive } from '../../api/live.ts';
import type { RequestRow } from '../../requests/columns.tsx';
import type { RequestQuery } from '../../requests/request-query.ts';

const maxRows = 200;
/** A request ends at most this long after it began. */
const maxRequestMs = 15 * 60_000;
/** A record is stored a little later than its request ends. */
const overlapMs = 10_000;

/** What a followed list has received. */
interface Followed {
  readonly rows: readonly RequestRow[];
  /** When the last row came, in epoch milliseconds; null before the first one. */
  readonly updatedMs: number | null;
}

const none: Followed = { rows: [], updatedMs: null };

/**
 * Requests that pass the filter as they end, newest first, while `isOn`; those that ended while the
 * stream was away are read when it goes on.
 */
export function useLiveRequests(
  isOn: boolean,
  query: RequestQuery,
): Followed & { readonly state: LiveState } {
  const url = isOn ? urlOf('GET /dashboard/api/generations/live', { query }) : null;
  const [followed, setFollowed] = useState({ ...none, url, sinceMs: Date.now() });
  if (followed.url !== url) setFollowed({ ...none, url, sinceMs: Date.now() });
  const add = (rows: readonly RequestRow[]): void =>
    setFollowed((before) =>
      before.url === url && rows.length > 0
        ? { ...before, rows: newestFirst([...rows, ...before.rows]), updatedMs: Date.now() }
        : before,
    );
  const state = useLive(url, { request: (row: RequestRow) => add([row]) }, (signal) => {
    const sinceMs = (followed.updatedMs ?? followed.sinceMs) - overlapMs;
    const from = new Date(sinceMs - maxRequestMs).toISOString();
    void read('GET /dashboard/api/generations', { query: { ...query, from, limit: maxRows }, signal }).then(
      ({ items }) => add(items.filter((row) => endedMs(row) >= sinceMs)),
      // The list without the gap is what a stream that was just opened shows; it goes on.
      () => {},
    );
  });
  return { rows: followed.rows, updatedMs: followed.updatedMs, state };
}

function newestFirst(rows: readonly RequestRow[]): readonly RequestRow[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return [...byId.values()].sort((a, b) => endedMs(b) - endedMs(a)).slice(0, maxRows);
}

function endedMs({ created_at, generation_ms }: RequestRow): number {
  return Date.parse(created_at) + (generation_ms ?? 0);
}
