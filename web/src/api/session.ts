import { queryOptions } from '@tanstack/react-query';
import type { Area } from '../app/pages.ts';
import { reportConnection } from './connection.ts';
import { ApiError, errorOf } from './errors.ts';

/** The person who has signed in. */
export interface Session {
  readonly kind: 'owner' | 'operator';
  /** The name of the account, or of the operator. */
  readonly name: string;
  readonly email?: string | null;
  readonly role?: 'viewer' | 'support' | 'admin';
}

/** The session of this browser; null when nobody has signed in. */
export function sessionQuery(area: Area) {
  return queryOptions({
    queryKey: ['session', area] as const,
    queryFn: ({ signal }) => readSession(area, signal),
    staleTime: 60_000,
    retry: (failures, error) => failures < 2 && error instanceof ApiError && error.isTemporary,
  });
}

async function readSession(area: Area, signal: AbortSignal): Promise<Session | null> {
  const response = await fetch(`/${area}/api/session`, {
    signal,
    headers: { Accept: 'application/json' },
  }).catch((error: unknown) => {
    if (signal.aborted) throw error;
    reportConnection({ isAway: true });
    throw new ApiError({ status: 0, type: 'unreachable' });
  });
  reportConnection({ isAway: false });
  if (response.status === 401) return null;
  if (!response.ok) throw await errorOf(response);
  reportConnection({ hasSessionEnded: false });
  return (await response.json()) as Session;
}
