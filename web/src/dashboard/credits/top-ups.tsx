import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { ReadError } from '../../app/read-error.tsx';
import { wholeList } from '../../app/use-pages.ts';
import { useLanguage } from '../../i18n/use-format.ts';
import { type TopUpRow, useTopUpColumns } from '../../top-ups/columns.tsx';
import { Button } from '../../ui/button.tsx';
import { None } from '../../ui/figures.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { showToast } from '../../ui/toast.tsx';
import { TopUpDetails } from './transfer.tsx';

const refreshMs = 5_000;

/** The requests for top-ups and how they were decided. */
export function TopUps() {
  const { t } = useTranslation('credits');
  const topUps = useQuery({
    ...wholeList('GET /dashboard/api/topups', { query: {} }),
    refetchInterval: ({ state }) =>
      state.data?.some((one) => one.state === 'pending') === true ? refreshMs : false,
  });
  const [shown, setShown] = useState<TopUpRow | null>(null);
  const columns = useColumns(setShown);
  return (
    <>
      <DataTable
        id="top-ups"
        label={t('requests')}
        columns={columns}
        rows={topUps.data}
        rowId={({ id }) => String(id)}
        empty={<EmptyState title={t('empty.title')}>{t('empty.text')}</EmptyState>}
        error={topUps.isError && topUps.data === undefined ? <ReadError of={topUps} /> : null}
      />
      {shown === null ? null : <TopUpDetails row={shown} onClose={() => setShown(null)} />}
    </>
  );
}

/** The columns that operators see too, the reason of a rejection, and a way to withdraw. */
function useColumns(onShow: (row: TopUpRow) => void): readonly Column<TopUpRow>[] {
  const { t } = useTranslation('credits');
  const { requested, state, depositor, decided, amount } = useTopUpColumns<TopUpRow>();
  return useMemo(
    (): readonly Column<TopUpRow>[] => [
      { ...requested, isTitle: true },
      state,
      depositor,
      decided,
      {
        id: 'reason',
        header: t('column.reason'),
        cell: (row) => row.reason ?? <None />,
        value: (row) => row.reason,
      },
      amount,
      {
        id: 'actions',
        header: t('column.actions'),
        kind: 'actions',
        cell: (row) => (
          <span className="flex justify-end gap-1">
            <Button size="sm" variant="quiet" onClick={() => onShow(row)}>
              {t('details')}
            </Button>
            {row.state === 'pending' ? <Withdraw id={row.id} /> : null}
          </span>
        ),
      },
    ],
    [requested, state, depositor, decided, amount, onShow, t],
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
