import { QueryClient, queryOptions } from '@tanstack/react-query';
import { type CallOf, type ReadName, type ResponseOf, read } from './client.ts';
import { ApiError } from './errors.ts';

const staleMs = 15_000;
const maxRetries = 2;

/** The cache of everything that was read. A failed refresh keeps the last data, which the page shows as old. */
export function newQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: staleMs,
        retry: (failures, error) =>
          failures < maxRetries && error instanceof ApiError && error.isTemporary && error.status !== 429,
        refetchOnWindowFocus: true,
      },
    },
  });
}

/**
 * A read as options of `useQuery`: its key is the row and its arguments; leaving the page aborts it.
 *
 *     const keys = useQuery(readQuery('GET /dashboard/api/keys', { query: { limit: 50 } }));
 */
export function readQuery<Name extends ReadName>(name: Name, call: CallOf<Name>) {
  return queryOptions({
    queryKey: [name, call.params ?? null, call.query ?? null] as const,
    queryFn: ({ signal }): Promise<ResponseOf<Name>> => read(name, { ...call, signal }),
  });
}
