import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../api/client.ts';
import { ReadError } from '../app/read-error.tsx';
import { parseMicro } from '../format/money.ts';
import { Status } from '../ui/badge.tsx';
import { Figure, FigureRow, Money, RelativeTime, Time } from '../ui/figures.tsx';
import { EmptyState, SkeletonLines, useNow } from '../ui/states.tsx';
import type { Column } from '../ui/table/column.ts';
import { DataTable } from '../ui/table/data-table.tsx';
import { accountQuery } from './account-query.ts';

type Lot = ResponseOf<'GET /dashboard/api/lots'>['items'][number];

const refreshMs = 15_000;
/** A lot that expires within this time is pointed out. */
const soonMs = 7 * 86_400_000;

/**
 * What is left, by lot, in the order in which it is spent; the sums are the balance. Of the own
 * account, or for operators of the one with this id.
 */
export function Lots({ account }: { account?: string }) {
  const { t } = useTranslation('credits');
  const lots = useQuery({
    ...accountQuery('GET /dashboard/api/lots', account, {}),
    refetchInterval: refreshMs,
  });
  const columns = useColumns();
  if (lots.data === undefined) return lots.isError ? <ReadError of={lots} /> : <SkeletonLines lines={4} />;
  const { paid_micro, bonus_micro, debt_micro, balance_micro, items } = lots.data;
  return (
    <>
      <FigureRow>
        <Figure label={t('paid')}>
          <Money micro={paid_micro} />
        </Figure>
        <Figure label={t('bonus')}>
          <Money micro={bonus_micro} />
        </Figure>
        {debt_micro === '0' ? null : (
          <Figure label={t('debt')} note={t('debtNote')}>
            <Money micro={debt_micro} />
          </Figure>
        )}
        <Figure label={t('lotSum')}>
          <Money micro={balance_micro} />
        </Figure>
      </FigureRow>
      <DataTable
        id="lots"
        label={t('lots')}
        columns={columns}
        rows={items}
        rowId={({ id }) => String(id)}
        empty={<EmptyState title={t('noLots.title')}>{t('noLots.text')}</EmptyState>}
      />
    </>
  );
}

function useColumns(): readonly Column<Lot>[] {
  const { t } = useTranslation('credits');
  return useMemo(
    (): readonly Column<Lot>[] => [
      {
        id: 'kind',
        header: t('column.kind'),
        cell: (row) => t(`kind.${row.kind}`),
        value: (row) => row.kind,
        isTitle: true,
      },
      {
        id: 'granted',
        header: t('column.granted'),
        kind: 'time',
        cell: (row) => <Time at={row.granted_at} />,
        value: (row) => Date.parse(row.granted_at),
      },
      {
        id: 'expires',
        header: t('column.expires'),
        kind: 'time',
        cell: (row) => <Expiry at={row.expires_at} />,
        value: (row) => (row.expires_at === null ? null : Date.parse(row.expires_at)),
      },
      {
        id: 'amount',
        header: t('column.amount'),
        kind: 'money',
        cell: (row) => <Money micro={row.amount_micro} />,
        value: (row) => parseMicro(row.amount_micro),
      },
      {
        id: 'remaining',
        header: t('column.remaining'),
        kind: 'money',
        cell: (row) => <Money micro={row.remaining_micro} />,
        value: (row) => parseMicro(row.remaining_micro),
        isMainFigure: true,
      },
    ],
    [t],
  );
}

function Expiry({ at }: { at: string | null }) {
  const { t } = useTranslation('credits');
  const nowMs = useNow(60_000);
  if (at === null) return <span className="text-muted">{t('neverExpires')}</span>;
  if (Date.parse(at) - nowMs > soonMs) return <Time at={at} />;
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2">
      <Time at={at} />
      <Status tone="warn">
        <RelativeTime at={at} />
      </Status>
    </span>
  );
}
