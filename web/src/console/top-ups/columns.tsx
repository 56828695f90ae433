import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { ActionButton } from '../../app/permission.tsx';
import type { ItemOf } from '../../app/use-pages.ts';
import { useTopUpColumns } from '../../top-ups/columns.tsx';
import { None } from '../../ui/figures.tsx';
import type { Column } from '../../ui/table/column.ts';
import { AccountLink } from '../account-link.tsx';

/** A request for a top-up with its account. */
export type TopUp = ItemOf<'GET /console/api/topups'>;

/** Which request is being decided, and how. */
export interface Decision {
  readonly kind: 'confirm' | 'reject';
  readonly row: TopUp;
}

/** The columns of the requests; the last one decides those that wait. */
export function useDecidedColumns(onDecide: (decision: Decision) => void): readonly Column<TopUp>[] {
  const { t } = useTranslation('top-ups');
  const shared = useTopUpColumns<TopUp>();
  return useMemo(
    (): readonly Column<TopUp>[] => [
      shared.requested,
      {
        id: 'account',
        header: t('column.account'),
        cell: (row) => <AccountLink id={row.account_id} name={row.account_name} />,
        value: (row) => `${row.account_name} #${row.account_id}`,
        isTitle: true,
      },
      shared.depositor,
      {
        id: 'note',
        header: t('column.note'),
        cell: (row) => row.note ?? <None />,
        value: (row) => row.note,
        isHiddenByDefault: true,
      },
      shared.amount,
      shared.state,
      shared.decided,
      {
        id: 'by',
        header: t('column.by'),
        cell: (row) => row.decided_by ?? <None />,
        value: (row) => row.decided_by,
        isHiddenByDefault: true,
      },
      {
        id: 'reference',
        header: t('column.reference'),
        cell: (row) => row.bank_reference ?? row.reason ?? <None />,
        value: (row) => row.bank_reference ?? row.reason,
      },
      {
        id: 'entry',
        header: t('column.entry'),
        kind: 'number',
        cell: (row) => row.entry_id ?? <None />,
        value: (row) => row.entry_id,
        isHiddenByDefault: true,
      },
      {
        id: 'actions',
        header: t('column.actions'),
        kind: 'actions',
        cell: (row) => (row.state === 'pending' ? <Decide row={row} onDecide={onDecide} /> : null),
      },
    ],
    [onDecide, shared, t],
  );
}

function Decide({ row, onDecide }: { row: TopUp; onDecide: (decision: Decision) => void }) {
  const { t } = useTranslation('top-ups');
  return (
    <span className="flex justify-end gap-1">
      <ActionButton size="sm" needs="support" onClick={() => onDecide({ kind: 'confirm', row })}>
        {t('confirm')}
      </ActionButton>
      <ActionButton
        size="sm"
        variant="quiet"
        needs="support"
        onClick={() => onDecide({ kind: 'reject', row })}
      >
        {t('reject')}
      </ActionButton>
    </span>
  );
}
