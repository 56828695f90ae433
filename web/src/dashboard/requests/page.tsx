import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { Page as Frame } from '../../app/page.tsx';
import { PagesAge } from '../../app/paged-table.tsx';
import { usePages } from '../../app/use-pages.ts';
import { type RequestRow, useRequestColumns } from '../../requests/columns.tsx';
import { RequestFilters } from '../../requests/filters.tsx';
import { RequestHistogram } from '../../requests/request-histogram.tsx';
import { RequestTable } from '../../requests/request-table.tsx';
import { useRequestSearch } from '../../requests/search.ts';
import { Switch } from '../../ui/field.tsx';
import { LiveStatus } from '../../ui/live-status.tsx';
import { RangePicker } from '../../ui/range-picker.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import type { RowLink } from '../../ui/table/table-grid.tsx';
import { useLiveRequests } from './live.ts';

/** U3: every request of the account, found by what it did. */
export function Page() {
  const { t } = useTranslation('requests');
  const { range, setRange, search, change, filter, listQuery } = useRequestSearch();
  const [isLive, setIsLive] = useState(false);
  const live = useLiveRequests(isLive, filter);
  const columns = useRequestColumns();
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
      <RequestHistogram source="own" search={search} />
      <RequestFilters source="own" search={search} change={change} />
      {isLive ? (
        <>
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <LiveStatus state={live.state} updatedMs={live.updatedMs} />
            <p className="text-sm text-muted">{t('liveScope')}</p>
          </div>
          <LiveTable columns={columns} rows={live.rows} />
        </>
      ) : (
        <History columns={columns} query={listQuery} isSearch={search.find !== ''} />
      )}
    </Frame>
  );
}

const link: RowLink<RequestRow> = ({ id }, props) => <Link to={`/requests/${id}`} {...props} />;

interface HistoryProps {
  readonly columns: readonly Column<RequestRow>[];
  readonly query: ReturnType<typeof useRequestSearch>['listQuery'];
  readonly isSearch: boolean;
}

function History({ query, ...table }: HistoryProps) {
  const pages = usePages('GET /dashboard/api/generations', { query }, { fileQuery: { limit: 500 } });
  return (
    <RequestTable {...table} link={link} id="requests" pages={pages} tools={<PagesAge pages={pages} />} />
  );
}

interface LiveTableProps {
  readonly columns: readonly Column<RequestRow>[];
  readonly rows: readonly RequestRow[];
}

function LiveTable(table: LiveTableProps) {
  const { t } = useTranslation('requests');
  return (
    <DataTable
      {...table}
      link={link}
      id="live-requests"
      label={t('live')}
      rowId={({ id }) => id}
      isVirtual
      empty={<EmptyState title={t('empty.live')}>{t('empty.liveText')}</EmptyState>}
    />
  );
}
