import { useEffect, useRef, useState } from 'react';
import { reportConnection } from './connection.ts';

/** What a live view is doing. */
export type LiveState = 'off' | 'connecting' | 'live' | 'lost';

/** A server that is full, or stops, is asked again after this. */
const retryMs = 5_000;

/**
 * Server-sent events of a row while `url` is not null. `EventSource` connects again by itself; where
 * it gives up, this begins again, unless the session has ended.
 */
export function useLive(
  url: string | null,
  onEvent: Readonly<Record<string, (data: never) => void>>,
  onStart?: () => void,
): LiveState {
  const [state, setState] = useState<LiveState>('off');
  const handlers = useRef({ onEvent, onStart });
  handlers.current = { onEvent, onStart };
  const names = Object.keys(onEvent).join(' ');
  useEffect(() => {
    if (url === null) return setState('off');
    let source: EventSource | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const isOver = (): void => {
      source?.close();
      setState('lost');
    };
    const open = (): void => {
      setState('connecting');
      source = new EventSource(url);
      source.addEventListener('open', () => setState('live'));
      for (const name of names.split(' '))
        source.addEventListener(name, ({ data }: MessageEvent<string>) =>
          handlers.current.onEvent[name]?.(JSON.parse(data) as never),
        );
      source.addEventListener('end', ({ data }: MessageEvent<string>) => {
        isOver();
        if ((JSON.parse(data) as { reason: string }).reason === 'session_ended')
          reportConnection({ hasSessionEnded: true });
        else timer = setTimeout(open, retryMs);
      });
      source.addEventListener('error', () => {
        if (source?.readyState !== EventSource.CLOSED) return setState('connecting');
        setState('lost');
        timer = setTimeout(open, retryMs);
      });
    };
    handlers.current.onStart?.();
    open();
    return () => {
      clearTimeout(timer);
      source?.close();
    };
  }, [url, names]);
  return state;
}
