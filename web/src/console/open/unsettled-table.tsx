import { type ReactNode, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { parseMicro } from '../../format/money.ts';
import { Duration, Money } from '../../ui/figures.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import type { Unsettled } from './open-work.ts';
import { OldestNote, useSharedColumns } from './shared-columns.tsx';

export interface UnsettledTableProps {
  readonly rows: readonly Unsettled[] | undefined;
  /** How many there are: the rows are the oldest of them. */
  readonly total: number;
  /** The instant of the rows. */
  readonly nowMs: number;
  readonly error: ReactNode;
}

/** The settlements that only the journal has, the oldest first. */
export function UnsettledTable({ rows, total, nowMs, error }: UnsettledTableProps) {
  const { t } = useTranslation('open');
  const shared = useSharedColumns();
  const columns = useMemo(
    (): readonly Column<Unsettled>[] => [
      shared.account,
      {
        id: 'cost',
        header: t('column.cost'),
        kind: 'money',
        cell: (row) => <Money micro={row.cost_micro} />,
        value: (row) => parseMicro(row.cost_micro),
        isMainFigure: true,
      },
      {
        id: 'age',
        header: t('column.since'),
        kind: 'number',
        unit: 'ms',
        cell: (row) => <Duration ms={Math.max(0, nowMs - Date.parse(row.settled_at))} />,
        value: (row) => nowMs - Date.parse(row.settled_at),
      },
      shared.model,
      shared.worker,
      shared.id,
    ],
    [t, nowMs, shared],
  );
  return (
    <>
      <DataTable
        id="unsettled"
        label={t('view.unsettled')}
        columns={columns}
        rows={rows}
        rowId={({ id }) => id}
        error={error}
        empty={<EmptyState title={t('noUnsettled')}>{t('noUnsettledText')}</EmptyState>}
      />
      <OldestNote shown={rows?.length} total={total} />
    </>
  );
}
