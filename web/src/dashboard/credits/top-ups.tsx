import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { change, type ResponseOf } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { readQuery } from '../../api/query.ts';
import { parseMicro } from '../../format/money.ts';
import { useLanguage } from '../../i18n/use-format.ts';
import { Status } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Money, None, Time } from '../../ui/figures.tsx';
import { EmptyState, ErrorState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { showToast } from '../../ui/toast.tsx';

type TopUp = ResponseOf<'GET /dashboard/api/topups'>['items'][number];

const tones = { pending: 'warn', confirmed: 'good', rejected: 'bad', withdrawn: 'neutral' } as const;
const refreshMs = 5_000;

/** The requests for top-ups and how they were decided. */
export function TopUps() {
  const { t } = useTranslation('credits');
  const language = useLanguage();
  const topUps = useQuery({
    ...readQuery('GET /dashboard/api/topups', { query: {} }),
    refetchInterval: ({ state }) =>
      state.data?.items.some((one) => one.state === 'pending') === true ? refreshMs : false,
  });
  const columns = useColumns();
  return (
    <DataTable
      id="top-ups"
      label={t('requests')}
      columns={columns}
      rows={topUps.data?.items}
      rowId={({ id }) => String(id)}
      empty={<EmptyState title={t('empty.title')}>{t('empty.text')}</EmptyState>}
      error={
        topUps.isError && topUps.data === undefined ? (
          <ErrorState onRetry={() => void topUps.refetch()} isRetrying={topUps.isFetching}>
            {wordsOfError(topUps.error, language, t)}
          </ErrorState>
        ) : null
      }
    />
  );
}

function useColumns(): readonly Column<TopUp>[] {
  const { t } = useTranslation('credits');
  return useMemo(
    (): readonly Column<TopUp>[] => [
      {
        id: 'requested',
        header: t('column.requested'),
        kind: 'time',
        cell: (row) => <Time at={row.requested_at} />,
        value: (row) => Date.parse(row.requested_at),
        isTitle: true,
      },
      {
        id: 'state',
        header: t('column.state'),
        cell: (row) => <Status tone={tones[row.state]}>{t(`state.${row.state}`)}</Status>,
        value: (row) => row.state,
      },
      {
        id: 'depositor',
        header: t('depositor'),
        cell: (row) => row.depositor ?? <None />,
        value: (row) => row.depositor,
      },
      {
        id: 'decided',
        header: t('column.decided'),
        kind: 'time',
        cell: (row) => <Time at={row.decided_at} />,
        value: (row) => (row.decided_at === null ? null : Date.parse(row.decided_at)),
      },
      {
        id: 'reason',
        header: t('column.reason'),
        cell: (row) => row.reason ?? <None />,
        value: (row) => row.reason,
      },
      {
        id: 'amount',
        header: t('amount'),
        kind: 'money',
        cell: (row) => <Money micro={row.amount_micro} />,
        value: (row) => parseMicro(row.amount_micro),
        isMainFigure: true,
      },
      {
        id: 'actions',
        header: t('column.actions'),
        kind: 'actions',
        cell: (row) => (row.state === 'pending' ? <Withdraw id={row.id} /> : null),
      },
    ],
    [t],
  );
}

function Withdraw({ id }: { id: number }) {
  const { t } = useTranslation('credits');
  const language = useLanguage();
  const queries = useQueryClient();
  const withdrawing = useMutation({
    mutationFn: () => change('POST /dashboard/api/topups/{id}/withdraw', { params: { id: String(id) } }),
    onError: (error) => showToast({ tone: 'bad', text: wordsOfError(error, language, t) }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['GET /dashboard/api/topups'] }),
  });
  return (
    <Button size="sm" variant="quiet" isBusy={withdrawing.isPending} onClick={() => withdrawing.mutate()}>
      {t('withdraw')}
    </Button>
  );
}
