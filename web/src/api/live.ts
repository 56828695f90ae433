import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { refusalOf } from './client.ts';
import { reportConnection, useConnection } from './connection.ts';

/** What a live view is doing. `full`: the account or the server has too many of them. */
export type LiveState = 'off' | 'connecting' | 'live' | 'lost' | 'full';

/** A server that is away, full or stopping is asked again after this. */
const retryMs = 3_000;

/**
 * Server-sent events of a row while `url` is not null. A stream that ends begins again, after the
 * next sign-in where the session has ended. `onReopen` is called when one goes on after a gap; it
 * stops when the signal does.
 */
export function useLive(
  url: string | null,
  onEvent: Readonly<Record<string, (data: never) => void>>,
  onReopen?: (signal: AbortSignal) => void,
): LiveState {
  const { hasSessionEnded } = useConnection();
  const [state, setState] = useState<LiveState>('off');
  const handlers = useRef(onEvent);
  handlers.current = onEvent;
  const reopened = useRef(onReopen);
  reopened.current = onReopen;
  const openedUrl = useRef<string | null>(null);
  const names = Object.keys(onEvent).join(' ');
  useEffect(() => {
    if (url === null) {
      openedUrl.current = null;
      return setState('off');
    }
    if (hasSessionEnded) return setState('lost');
    const leaving = new AbortController();
    let source: EventSource | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const open = (): void => {
      source = new EventSource(url);
      source.addEventListener('open', () => {
        setState('live');
        if (openedUrl.current === url) reopened.current?.(leaving.signal);
        openedUrl.current = url;
      });
      for (const name of names.split(' '))
        source.addEventListener(name, ({ data }: MessageEvent<string>) =>
          handlers.current[name]?.(JSON.parse(data) as never),
        );
      source.addEventListener('end', ({ data }: MessageEvent<string>) => {
        if ((JSON.parse(data) as { reason: string }).reason === 'session_ended')
          reportConnection({ hasSessionEnded: true });
        else retry('lost');
      });
      source.addEventListener('error', () => {
        source?.close();
        setState('lost');
        // An `EventSource` does not tell why it was refused.
        void refusalOf(url, leaving.signal).then((refusal) =>
          retry(refusal?.type === 'too_many_watchers' ? 'full' : 'lost'),
        );
      });
    };
    const retry = (next: LiveState): void => {
      source?.close();
      if (leaving.signal.aborted) return;
      setState(next);
      timer = setTimeout(open, retryMs);
    };
    setState('connecting');
    open();
    return () => {
      leaving.abort();
      clearTimeout(timer);
      source?.close();
    };
  }, [url, names, hasSessionEnded]);
  return state;
}

/**
 * Whether a person can see the page. A browser has six connections to a server without TLS: live
 * views in hidden tabs would leave none for the others.
 */
export function useIsVisible(): boolean {
  return useSyncExternalStore(
    (listener) => {
      document.addEventListener('visibilitychange', listener);
      return () => document.removeEventListener('visibilitychange', listener);
    },
    () => document.visibilityState === 'visible',
  );
}
