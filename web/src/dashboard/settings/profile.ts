import type { QueryClient } from '@tanstack/react-query';
import type { ResponseOf } from '../../api/client.ts';
import { readQuery } from '../../api/query.ts';

/** The owner who has signed in. */
export type Profile = ResponseOf<'GET /dashboard/api/profile'>;

export const profileQuery = readQuery('GET /dashboard/api/profile', {});

/** Shows the profile as a change returned it, or reads it again. */
export function refreshProfile(queries: QueryClient, profile?: Profile): void {
  if (profile === undefined) void queries.invalidateQueries({ queryKey: profileQuery.queryKey });
  else queries.setQueryData(profileQuery.queryKey, profile);
}
