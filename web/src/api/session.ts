import { queryOptions } from '@tanstack/react-query';
import type { Area } from '../app/pages.ts';
import { change, type ResponseOf, read } from './client.ts';
import { reportConnection } from './connection.ts';
import { ApiError } from './errors.ts';

/** The person who has signed in: an owner on the dashboard, an operator in the console. */
export type Session = ResponseOf<'GET /dashboard/api/session'> | ResponseOf<'GET /console/api/session'>;

/** The session of this browser; null without sign-in. */
export function sessionQuery(area: Area) {
  return queryOptions({
    queryKey: ['session', area] as const,
    queryFn: ({ signal }) => readSession(area, signal),
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

async function readSession(area: Area, signal: AbortSignal): Promise<Session | null> {
  try {
    const session = await (area === 'dashboard'
      ? read('GET /dashboard/api/session', { signal })
      : read('GET /console/api/session', { signal }));
    reportConnection({ hasSessionEnded: false });
    return session;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null;
    throw error;
  }
}
