import { useState } from 'react';
import { urlOf } from '../../api/client.ts';
import { type LiveState, useLive } from '../../api/live.ts';
import type { RequestRow } from '../../requests/columns.tsx';
import type { RequestQuery } from '../../requests/request-query.ts';

const maxRows = 200;

/** What a followed list has received. */
interface Followed {
  readonly rows: readonly RequestRow[];
  /** When the last row came, in epoch milliseconds; null before the first one. */
  readonly updatedMs: number | null;
}

const none: Followed = { rows: [], updatedMs: null };

/** Requests that pass the filter as they end, newest first, while `isOn`. */
export function useLiveRequests(
  isOn: boolean,
  query: RequestQuery,
): Followed & { readonly state: LiveState } {
  const url = isOn ? urlOf('GET /dashboard/api/generations/live', { query }) : null;
  const [followed, setFollowed] = useState({ ...none, url });
  const own = followed.url === url ? followed : none;
  const state = useLive(url, {
    request: (row: RequestRow) =>
      setFollowed((before) => {
        const rows = before.url === url ? before.rows : [];
        return {
          url,
          rows: [row, ...rows.filter(({ id }) => id !== row.id)].slice(0, maxRows),
          updatedMs: Date.now(),
        };
      }),
  });
  return { rows: own.rows, updatedMs: own.updatedMs, state };
}
