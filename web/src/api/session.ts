import { queryOptions } from '@tanstack/react-query';
import type { Area } from '../app/pages.ts';
import { change, type ResponseOf, read } from './client.ts';
import { reportSession, reportSessionEnded } from './connection.ts';
import { ApiError } from './errors.ts';

/** The person who has signed in: an owner on the dashboard, an operator in the console. */
export type Session = ResponseOf<'GET /dashboard/api/session'> | ResponseOf<'GET /console/api/session'>;

/**
 * The session of this browser; null without sign-in. Of one that has ended while a page was open the
 * last state stays, and the end is reported: the page, and what was typed there, stays too.
 */
export function sessionQuery(area: Area) {
  return queryOptions({
    queryKey: ['session', area] as const,
    queryFn: async ({ signal, client, queryKey }) => {
      const before = client.getQueryData<Session | null>(queryKey) ?? null;
      const sentMs = performance.now();
      const session = await readSession(area, signal);
      if (session === null && before !== null) reportSessionEnded(sentMs);
      return session ?? before;
    },
    staleTime: 60_000,
    retry: (failures, error) => failures < 2 && error instanceof ApiError && error.isTemporary,
  });
}

/** Ends the session on the server. One that has ended already is no error. */
export async function endSession(area: Area): Promise<void> {
  try {
    await (area === 'dashboard'
      ? change('DELETE /dashboard/api/session', {})
      : change('DELETE /console/api/session', {}));
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401)) throw error;
  }
}

/** As the server knows it; null without one. */
export async function readSession(area: Area, signal?: AbortSignal): Promise<Session | null> {
  const call = signal === undefined ? {} : { signal };
  try {
    const session = await (area === 'dashboard'
      ? read('GET /dashboard/api/session', call)
      : read('GET /console/api/session', call));
    reportSession();
    return session;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null;
    throw error;
  }
}
