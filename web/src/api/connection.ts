import { useSyncExternalStore } from 'react';

/** What the application knows of its server and its session. */
export interface Connection {
  /** The last request got no response. */
  readonly isAway: boolean;
  /** The server said that the session has ended, while a page was open. */
  readonly hasSessionEnded: boolean;
}

let connection: Connection = { isAway: false, hasSessionEnded: false };
const listeners = new Set<() => void>();

/** Changes what is known; called by the client of the API and by the sign-in. */
export function reportConnection(changes: Partial<Connection>): void {
  const next = { ...connection, ...changes };
  if (next.isAway === connection.isAway && next.hasSessionEnded === connection.hasSessionEnded) return;
  connection = next;
  for (const listener of listeners) listener();
}

/** When a response last showed an open session, on the monotonic clock. */
let sessionSeenMs = Number.NEGATIVE_INFINITY;

/** The server responded with an open session. */
export function reportSession(): void {
  sessionSeenMs = performance.now();
  reportConnection({ hasSessionEnded: false });
}

/**
 * The server rejected a request that was sent at `sentMs`, for lack of a session. A late response to
 * a request from before the session was last seen says nothing about it.
 */
export function reportSessionEnded(sentMs: number): void {
  if (sentMs >= sessionSeenMs) reportConnection({ hasSessionEnded: true });
}

/** What is known now. */
export function currentConnection(): Connection {
  return connection;
}

/** The connection, followed live. */
export function useConnection(): Connection {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, currentConnection);
}
