import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../api/client.ts';
import { parseMicro } from '../format/money.ts';
import { Status } from '../ui/badge.tsx';
import { Money, None, Time } from '../ui/figures.tsx';
import type { Column } from '../ui/table/column.ts';

/** A request for a top-up, as its owner sees it; operators see more of it. */
export type TopUpRow = ResponseOf<'GET /dashboard/api/topups'>['items'][number];

type Shared = Pick<TopUpRow, 'requested_at' | 'depositor' | 'amount_micro' | 'state' | 'decided_at'>;
type Name = 'requested' | 'depositor' | 'amount' | 'state' | 'decided';

const tones = { pending: 'warn', confirmed: 'good', rejected: 'bad', withdrawn: 'neutral' } as const;

/** The columns that owners and operators see, by their names. */
export function useTopUpColumns<Row extends Shared>(): Readonly<Record<Name, Column<Row>>> {
  const { t } = useTranslation('top-ups');
  return useMemo(
    () => ({
      requested: {
        id: 'requested',
        header: t('column.requested'),
        kind: 'time',
        cell: (row) => <Time at={row.requested_at} />,
        value: (row) => Date.parse(row.requested_at),
      },
      depositor: {
        id: 'depositor',
        header: t('column.depositor'),
        cell: (row) => row.depositor ?? <None />,
        value: (row) => row.depositor,
      },
      amount: {
        id: 'amount',
        header: t('column.amount'),
        kind: 'money',
        cell: (row) => <Money micro={row.amount_micro} />,
        value: (row) => parseMicro(row.amount_micro),
        isMainFigure: true,
      },
      state: {
        id: 'state',
        header: t('column.state'),
        kind: 'state',
        cell: (row) => <Status tone={tones[row.state]}>{t(`state.${row.state}`)}</Status>,
        value: (row) => row.state,
      },
      decided: {
        id: 'decided',
        header: t('column.decided'),
        kind: 'time',
        cell: (row) => <Time at={row.decided_at} />,
        value: (row) => (row.decided_at === null ? null : Date.parse(row.decided_at)),
      },
    }),
    [t],
  );
}
