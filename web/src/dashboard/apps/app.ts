import { useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import type { ResponseOf } from '../../api/client.ts';
import type { AppRow } from '../../apps/columns.tsx';

/** One app and its latest request. */
export type AppDetail = ResponseOf<'GET /dashboard/api/apps/{id}'>;
/** What identifies an app to a person. */
export type NamedApp = Pick<AppRow, 'id' | 'name' | 'recorded_name' | 'is_hidden'>;

/** Everything that names apps or compares them: after a change of one it is read again. */
const namingReads = [
  'GET /dashboard/api/apps',
  'GET /dashboard/api/apps/{id}',
  'GET /dashboard/api/generations',
  'GET /dashboard/api/generations/{id}',
  'GET /dashboard/api/usage/totals',
  'GET /dashboard/api/usage/groups',
  'GET /dashboard/api/usage/series',
  'GET /dashboard/api/usage/latency',
];

/** Reads everything again that a change of an app concerns. */
export function useRefreshApps(): () => Promise<void> {
  const queries = useQueryClient();
  return useCallback(
    () =>
      queries.invalidateQueries({ predicate: ({ queryKey: [name] }) => namingReads.includes(String(name)) }),
    [queries],
  );
}
