import { queryOptions, useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { type CallOf, type ResponseOf, read } from '../api/client.ts';
import type { PagedName } from '../api/query.ts';

/** One row of a list. */
export type ItemOf<Name extends PagedName> =
  ResponseOf<Name> extends { items: readonly (infer Item)[] } ? Item : never;

/** What is known of a list. */
export interface Pages<Row> {
  /** Undefined while the first page loads. */
  readonly rows: readonly Row[] | undefined;
  /** Why there are no rows. */
  readonly error: Error | null;
  readonly isFetching: boolean;
  /** The last refresh failed; the rows are old. */
  readonly isFailing: boolean;
  readonly updatedMs: number;
  readonly refetch: () => void;
  readonly onMore: (() => void) | undefined;
  readonly isLoadingMore: boolean;
  /** All rows for a file, a page at a time, read again from the beginning. Throws `ApiError`. */
  readonly readAll: () => AsyncIterable<readonly Row[]>;
}

/** The rows of a list as far as they were asked for, and a way to ask for more. */
export function usePages<Name extends PagedName>(
  name: Name,
  call: {
    readonly params?: Readonly<Record<string, string>>;
    readonly query?: Readonly<Record<string, string | number | undefined>>;
  },
  options: {
    readonly refetchMs?: number;
    /** What the reads for a file state beside the query: longer pages. */
    readonly fileQuery?: Readonly<Record<string, number>>;
  } = {},
): Pages<ItemOf<Name>> {
  const readPage = (cursor: string | null, more: Readonly<Record<string, number>>, signal?: AbortSignal) =>
    readPageOf(name, { ...call, query: { ...call.query, ...more }, signal }, cursor);
  const pages = useInfiniteQuery({
    queryKey: [name, 'pages', call.params ?? null, call.query ?? null] as const,
    queryFn: ({ pageParam, signal }) => readPage(pageParam, {}, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }: Page<Name>) => next,
    refetchInterval: options.refetchMs ?? false,
  });
  const rows = useMemo(() => pages.data?.pages.flatMap(({ items }) => items), [pages.data]);
  const readAll = () => pagesOf((cursor) => readPage(cursor, { ...options.fileQuery }));
  return {
    rows,
    error: pages.isError && rows === undefined ? pages.error : null,
    isFetching: pages.isFetching,
    isFailing: pages.isError,
    updatedMs: pages.dataUpdatedAt,
    refetch: () => void pages.refetch(),
    onMore: pages.hasNextPage ? () => void pages.fetchNextPage() : undefined,
    isLoadingMore: pages.isFetchingNextPage,
    readAll,
  };
}

interface Page<Name extends PagedName> {
  readonly items: readonly ItemOf<Name>[];
  readonly next: string | null;
}

/** A page of a list. That a row has a cursor and pages of its items holds of each name, not of all at once. */
function readPageOf<Name extends PagedName>(
  name: Name,
  call: { readonly query?: object | undefined; readonly signal?: AbortSignal | undefined },
  cursor: string | null,
): Promise<Page<Name>> {
  const query = { ...call.query, ...(cursor === null ? {} : { cursor }) };
  return read(name, { ...call, query } as CallOf<Name>) as Promise<unknown> as Promise<Page<Name>>;
}

/** Every page of a list, one after the other. */
async function* pagesOf<Item>(
  readPage: (cursor: string | null) => Promise<{ items: readonly Item[]; next: string | null }>,
): AsyncGenerator<readonly Item[]> {
  let cursor: string | null = null;
  do {
    const page: { items: readonly Item[]; next: string | null } = await readPage(cursor);
    yield page.items;
    cursor = page.next;
  } while (cursor !== null);
}

/**
 * A list that is read to its end, for a table that orders and pages its rows itself: of the things of
 * one account, whose number has a limit.
 */
export function wholeList<Name extends PagedName>(name: Name, call: CallOf<Name>) {
  return queryOptions({
    queryKey: [name, call.params ?? null, call.query ?? null] as const,
    queryFn: async ({ signal }): Promise<readonly ItemOf<Name>[]> => {
      const rows: ItemOf<Name>[] = [];
      const readPage = (cursor: string | null) => readPageOf(name, { ...call, signal }, cursor);
      for await (const items of pagesOf(readPage)) rows.push(...items);
      return rows;
    },
  });
}
