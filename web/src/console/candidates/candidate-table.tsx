import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { ActionButton } from '../../app/permission.tsx';
import { parseMicro } from '../../format/money.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { Duration, None } from '../../ui/figures.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { CandidateHealth } from '../candidate-health.tsx';
import type { Candidate } from './data.ts';
import type { WantedDrain } from './drain-dialog.tsx';
import { DrainReason, DrainState } from './drain-state.tsx';

/** The candidates of every model in their order, with their prices and health. */
export function CandidateTable({
  candidates,
  onTest,
  onDrain,
}: {
  candidates: readonly Candidate[] | undefined;
  onTest: (candidate: Candidate) => void;
  onDrain: (wanted: WantedDrain) => void;
}) {
  const { t } = useTranslation('candidates');
  const columns = useColumns({
    onTest,
    onDrain,
    hasDrains: candidates?.some(({ drain }) => drain !== null) === true,
  });
  return (
    <DataTable
      id="candidates"
      label={t('candidates')}
      columns={columns}
      rows={candidates}
      rowId={({ model, candidate }) => `${model} ${candidate}`}
      empty={<EmptyState icon="server" title={t('noCandidates')} />}
    />
  );
}

function useColumns({
  onTest,
  onDrain,
  hasDrains,
}: {
  onTest: (candidate: Candidate) => void;
  onDrain: (wanted: WantedDrain) => void;
  hasDrains: boolean;
}): readonly Column<Candidate>[] {
  const { t } = useTranslation('candidates');
  const format = useFormat();
  return useMemo((): readonly Column<Candidate>[] => {
    const drainColumn: Column<Candidate> = {
      id: 'drain',
      header: t('column.drain'),
      cell: (row) => <DrainReason row={row} />,
      value: ({ drain }) => drain?.reason ?? null,
    };
    return [
      {
        id: 'model',
        header: t('column.model'),
        cell: ({ model }) => <span className="font-medium">{model}</span>,
        value: ({ model }) => model,
        isTitle: true,
      },
      {
        id: 'candidate',
        header: t('column.candidate'),
        cell: ({ candidate }) => <span className="font-mono text-xs break-all">{candidate}</span>,
        value: ({ candidate }) => candidate,
      },
      {
        id: 'health',
        header: t('column.health'),
        kind: 'state',
        cell: (row) => (row.drain === null ? <Worst health={row.health} /> : <DrainState row={row} />),
        value: ({ health, drain }) => (drain === null ? (worstOf(health)?.circuit ?? '') : 'drained'),
        isMainFigure: true,
      },
      ...(hasDrains ? [drainColumn] : []),
      {
        id: 'attempts',
        header: t('column.attempts'),
        kind: 'number',
        cell: ({ health }) => format.count(attemptsOf(health)),
        value: ({ health }) => attemptsOf(health),
      },
      {
        id: 'p50',
        header: t('column.p50'),
        kind: 'number',
        unit: 'ms',
        cell: ({ health }) => <Duration ms={slowestOf(health)} />,
        value: ({ health }) => slowestOf(health),
        isWideOnly: true,
      },
      {
        id: 'prompt',
        header: t('column.prompt'),
        kind: 'money',
        cell: (row) => format.pricePerMillion(row.prompt_micro),
        value: (row) => parseMicro(row.prompt_micro),
      },
      {
        id: 'completion',
        header: t('column.completion'),
        kind: 'money',
        cell: (row) => format.pricePerMillion(row.completion_micro),
        value: (row) => parseMicro(row.completion_micro),
      },
      {
        id: 'acts',
        header: t('column.acts'),
        kind: 'actions',
        cell: (row) => <Acts row={row} onTest={onTest} onDrain={onDrain} />,
      },
    ];
  }, [format, hasDrains, onDrain, onTest, t]);
}

function Acts({
  row,
  onTest,
  onDrain,
}: {
  row: Candidate;
  onTest: (candidate: Candidate) => void;
  onDrain: (wanted: WantedDrain) => void;
}) {
  const { t } = useTranslation('candidates');
  const { model, candidate, drain } = row;
  return (
    <span className="inline-flex gap-1 max-md:flex-col">
      <ActionButton needs="admin" size="sm" icon="play" onClick={() => onTest(row)}>
        {t('test.button')}
      </ActionButton>
      <ActionButton
        needs="admin"
        size="sm"
        icon={drain === null ? 'pause' : 'play'}
        onClick={() => onDrain({ model, candidate, drained: drain === null })}
      >
        {t(drain === null ? 'drain.button' : 'resume.button')}
      </ActionButton>
    </span>
  );
}

const badness = { open: 3, probing: 2, due: 1, closed: 0 } as const;

/** Of several processes the one with the most trouble. */
function worstOf(health: Candidate['health']): Candidate['health'][number] | undefined {
  return health.toSorted(
    (a, b) =>
      badness[b.circuit] - badness[a.circuit] ||
      Number(b.cool_down_s ?? 0) - Number(a.cool_down_s ?? 0) ||
      b.failures_in_a_row - a.failures_in_a_row,
  )[0];
}

function Worst({ health }: { health: Candidate['health'] }) {
  const worst = worstOf(health);
  return worst === undefined ? <None /> : <CandidateHealth row={worst} />;
}

function attemptsOf(health: Candidate['health']): number {
  return health.reduce((sum, row) => sum + row.attempts_30m, 0);
}

function slowestOf(health: Candidate['health']): number | null {
  const found = health.flatMap((row) => (row.latency_p50_ms === null ? [] : [row.latency_p50_ms]));
  return found.length === 0 ? null : Math.max(...found);
}
