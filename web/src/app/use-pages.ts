import { useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { type ReadName, type ResponseOf, read } from '../api/client.ts';
import type { AllRows } from '../ui/table/export-rows.ts';

/** The reads that return a page of a list and the cursor of the next one. */
export type PagedName = {
  [Name in ReadName]: ResponseOf<Name> extends { items: readonly unknown[]; next: string | null }
    ? Name
    : never;
}[ReadName];
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
  /** The rows for a file: those of all pages, up to a limit. Throws `ApiError`. */
  readonly readAll: () => Promise<AllRows<Row>>;
}

/** What a file made in the browser may have; lists that may be longer have files of the server. */
const maxFileRows = 10_000;

/** The rows of a list as far as they were asked for, and a way to ask for more. */
export function usePages<Name extends PagedName>(
  name: Name,
  call: {
    readonly params?: Readonly<Record<string, string>>;
    readonly query?: Readonly<Record<string, string | number | undefined>>;
  },
  options: { readonly refetchMs?: number } = {},
): Pages<ItemOf<Name>> {
  const readPage = (cursor: string | null, signal?: AbortSignal): Promise<Page<Name>> => {
    const query = { ...call.query, ...(cursor === null ? {} : { cursor }) };
    return read(name, { ...call, query, signal } as never) as Promise<Page<Name>>;
  };
  const pages = useInfiniteQuery({
    queryKey: [name, 'pages', call.params ?? null, call.query ?? null] as const,
    queryFn: ({ pageParam, signal }) => readPage(pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }: Page<Name>) => next,
    refetchInterval: options.refetchMs ?? false,
  });
  const rows = useMemo(() => pages.data?.pages.flatMap(({ items }) => items), [pages.data]);
  const readAll = async (): Promise<AllRows<ItemOf<Name>>> => {
    const all = [...(rows ?? [])];
    let next = pages.data?.pages.at(-1)?.next ?? null;
    while (next !== null && all.length < maxFileRows) {
      const page = await readPage(next);
      all.push(...page.items);
      next = page.next;
    }
    return { rows: all.slice(0, maxFileRows), isComplete: next === null && all.length <= maxFileRows };
  };
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
