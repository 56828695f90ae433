import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { Page as Frame } from '../../app/page.tsx';
import { PagesAge } from '../../app/paged-table.tsx';
import { type ItemOf, usePages } from '../../app/use-pages.ts';
import { useRequestColumns } from '../../requests/columns.tsx';
import { RequestFilters } from '../../requests/filters.tsx';
import { RequestHistogram } from '../../requests/request-histogram.tsx';
import { RequestTable } from '../../requests/request-table.tsx';
import { useRequestSearch } from '../../requests/search.ts';
import { RangePicker } from '../../ui/range-picker.tsx';
import type { Column } from '../../ui/table/column.ts';
import { AccountLink } from '../account-link.tsx';

type Row = ItemOf<'GET /console/api/generations'>;

/** Keys and apps belong to accounts. */
const filters = ['status', 'error', 'model', 'provider', 'finish'] as const;

/** A1: the requests of all accounts, to which the figures of the service lead. */
export function Page() {
  const { t } = useTranslation('requests');
  const { range, setRange, search, change, listQuery } = useRequestSearch(filters);
  const pages = usePages('GET /console/api/generations', { query: listQuery }, { fileQuery: { limit: 500 } });
  const columns = useColumns();
  return (
    <Frame
      title={t('title')}
      aside={<PagesAge pages={pages} />}
      actions={<RangePicker value={range} onChange={setRange} />}
    >
      <RequestHistogram source="all" search={search} />
      <RequestFilters source="all" search={search} change={change} />
      <RequestTable
        id="all-requests"
        columns={columns}
        pages={pages}
        isSearch={search.find !== ''}
        link={(row, props) => <Link to={`/accounts/${row.account.id}/requests/${row.id}`} {...props} />}
      />
    </Frame>
  );
}

/** The columns that owners see, and the account. */
function useColumns(): readonly Column<Row>[] {
  const { t } = useTranslation('requests');
  const columns = useRequestColumns();
  return useMemo(() => {
    const account: Column<Row> = {
      id: 'account',
      header: t('column.account'),
      cell: ({ account: { id, name } }) => <AccountLink id={id} name={name} />,
      value: ({ account: { name } }) => name,
    };
    return [...columns.slice(0, 1), account, ...columns.slice(1)];
  }, [columns, t]);
}
