import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { ActionButton } from '../../app/permission.tsx';
import { usePages } from '../../app/use-pages.ts';
import { parseMicro } from '../../format/money.ts';
import { type RequestRow, useRequestColumns } from '../../requests/columns.tsx';
import { RequestFilters } from '../../requests/filters.tsx';
import { RequestHistogram } from '../../requests/request-histogram.tsx';
import { RequestTable } from '../../requests/request-table.tsx';
import { useRequestSearch } from '../../requests/search.ts';
import { RangePicker } from '../../ui/range-picker.tsx';
import type { Column } from '../../ui/table/column.ts';
import { RefundRequest } from './refund-request.tsx';

/** The requests of an account as its owner sees them; the cost of one can be refunded. */
export function AccountRequests({ id }: { id: string }) {
  const { range, setRange, search, change, listQuery } = useRequestSearch();
  const [refunding, setRefunding] = useState<RequestRow | null>(null);
  const source = useMemo(() => ({ account: id }), [id]);
  const pages = usePages(
    'GET /console/api/accounts/{account}/generations',
    { params: source, query: listQuery },
    { fileQuery: { limit: 500 } },
  );
  const columns = useColumns(setRefunding);
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap gap-2">
        <RangePicker value={range} onChange={setRange} />
      </div>
      <RequestHistogram source={source} search={search} />
      <RequestFilters source={source} search={search} change={change} />
      <RequestTable
        id="account-requests"
        columns={columns}
        pages={pages}
        isSearch={search.find !== ''}
        link={(row, props) => <Link to={`/accounts/${id}/requests/${row.id}`} {...props} />}
      />
      {refunding === null ? null : (
        <RefundRequest id={id} row={refunding} onClose={() => setRefunding(null)} />
      )}
    </div>
  );
}

/** The columns that owners see, and one that refunds. */
function useColumns(onRefund: (row: RequestRow) => void): readonly Column<RequestRow>[] {
  const { t } = useTranslation('account');
  const columns = useRequestColumns();
  return useMemo(
    () => [
      ...columns,
      {
        id: 'actions',
        header: t('column.actions'),
        kind: 'actions',
        cell: (row) =>
          parseMicro(row.cost_micro) === 0n ? null : (
            <ActionButton size="sm" variant="quiet" needs="admin" onClick={() => onRefund(row)}>
              {t('refund')}
            </ActionButton>
          ),
      },
    ],
    [columns, onRefund, t],
  );
}
