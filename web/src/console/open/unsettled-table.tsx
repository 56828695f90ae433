import { type ReactNode, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { parseMicro } from '../../format/money.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { CopyableId } from '../../ui/copy.tsx';
import { Duration, Money, None } from '../../ui/figures.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { AccountLink } from '../account-link.tsx';
import type { Unsettled } from './open-work.ts';

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
  const format = useFormat();
  const columns = useMemo(
    (): readonly Column<Unsettled>[] => [
      {
        id: 'account',
        header: t('column.account'),
        cell: ({ account }) => <AccountLink {...account} />,
        value: ({ account }) => account.name,
        isTitle: true,
      },
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
        cell: (row) => <Duration ms={Math.max(0, nowMs - Date.parse(row.settled_at))} />,
        value: (row) => nowMs - Date.parse(row.settled_at),
      },
      {
        id: 'model',
        header: t('column.model'),
        cell: ({ model }) => model ?? <None />,
        value: ({ model }) => model,
      },
      {
        id: 'worker',
        header: t('column.worker'),
        kind: 'number',
        cell: ({ worker }) => worker ?? <None />,
        value: ({ worker }) => worker,
        isHiddenByDefault: true,
      },
      {
        id: 'id',
        header: t('column.id'),
        cell: ({ id }) => <CopyableId id={id} label={t('column.id')} />,
        value: ({ id }) => id,
        isWideOnly: true,
      },
    ],
    [t, nowMs],
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
      {rows === undefined || total <= rows.length ? null : (
        <p className="text-sm text-muted">
          {t('oldest', { shown: format.count(rows.length), total: format.count(total) })}
        </p>
      )}
    </>
  );
}
