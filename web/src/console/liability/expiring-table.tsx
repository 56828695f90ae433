import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { PagedTable } from '../../app/paged-table.tsx';
import { type ItemOf, usePages } from '../../app/use-pages.ts';
import { parseMicro } from '../../format/money.ts';
import { Money, Time } from '../../ui/figures.tsx';
import type { Column } from '../../ui/table/column.ts';
import { AccountLink } from '../account-link.tsx';

type Lot = ItemOf<'GET /console/api/liability/expiring'>;

/** The credit that expires first, with its accounts. */
export function ExpiringTable() {
  const { t } = useTranslation('liability');
  const pages = usePages('GET /console/api/liability/expiring', {});
  const columns = useMemo(
    (): readonly Column<Lot>[] => [
      {
        id: 'expires',
        header: t('column.expires'),
        kind: 'time',
        cell: (row) => <Time at={row.expires_at} />,
        value: (row) => Date.parse(row.expires_at),
      },
      {
        id: 'account',
        header: t('column.account'),
        cell: (row) => <AccountLink id={row.account_id} name={row.account_name} tab="ledger" />,
        value: (row) => `${row.account_name} #${row.account_id}`,
        isTitle: true,
      },
      {
        id: 'kind',
        header: t('column.kind'),
        cell: (row) => t(`kind.${row.kind}`),
        value: (row) => row.kind,
      },
      {
        id: 'amount',
        header: t('column.amount'),
        kind: 'money',
        cell: (row) => <Money micro={row.amount_micro} />,
        value: (row) => parseMicro(row.amount_micro),
        isMainFigure: true,
      },
    ],
    [t],
  );
  return (
    <PagedTable
      id="liability-lots"
      label={t('expiringFirst')}
      columns={columns}
      pages={pages}
      rowId={(row) => `${row.account_id} ${row.expires_at} ${row.kind} ${row.amount_micro}`}
    />
  );
}
