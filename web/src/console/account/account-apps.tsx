import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { ReadError } from '../../app/read-error.tsx';
import { useRange } from '../../app/search-params.ts';
import { type AppRequests, type AppRow, byCost, useAppColumns } from '../../apps/columns.tsx';
import { RangePicker } from '../../ui/range-picker.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import { rangeQuery } from '../../usage/usage-search.ts';

const noApps: readonly AppRow[] = [];
/** The list of requests is a view of the same page. */
const requests: AppRequests = { to: '.', search: { tab: 'requests' } };

/** The apps of an account as its owner sees and named them, hidden ones included. */
export function AccountApps({ id }: { id: string }) {
  const { t } = useTranslation('apps');
  const [range, setRange] = useRange();
  const query = useMemo(() => rangeQuery(range), [range]);
  const apps = useQuery(
    readQuery('GET /console/api/accounts/{account}/apps', { params: { account: id }, query }),
  );
  const columns = useAppColumns(apps.data?.items ?? noApps, requests);
  return (
    <DataTable
      id="account-apps"
      label={t('title')}
      columns={columns}
      rows={apps.data?.items}
      rowId={(row) => String(row.id)}
      initialSort={byCost}
      tools={<RangePicker value={range} onChange={setRange} />}
      empty={
        <EmptyState icon="apps" title={t('empty.title')}>
          {t('empty.text')}
        </EmptyState>
      }
      error={apps.isError && apps.data === undefined ? <ReadError of={apps} /> : null}
    />
  );
}
