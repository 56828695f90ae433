import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { ItemOf } from '../app/use-pages.ts';
import { parseMicro } from '../format/money.ts';
import { Status } from '../ui/badge.tsx';
import { Money, None, Time } from '../ui/figures.tsx';
import type { Column } from '../ui/table/column.ts';

type Payment = ItemOf<'GET /dashboard/api/payments'>;

const tones = { open: 'neutral', paid: 'good', canceled: 'warn', failed: 'bad' } as const;

/** The columns of payments by card that owners and operators see. */
export function usePaymentColumns<Row extends Payment>(): readonly Column<Row>[] {
  const { t } = useTranslation('top-ups');
  return useMemo(
    (): readonly Column<Row>[] => [
      {
        id: 'created',
        header: t('column.requested'),
        kind: 'time',
        cell: (row) => <Time at={row.created_at} />,
        value: (row) => Date.parse(row.created_at),
      },
      { id: 'order', header: t('payment.order'), cell: (row) => row.order_id, value: (row) => row.order_id },
      {
        id: 'state',
        header: t('column.state'),
        kind: 'state',
        cell: (row) => <Status tone={tones[row.state]}>{t(`payment.${row.state}`)}</Status>,
        value: (row) => row.state,
      },
      {
        id: 'failure',
        header: t('payment.failure'),
        cell: (row) => row.failure ?? <None />,
        value: (row) => row.failure,
      },
      {
        id: 'canceled',
        header: t('payment.returned'),
        kind: 'money',
        cell: (row) => <Money micro={row.canceled_micro} />,
        value: (row) => parseMicro(row.canceled_micro),
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
}
