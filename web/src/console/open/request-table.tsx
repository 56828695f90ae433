import { type ReactNode, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../i18n/use-format.ts';
import { CopyableId } from '../../ui/copy.tsx';
import { Duration, None } from '../../ui/figures.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { AccountLink } from '../account-link.tsx';
import type { OpenRequest } from './open-work.ts';

export interface RequestTableProps {
  readonly rows: readonly OpenRequest[] | undefined;
  /** How many there are: the rows are the oldest of them. */
  readonly total: number;
  /** The instant of the rows. */
  readonly nowMs: number;
  readonly error: ReactNode;
  readonly tools: ReactNode;
}

/** The requests in flight, the oldest first. */
export function RequestTable({ rows, total, nowMs, error, tools }: RequestTableProps) {
  const { t } = useTranslation('open');
  const format = useFormat();
  const columns = useMemo(
    (): readonly Column<OpenRequest>[] => [
      {
        id: 'account',
        header: t('column.account'),
        cell: ({ account }) => <AccountLink {...account} />,
        value: ({ account }) => account.name,
        isTitle: true,
      },
      {
        id: 'phase',
        header: t('column.phase'),
        cell: ({ phase }) => t(`phase.${phase}`),
        value: ({ phase }) => phase,
      },
      {
        id: 'age',
        header: t('column.age'),
        kind: 'number',
        cell: (row) => <Duration ms={Math.max(0, nowMs - Date.parse(row.started_at))} />,
        value: (row) => nowMs - Date.parse(row.started_at),
        isMainFigure: true,
      },
      {
        id: 'model',
        header: t('column.model'),
        cell: ({ model }) => model ?? <None />,
        value: ({ model }) => model,
      },
      {
        id: 'candidate',
        header: t('column.candidate'),
        cell: ({ candidate }) => candidate ?? <None />,
        value: ({ candidate }) => candidate,
      },
      {
        id: 'streamed',
        header: t('column.streamed'),
        cell: ({ streamed }) => (streamed === null ? <None /> : t(streamed ? 'yes' : 'no')),
        value: ({ streamed }) => streamed,
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
        id="open-requests"
        label={t('view.requests')}
        columns={columns}
        rows={rows}
        rowId={({ id }) => id}
        tools={tools}
        error={error}
        empty={<EmptyState title={t('noRequests')} />}
      />
      {rows === undefined || total <= rows.length ? null : (
        <p className="text-sm text-muted">
          {t('oldest', { shown: format.count(rows.length), total: format.count(total) })}
        </p>
      )}
    </>
  );
}
