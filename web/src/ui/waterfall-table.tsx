import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../i18n/use-format.ts';
import { Duration, None } from './figures.tsx';
import type { Column } from './table/column.ts';
import { DataTable } from './table/data-table.tsx';
import { endOf, phases, type WaterfallCandidate, type WaterfallProps } from './waterfall-data.ts';

/** The times of a waterfall as a table. */
export function WaterfallTable({ candidates, label }: WaterfallProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const columns = useMemo((): readonly Column<WaterfallCandidate>[] => {
    const time = (
      id: string,
      header: string,
      msOf: (candidate: WaterfallCandidate) => number | null,
    ): Column<WaterfallCandidate> => ({
      id,
      header,
      kind: 'number',
      cell: (candidate) => <Duration ms={msOf(candidate)} />,
    });
    return [
      { id: 'candidate', header: t('waterfall.candidate'), cell: ({ name }) => name },
      {
        id: 'outcome',
        header: t('waterfall.reason'),
        cell: ({ outcome, reason }) => (
          <>
            <span className="font-medium">{t(`waterfall.outcome.${outcome}`)}</span> {reason}
          </>
        ),
      },
      time('start', t('waterfall.start'), ({ startMs }) => startMs),
      ...phases.map((phase) =>
        time(phase, t(`waterfall.phase.${phase}`), ({ phaseMs }) => phaseMs[phase] ?? null),
      ),
      time('end', t('waterfall.end'), (candidate) => (candidate.startMs === null ? null : endOf(candidate))),
      {
        id: 'cost',
        header: t('waterfall.cost'),
        kind: 'money',
        cell: ({ costMicro }) => (costMicro === null ? <None /> : format.money(costMicro)),
      },
    ];
  }, [t, format]);
  return (
    <DataTable
      id="waterfall"
      label={label}
      columns={columns}
      rows={candidates}
      rowId={({ id }) => id}
      isPlain
    />
  );
}
