import { useEffect, useState } from 'react';
import { urlOf } from '../../api/client.ts';
import type { RequestRow } from './columns.tsx';

const maxRows = 200;

/** What a live view is doing. */
export type LiveState = 'off' | 'connecting' | 'live' | 'lost';

/** Requests as they end, newest first, while `isOn`; `EventSource` connects again by itself. */
export function useLiveRequests(
  isOn: boolean,
  query: {
    readonly outcome?: 'ok' | 'failed' | 'cancelled';
    readonly model?: string;
    readonly provider?: string;
  },
): { readonly rows: readonly RequestRow[]; readonly state: LiveState } {
  const [rows, setRows] = useState<readonly RequestRow[]>([]);
  const [state, setState] = useState<LiveState>('off');
  const url = urlOf('GET /dashboard/api/generations/live', { query });
  useEffect(() => {
    if (!isOn) return setState('off');
    setRows([]);
    setState('connecting');
    const source = new EventSource(url);
    source.addEventListener('open', () => setState('live'));
    source.addEventListener('request', ({ data }: MessageEvent<string>) => {
      const row = JSON.parse(data) as RequestRow;
      setRows((before) => [row, ...before.filter(({ id }) => id !== row.id)].slice(0, maxRows));
    });
    // The server ends the view: the session is over, or it stops.
    source.addEventListener('end', () => {
      source.close();
      setState('lost');
    });
    source.addEventListener('error', () =>
      setState(source.readyState === EventSource.CLOSED ? 'lost' : 'connecting'),
    );
    return () => source.close();
  }, [isOn, url]);
  return { rows, state };
}
