import { useState } from 'react';
import { urlOf } from '../../api/client.ts';
import { type LiveState, useLive } from '../../api/live.ts';
import type { RequestRow } from '../../requests/columns.tsx';
import type { RequestQuery } from '../../requests/request-query.ts';

const maxRows = 200;

/** Requests that pass the filter as they end, newest first, while `isOn`. */
export function useLiveRequests(
  isOn: boolean,
  query: RequestQuery,
): { readonly rows: readonly RequestRow[]; readonly state: LiveState } {
  const [rows, setRows] = useState<readonly RequestRow[]>([]);
  const state = useLive(
    isOn ? urlOf('GET /dashboard/api/generations/live', { query }) : null,
    {
      request: (row: RequestRow) =>
        setRows((before) => [row, ...before.filter(({ id }) => id !== row.id)].slice(0, maxRows)),
    },
    () => setRows([]),
  );
  return { rows, state };
}
