import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { read } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { readQuery } from '../../api/query.ts';
import { Page as Frame } from '../../app/page.tsx';
import { useLanguage } from '../../i18n/use-format.ts';
import { Status } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Input, Select, Switch } from '../../ui/field.tsx';
import { RangePicker } from '../../ui/range-picker.tsx';
import { EmptyState, ErrorState } from '../../ui/states.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import { UsageChart } from '../../usage/usage-chart.tsx';
import { useUsageSearch } from '../../usage/usage-search.ts';
import { type RequestRow, useRequestColumns } from './columns.tsx';
import { useLiveRequests } from './live.ts';
import { chipNames, type OutcomeFilter, useRequestSearch } from './search.ts';

const pageRows = 100;

/** U3: every request of the account, found by what it did. */
export function Page() {
  const { t } = useTranslation('requests');
  const navigate = useNavigate();
  const { range, setRange, search, change, query } = useRequestSearch();
  const { query: usageQuery } = useUsageSearch();
  const [isLive, setIsLive] = useState(false);
  const live = useLiveRequests(isLive, query.outcome === undefined ? {} : { outcome: query.outcome });
  const open = (row: RequestRow): void => void navigate({ to: `/requests/${row.id}` as never });
  return (
    <Frame
      title={t('title')}
      actions={
        <>
          <Switch label={t('live')} checked={isLive} onChange={({ target }) => setIsLive(target.checked)} />
          <RangePicker value={range} onChange={setRange} />
        </>
      }
    >
      <UsageChart query={usageQuery} metric="requests" by="status" heightPx={120} />
      <Filters search={search} change={change} />
      {isLive ? (
        <>
          <Status tone={live.state === 'live' ? 'good' : live.state === 'lost' ? 'bad' : 'neutral'}>
            {t(`liveState.${live.state}`)}
          </Status>
          <LiveTable rows={live.rows} onOpen={open} />
        </>
      ) : (
        <HistoryTable find={search.find} query={query} onOpen={open} />
      )}
    </Frame>
  );
}

type Found = ReturnType<typeof useRequestSearch>;

function Filters({ search, change }: Pick<Found, 'search' | 'change'>) {
  const { t } = useTranslation('requests');
  const [find, setFind] = useState(search.find);
  return (
    <div className="flex flex-wrap items-center gap-2">
      <form
        className="w-72 max-md:w-full"
        onSubmit={(event) => {
          event.preventDefault();
          change({ find: find.trim() });
        }}
      >
        <Input
          type="search"
          aria-label={t('find')}
          placeholder={t('find')}
          value={find}
          onChange={({ target }) => {
            setFind(target.value);
            if (target.value === '') change({ find: '' });
          }}
        />
      </form>
      <Select
        aria-label={t('column.outcome')}
        value={search.outcome}
        onChange={({ target }) => change({ outcome: target.value as OutcomeFilter })}
        options={(['', 'ok', 'failed', 'cancelled'] as const).map((value) => ({
          value,
          label: t(`outcome.${value === '' ? 'all' : value}`),
        }))}
      />
      {chipNames
        .filter((name) => search[name] !== '')
        .map((name) => (
          <Button
            key={name}
            size="sm"
            variant="quiet"
            icon="close"
            onClick={() => change({ [name]: '' })}
            title={t('clearFilter')}
          >
            {t(`filter.${name}`)}: {name === 'app' ? <AppName id={search.app} /> : search[name].slice(0, 24)}
          </Button>
        ))}
    </div>
  );
}

/** The name of the app that the list is filtered by. */
function AppName({ id }: { id: string }) {
  const { t } = useTranslation('requests');
  const app = useQuery({
    ...readQuery('GET /dashboard/api/apps/{id}', { params: { id } }),
    enabled: id !== '0',
  });
  return <>{id === '0' ? t('noApp') : (app.data?.app.name ?? id)}</>;
}

function HistoryTable(props: { find: string; query: Found['query']; onOpen: (row: RequestRow) => void }) {
  const { find, query, onOpen } = props;
  const { t } = useTranslation('requests');
  const language = useLanguage();
  const columns = useRequestColumns();
  const asked = find === '' ? query : { find };
  const pages = useInfiniteQuery({
    queryKey: ['GET /dashboard/api/generations', 'pages', asked] as const,
    queryFn: ({ pageParam, signal }) =>
      read('GET /dashboard/api/generations', {
        query: { ...asked, limit: pageRows, ...(pageParam === null ? {} : { cursor: pageParam }) },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  });
  const rows = useMemo(() => pages.data?.pages.flatMap(({ items }) => items), [pages.data]);
  return (
    <DataTable
      id="requests"
      label={t('title')}
      columns={columns}
      rows={rows}
      rowId={({ id }) => id}
      onOpen={onOpen}
      isVirtual
      onMore={pages.hasNextPage ? () => void pages.fetchNextPage() : undefined}
      isLoadingMore={pages.isFetchingNextPage}
      empty={
        <EmptyState title={t(find === '' ? 'empty.title' : 'empty.notFound')}>
          {t(find === '' ? 'empty.text' : 'empty.notFoundText')}
        </EmptyState>
      }
      error={
        pages.isError && rows === undefined ? (
          <ErrorState onRetry={() => void pages.refetch()} isRetrying={pages.isFetching}>
            {wordsOfError(pages.error, language, t)}
          </ErrorState>
        ) : null
      }
    />
  );
}

function LiveTable({ rows, onOpen }: { rows: readonly RequestRow[]; onOpen: (row: RequestRow) => void }) {
  const { t } = useTranslation('requests');
  const columns = useRequestColumns();
  return (
    <DataTable
      id="live-requests"
      label={t('live')}
      columns={columns}
      rows={rows}
      rowId={({ id }) => id}
      onOpen={onOpen}
      isVirtual
      empty={<EmptyState title={t('empty.live')}>{t('empty.liveText')}</EmptyState>}
    />
  );
}
