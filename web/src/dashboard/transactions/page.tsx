import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { Page as Frame } from '../../app/page.tsx';
import { PagedTable, PagesAge } from '../../app/paged-table.tsx';
import { usePages } from '../../app/use-pages.ts';
import { type LedgerLinks, useLedgerColumns } from '../../ledger/columns.tsx';
import { LedgerFilters } from '../../ledger/ledger-filters.tsx';
import { useLedgerSearch } from '../../ledger/ledger-search.ts';
import { EmptyState } from '../../ui/states.tsx';

const links: LedgerLinks = { requestPath: (id) => `/requests/${id}`, listPath: '/requests' };

/** U8: every movement of money, with the balance after it. */
export function Page() {
  const { t } = useTranslation('transactions');
  const { search, change, query } = useLedgerSearch();
  const columns = useLedgerColumns(links);
  const account = useQuery(readQuery('GET /dashboard/api/account', {}));
  const pages = usePages('GET /dashboard/api/ledger', { query });
  return (
    <Frame title={t('title')} aside={<PagesAge pages={pages} />}>
      <PagedTable
        id="transactions"
        label={t('title')}
        columns={columns}
        pages={pages}
        rowId={({ id }) => id}
        tools={<LedgerFilters search={search} change={change} since={account.data?.created_at} />}
        empty={<EmptyState title={t('empty.title')}>{t('empty.text')}</EmptyState>}
      />
    </Frame>
  );
}
