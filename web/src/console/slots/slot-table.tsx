import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { useFormat } from '../../i18n/use-format.ts';
import { Badge } from '../../ui/badge.tsx';
import { Duration } from '../../ui/figures.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { reasonText } from '../slot-reason.ts';
import { SlotState } from '../slot-state.tsx';
import type { Slot } from './data.ts';
import { SlotActs } from './slot-acts.tsx';

/** The slots, each with its state and what can be done with it. */
export function SlotTable({
  slots,
  chosen,
}: {
  slots: readonly Slot[] | undefined;
  /** The name of the slot that the page shows below. */
  chosen: string;
}) {
  const { t } = useTranslation('slots');
  const columns = useColumns();
  return (
    <DataTable
      id="slots"
      isPlain
      label={t('title')}
      columns={columns}
      rows={slots}
      rowId={({ name }) => name}
      link={({ name }, props) => (
        <Link
          to="."
          search={(before) => ({ ...before, slot: name === chosen ? undefined : name })}
          resetScroll={false}
          {...props}
        />
      )}
      empty={
        <EmptyState icon="server" title={t('empty.title')}>
          {t('empty.text')}
        </EmptyState>
      }
    />
  );
}

function useColumns(): readonly Column<Slot>[] {
  const { t } = useTranslation('slots');
  const format = useFormat();
  return useMemo(
    (): readonly Column<Slot>[] => [
      {
        id: 'name',
        header: t('column.slot'),
        cell: ({ name, pinned }) => (
          <span className="inline-flex items-center gap-2 font-medium">
            {name}
            {pinned ? <Badge tone="accent">{t('pinned')}</Badge> : null}
          </span>
        ),
        value: ({ name }) => name,
        isTitle: true,
      },
      {
        id: 'state',
        kind: 'state',
        header: t('column.state'),
        cell: (row) => (
          <div className="min-w-0">
            <SlotState slot={row} />
            {reasonText(t, row.reason) === '' ? null : (
              <p className="max-w-72 truncate text-xs text-muted">{reasonText(t, row.reason)}</p>
            )}
          </div>
        ),
        value: ({ state }) => state,
        isMainFigure: true,
      },
      {
        id: 'inFlight',
        header: t('column.inFlight'),
        kind: 'number',
        cell: (row) =>
          `${format.count(row.in_flight)} / ${format.count(row.max_concurrency * row.replicas.length)}`,
        value: (row) => row.in_flight,
      },
      {
        id: 'queued',
        header: t('column.queued'),
        kind: 'number',
        cell: ({ queued }) => format.count(queued),
        value: ({ queued }) => queued,
      },
      {
        id: 'start',
        header: t('column.start'),
        kind: 'number',
        unit: 'ms',
        cell: (row) => <Duration ms={row.start_durations_ms.at(-1) ?? null} />,
        value: (row) => row.start_durations_ms.at(-1) ?? null,
      },
      {
        id: 'starts',
        header: t('column.starts'),
        kind: 'number',
        cell: ({ starts }) => format.count(starts),
        value: ({ starts }) => starts,
        isWideOnly: true,
      },
      {
        id: 'acts',
        header: t('column.acts'),
        kind: 'actions',
        cell: (row) => <SlotActs slot={row} />,
        // A phone has them on the opened slot.
        isWideOnly: true,
      },
    ],
    [format, t],
  );
}
