import { useState } from 'react';
import { urlOf } from '../../api/client.ts';
import { type LiveState, useLive } from '../../api/live.ts';
import type { RequestRow } from '../../requests/columns.tsx';

const maxRows = 200;

/** Requests as they end, newest first, while `isOn`. */
export function useLiveRequests(
  isOn: boolean,
  query: {
    readonly outcome?: 'ok' | 'failed' | 'cancelled';
    readonly model?: string;
    readonly provider?: string;
  },
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
