import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { Section } from '../../app/page.tsx';
import { useFormat } from '../../i18n/use-format.ts';
import { Status } from '../../ui/badge.tsx';
import { Duration, None } from '../../ui/figures.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { CandidateHealth } from '../candidate-health.tsx';
import type { Now } from './data.ts';

type Candidate = Now['candidates'][number];

/** The health of the candidates, as each process measured it. */
export function CandidateTable({ now }: { now: Now }) {
  const { t } = useTranslation('now');
  const columns = useColumns(now.candidates.some(({ worker }) => worker !== null));
  const shown = new Set(now.candidates.map(({ candidate }) => candidate)).size;
  return (
    <Section
      title={t('candidates')}
      note={
        shown < now.candidate_count ? t('someCandidates', { shown, total: now.candidate_count }) : undefined
      }
    >
      <DataTable
        id="now-candidates"
        isPlain
        label={t('candidates')}
        columns={columns}
        rows={now.candidates}
        rowId={({ candidate, worker }) => `${candidate} ${worker}`}
        empty={<EmptyState icon="server" title={t('noCandidates')} />}
      />
    </Section>
  );
}

function useColumns(hasWorkers: boolean): readonly Column<Candidate>[] {
  const { t } = useTranslation('now');
  const format = useFormat();
  return useMemo((): readonly Column<Candidate>[] => {
    const measured = (id: 'latency_p50_ms' | 'latency_p90_ms', header: string): Column<Candidate> => ({
      id,
      header,
      kind: 'number',
      unit: 'ms',
      cell: (row) => <Duration ms={row[id]} />,
      value: (row) => row[id],
    });
    const worker: Column<Candidate> = {
      id: 'worker',
      header: t('column.worker'),
      kind: 'number',
      cell: (row) => row.worker ?? <None />,
      value: (row) => row.worker,
    };
    return [
      {
        id: 'candidate',
        header: t('column.candidate'),
        cell: ({ candidate }) => (
          <Link to="/candidates" className="hover:underline">
            <span className="font-mono text-xs">{candidate}</span>
          </Link>
        ),
        value: ({ candidate }) => candidate,
        isTitle: true,
      },
      ...(hasWorkers ? [worker] : []),
      {
        id: 'circuit',
        header: t('column.circuit'),
        kind: 'state',
        cell: (row) => (
          <span className="flex flex-col">
            <CandidateHealth row={row} />
            {row.drained_for.length === 0 ? null : (
              <Status tone="warn" icon="pause">
                {t('drainedFor', { count: row.drained_for.length })}
              </Status>
            )}
          </span>
        ),
        value: ({ circuit }) => circuit,
        isMainFigure: true,
      },
      {
        id: 'failures',
        header: t('column.failures'),
        kind: 'number',
        cell: (row) => format.count(row.failures_in_a_row),
        value: (row) => row.failures_in_a_row,
      },
      {
        id: 'attempts',
        header: t('column.attempts'),
        kind: 'number',
        cell: (row) => format.count(row.attempts_30m),
        value: (row) => row.attempts_30m,
      },
      {
        id: 'uptime',
        header: t('column.uptime'),
        kind: 'number',
        cell: (row) => (row.uptime_30m === null ? <None /> : format.percent(row.uptime_30m / 100)),
        value: (row) => row.uptime_30m,
      },
      measured('latency_p50_ms', t('column.p50')),
      measured('latency_p90_ms', t('column.p90')),
    ];
  }, [t, format, hasWorkers]);
}
