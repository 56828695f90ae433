import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { PagedTable } from '../../app/paged-table.tsx';
import { usePages } from '../../app/use-pages.ts';
import { type LedgerLinks, useLedgerColumns } from '../../ledger/columns.tsx';
import { LedgerFilters } from '../../ledger/ledger-filters.tsx';
import { useLedgerSearch } from '../../ledger/ledger-search.ts';
import { EmptyState } from '../../ui/states.tsx';

/** The ledger of an account: every movement of money with the balance after it. */
export function AccountLedger({ id }: { id: string }) {
  const { t } = useTranslation('transactions');
  const { search, change, query } = useLedgerSearch();
  const params = { account: id };
  const account = useQuery(readQuery('GET /console/api/accounts/{account}', { params }));
  const pages = usePages('GET /console/api/accounts/{account}/ledger', { params, query });
  const links = useMemo(
    (): LedgerLinks => ({
      requestPath: (generationId) => `/accounts/${id}/requests/${generationId}`,
      listPath: `/accounts/${id}`,
      listSearch: { tab: 'requests' },
    }),
    [id],
  );
  const columns = useLedgerColumns(links);
  return (
    <PagedTable
      id="account-ledger"
      label={t('title')}
      columns={columns}
      pages={pages}
      rowId={(line) => line.id}
      tools={<LedgerFilters search={search} change={change} since={account.data?.created_at} />}
      empty={<EmptyState title={t('empty.title')}>{t('empty.text')}</EmptyState>}
    />
  );
}
