import { type ReactNode, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Duration, None } from '../../ui/figures.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import type { OpenRequest } from './open-work.ts';
import { OldestNote, useSharedColumns } from './shared-columns.tsx';

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
  const shared = useSharedColumns();
  const columns = useMemo(
    (): readonly Column<OpenRequest>[] => [
      shared.account,
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
        unit: 'ms',
        cell: (row) => <Duration ms={Math.max(0, nowMs - Date.parse(row.started_at))} />,
        value: (row) => nowMs - Date.parse(row.started_at),
        isMainFigure: true,
      },
      shared.model,
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
      shared.worker,
      shared.id,
    ],
    [t, nowMs, shared],
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
      <OldestNote shown={rows?.length} total={total} />
    </>
  );
}
