import { type QueryClient, type UseQueryResult, useQueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import { useConnection } from '../api/connection.ts';
import { useFormat } from '../i18n/use-format.ts';
import { Button } from '../ui/button.tsx';
import { Banner, StaleNote, useNow } from '../ui/states.tsx';

/** The reads of the rows that a page shows: the session, the announcements and what waits are of every page. */
function shownReads(queries: QueryClient) {
  return queries
    .getQueryCache()
    .findAll({ type: 'active' })
    .filter(
      ({ queryKey: [name] }) =>
        typeof name === 'string' && !/^session$|announcements$|topups\/pending$/.test(name),
    );
}

type Reads = ReturnType<typeof shownReads>;

/** A value of the reads of the page, followed as they change. */
function useReads<Value extends string | number | boolean | null>(read: (reads: Reads) => Value): Value {
  const queries = useQueryClient();
  return useSyncExternalStore(
    (listener) => queries.getQueryCache().subscribe(listener),
    () => read(shownReads(queries)),
  );
}

/** When the oldest of the data was read, in epoch milliseconds; null while there is none. */
function oldestOf(reads: Reads): number | null {
  const times = reads.filter(({ state }) => state.data !== undefined).map(({ state }) => state.dataUpdatedAt);
  return times.length === 0 ? null : Math.min(...times);
}

/** How old the data of the page is, for its head. */
export function QueriesAge() {
  const queries = useQueryClient();
  const updatedMs = useReads(oldestOf);
  const isRefreshing = useReads((reads) => reads.some(({ state }) => state.fetchStatus === 'fetching'));
  return (
    <StaleNote
      updatedMs={updatedMs}
      isRefreshing={isRefreshing}
      onRefresh={() => void queries.refetchQueries({ type: 'active' })}
    />
  );
}

type QueryState = Pick<UseQueryResult, 'dataUpdatedAt' | 'isError' | 'isFetching'> & {
  readonly refetch: () => unknown;
};

/** How old the data of one read is, for the head of its page. */
export function QueryAge({ of }: { of: QueryState }) {
  return (
    <StaleNote
      updatedMs={of.dataUpdatedAt === 0 ? null : of.dataUpdatedAt}
      isFailing={of.isError}
      onRefresh={() => void of.refetch()}
      isRefreshing={of.isFetching}
    />
  );
}

/** The last refresh of something that the page shows failed: how old it is, and a way to try again. */
export function StaleBanner() {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const { isAway } = useConnection();
  const updatedMs = useReads((reads) => oldestOf(reads.filter(({ state }) => state.status === 'error')));
  if (updatedMs === null || isAway) return null;
  return (
    <div className="px-4 pt-3 lg:px-8">
      <Banner
        tone="warn"
        action={
          <Button size="sm" onClick={() => void queries.refetchQueries({ type: 'active' })}>
            {t('retry')}
          </Button>
        }
      >
        <Failing updatedMs={updatedMs} />
      </Banner>
    </div>
  );
}

function Failing({ updatedMs }: { updatedMs: number }) {
  const { t } = useTranslation();
  const format = useFormat();
  const nowMs = useNow();
  return t('stale.some', { age: format.relative(updatedMs, Math.max(nowMs, updatedMs)) });
}
