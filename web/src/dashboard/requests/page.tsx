import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Page as Frame } from '../../app/page.tsx';
import { usePages } from '../../app/use-pages.ts';
import { type RequestRow, useRequestColumns } from '../../requests/columns.tsx';
import { RequestFilters } from '../../requests/filters.tsx';
import { RequestTable } from '../../requests/request-table.tsx';
import { useRequestSearch } from '../../requests/search.ts';
import { Status } from '../../ui/badge.tsx';
import { Switch } from '../../ui/field.tsx';
import { RangePicker } from '../../ui/range-picker.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import { UsageChart } from '../../usage/usage-chart.tsx';
import { useUsageSearch } from '../../usage/usage-search.ts';
import { useLiveRequests } from './live.ts';

/** U3: every request of the account, found by what it did. */
export function Page() {
  const { t } = useTranslation('requests');
  const navigate = useNavigate();
  const { range, setRange, search, change, filter, listQuery } = useRequestSearch();
  const { query: usageQuery } = useUsageSearch();
  const [isLive, setIsLive] = useState(false);
  const live = useLiveRequests(isLive, filter);
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
      <RequestFilters source="own" search={search} change={change} />
      {isLive ? (
        <>
          <Status tone={live.state === 'live' ? 'good' : live.state === 'lost' ? 'bad' : 'neutral'}>
            {t(`liveState.${live.state}`)}
          </Status>
          <LiveTable rows={live.rows} onOpen={open} />
        </>
      ) : (
        <History query={listQuery} isSearch={search.find !== ''} onOpen={open} />
      )}
    </Frame>
  );
}

interface HistoryProps {
  readonly query: ReturnType<typeof useRequestSearch>['listQuery'];
  readonly isSearch: boolean;
  readonly onOpen: (row: RequestRow) => void;
}

function History({ query, ...table }: HistoryProps) {
  const columns = useRequestColumns();
  const pages = usePages('GET /dashboard/api/generations', { query });
  return <RequestTable id="requests" columns={columns} pages={pages} {...table} />;
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
