import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { Section } from '../../app/page.tsx';
import { useFormat } from '../../i18n/use-format.ts';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { reasonText } from '../slot-reason.ts';
import { SlotState } from '../slot-state.tsx';
import type { Now } from './data.ts';

type Slot = Now['slots'][number];

/** What the slots of this server do, and who waits for them. */
export function SlotTable({ slots }: { slots: readonly Slot[] }) {
  const { t } = useTranslation(['now', 'slots']);
  const format = useFormat();
  const columns = useMemo(
    (): readonly Column<Slot>[] => [
      {
        id: 'name',
        header: t('column.slot'),
        cell: ({ name }) => (
          <Link to="/slots" search={{ slot: name }} className="font-medium hover:underline">
            {name}
          </Link>
        ),
        value: ({ name }) => name,
        isTitle: true,
      },
      {
        id: 'state',
        header: t('column.state'),
        kind: 'state',
        cell: (row) => <SlotState slot={row} />,
        value: ({ state }) => state,
        isMainFigure: true,
      },
      {
        id: 'inFlight',
        header: t('column.inFlight'),
        kind: 'number',
        cell: (row) => format.count(row.in_flight),
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
        id: 'reason',
        header: t('column.reason'),
        cell: ({ reason }) => <span className="text-muted">{reasonText(t, reason)}</span>,
        value: ({ reason }) => reasonText(t, reason),
        isWideOnly: true,
      },
    ],
    [t, format],
  );
  return (
    <Section title={t('slots')}>
      <DataTable
        id="now-slots"
        isPlain
        label={t('slots')}
        columns={columns}
        rows={slots}
        rowId={({ name }) => name}
        empty={<EmptyState icon="server" title={t('noSlots')} />}
      />
    </Section>
  );
}
