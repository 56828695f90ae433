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

/** The reads that return a page of a list and the cursor of the next one. */
export type PagedName = {
  [Name in ReadName]: ResponseOf<Name> extends { items: readonly unknown[]; next: string | null }
    ? Name
    : never;
}[ReadName];

/**
 * The first page of a list, where no more is wanted. `usePages` and `wholeList` read a list to its end.
 */
export function firstPageQuery<Name extends PagedName>(name: Name, call: CallOf<Name>) {
  return queryOptions({
    queryKey: [name, call.params ?? null, call.query ?? null, 'first'] as const,
    queryFn: ({ signal }): Promise<ResponseOf<Name>> => read(name, { ...call, signal }),
  });
}

/**
 * A read as options of `useQuery`: its key is the row and its arguments; leaving the page aborts it.
 *
 *     const account = useQuery(readQuery('GET /dashboard/api/account', {}));
 */
export function readQuery<Name extends Exclude<ReadName, PagedName>>(name: Name, call: CallOf<Name>) {
  return queryOptions({
    queryKey: [name, call.params ?? null, call.query ?? null] as const,
    queryFn: ({ signal }): Promise<ResponseOf<Name>> => read(name, { ...call, signal }),
  });
}
