import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { ActionButton } from '../../app/permission.tsx';
import type { ItemOf } from '../../app/use-pages.ts';
import { parseMicro } from '../../format/money.ts';
import { Status } from '../../ui/badge.tsx';
import { Money, None, Time } from '../../ui/figures.tsx';
import type { Column } from '../../ui/table/column.ts';
import { AccountLink } from '../account-link.tsx';

/** A request for a top-up with its account. */
export type TopUp = ItemOf<'GET /console/api/topups'>;

/** Which request is being decided, and how. */
export interface Decision {
  readonly kind: 'confirm' | 'reject';
  readonly row: TopUp;
}

const tones = { pending: 'warn', confirmed: 'good', rejected: 'bad', withdrawn: 'neutral' } as const;

/** The columns of the requests; the last one decides those that wait. */
export function useTopUpColumns(onDecide: (decision: Decision) => void): readonly Column<TopUp>[] {
  const { t } = useTranslation('top-ups');
  return useMemo(
    (): readonly Column<TopUp>[] => [
      {
        id: 'requested',
        header: t('column.requested'),
        kind: 'time',
        cell: (row) => <Time at={row.requested_at} />,
        value: (row) => Date.parse(row.requested_at),
      },
      {
        id: 'account',
        header: t('column.account'),
        cell: (row) => <AccountLink id={row.account_id} name={row.account_name} />,
        value: (row) => `${row.account_name} #${row.account_id}`,
        isTitle: true,
      },
      {
        id: 'depositor',
        header: t('column.depositor'),
        cell: (row) => row.depositor ?? <None />,
        value: (row) => row.depositor,
      },
      {
        id: 'note',
        header: t('column.note'),
        cell: (row) => row.note ?? <None />,
        value: (row) => row.note,
        isHiddenByDefault: true,
      },
      {
        id: 'amount',
        header: t('column.amount'),
        kind: 'money',
        cell: (row) => <Money micro={row.amount_micro} />,
        value: (row) => parseMicro(row.amount_micro),
        isMainFigure: true,
      },
      {
        id: 'state',
        header: t('column.state'),
        cell: (row) => <Status tone={tones[row.state]}>{t(`state.${row.state}`)}</Status>,
        value: (row) => row.state,
      },
      {
        id: 'decided',
        header: t('column.decided'),
        kind: 'time',
        cell: (row) => <Time at={row.decided_at} />,
        value: (row) => (row.decided_at === null ? null : Date.parse(row.decided_at)),
      },
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
    [onDecide, t],
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
