import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type Format, useFormat } from '../i18n/use-format.ts';
import { ticksUpTo } from './chart/scale.ts';
import { TableToggle } from './chart/table-toggle.tsx';
import { classNames } from './class-names.ts';
import { Icon, type IconName } from './icons.tsx';
import {
  type CandidateOutcome,
  endOf,
  type Phase,
  partsOf,
  phases,
  type WaterfallCandidate,
  type WaterfallProps,
} from './waterfall-data.ts';
import { WaterfallTable } from './waterfall-table.tsx';

/** The parts differ in lightness and pattern, not in hue alone. */
const phaseLooks: Readonly<Record<Phase, string>> = {
  queue: 'wf-queue',
  connect: 'wf-connect',
  firstByte: 'wf-first-byte',
  firstToken: 'wf-first-token',
  stream: 'wf-stream',
};
const outcomeLooks: Readonly<Record<CandidateOutcome, { icon: IconName; className: string }>> = {
  won: { icon: 'checkCircle', className: 'text-good' },
  failed: { icon: 'alert', className: 'text-bad' },
  cancelled: { icon: 'ban', className: 'text-muted' },
  skipped: { icon: 'minus', className: 'text-muted' },
};
const columns = 'md:grid-cols-[minmax(140px,200px)_minmax(200px,1fr)_minmax(160px,260px)_88px]';

/**
 * One line for each candidate of a request on a shared time axis: what was tried, how long each part
 * took, why it ended, which one answered, and what it cost. The same as a table on request.
 */
export function Waterfall(props: WaterfallProps) {
  const { candidates } = props;
  const [isTable, setIsTable] = useState(false);
  return (
    <div className="flex flex-col gap-1 text-sm">
      <div className="flex items-center gap-4">
        <div className="flex-1">
          <PhaseLegend
            shown={phases.filter((phase) => candidates.some(({ phaseMs }) => phaseMs[phase] !== undefined))}
          />
        </div>
        <TableToggle isTable={isTable} onChange={setIsTable} />
      </div>
      {isTable ? <WaterfallTable {...props} /> : <Lines {...props} />}
    </div>
  );
}

function Lines({ candidates, label }: WaterfallProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const endMs = Math.max(1, ...candidates.map(endOf));
  const isTimed = candidates.some(({ startMs }) => startMs !== null);
  const ticks = isTimed ? ticksUpTo(endMs, true) : [];
  const spanMs = ticks.at(-1) ?? endMs;
  return (
    <div>
      <div className={classNames('grid gap-x-4 border-b pb-1 text-xs text-muted max-md:hidden', columns)}>
        <span>{t('waterfall.candidate')}</span>
        <Axis ticks={ticks} spanMs={spanMs} format={format} />
        <span>{t('waterfall.reason')}</span>
        <span className="text-right">{t('waterfall.cost')}</span>
      </div>
      <ol aria-label={label}>
        {candidates.map((candidate) => (
          <Candidate key={candidate.id} candidate={candidate} spanMs={spanMs} ticks={ticks} />
        ))}
      </ol>
    </div>
  );
}

function Candidate(props: { candidate: WaterfallCandidate; spanMs: number; ticks: readonly number[] }) {
  const { candidate, spanMs, ticks } = props;
  const { t } = useTranslation();
  const format = useFormat();
  const { outcome } = candidate;
  const look = outcomeLooks[outcome];
  return (
    <li
      className={classNames(
        'grid items-center gap-x-4 gap-y-1 border-b py-2 last:border-b-0 max-md:grid-cols-[1fr_auto] md:min-h-11',
        columns,
        outcome === 'won' && 'wf-winner',
        outcome === 'skipped' && 'text-muted',
      )}
    >
      <div className="min-w-0">
        <p className={classNames('truncate', outcome === 'won' && 'font-semibold')}>{candidate.name}</p>
        {candidate.detail === undefined ? null : (
          <p className="truncate font-mono text-xs text-muted">{candidate.detail}</p>
        )}
      </div>
      <Track candidate={candidate} spanMs={spanMs} ticks={ticks} />
      <div className="flex min-w-0 items-start gap-1.5 max-md:col-span-2 max-md:row-start-3">
        <Icon name={look.icon} size={14} className={`mt-[3px] ${look.className}`} />
        <span className="min-w-0">
          <span className={classNames('font-medium', look.className)}>
            {t(`waterfall.outcome.${outcome}`)}
          </span>
          {' · '}
          <span className={outcome === 'skipped' ? 'text-muted' : 'text-text'}>{candidate.reason}</span>
        </span>
      </div>
      <p className="text-right whitespace-nowrap max-md:col-start-2 max-md:row-start-1">
        {candidate.costMicro === null ? (
          <span className="text-muted">{t('waterfall.free')}</span>
        ) : (
          format.money(candidate.costMicro)
        )}
      </p>
    </li>
  );
}

/** The bar of an attempt with its parts. Everything that it shows is also its text. */
function Track(props: { candidate: WaterfallCandidate; spanMs: number; ticks: readonly number[] }) {
  const { candidate, spanMs, ticks } = props;
  const { t } = useTranslation();
  const format = useFormat();
  const { startMs, outcome } = candidate;
  const percent = (ms: number): string => `${(ms / spanMs) * 100}%`;
  const endMs = endOf(candidate);
  const parts = partsOf(candidate);
  const text =
    startMs === null
      ? t('waterfall.notTried')
      : [
          t('waterfall.startedAt', { at: format.duration(startMs) }),
          ...parts.map(({ phase, ms }) => `${t(`waterfall.phase.${phase}`)} ${format.duration(ms)}`),
        ].join(', ');
  const isLabelLeft = endMs / spanMs > 0.8;
  return (
    <div
      className="relative h-6 max-md:col-span-2 max-md:row-start-2"
      role="img"
      aria-label={text}
      title={text}
    >
      {ticks.map((tick) => (
        <span
          key={tick}
          className="absolute inset-y-0 w-px bg-[var(--chart-grid)]"
          style={{ left: percent(tick) }}
        />
      ))}
      {parts.map(({ phase, ms, fromMs }, index) => (
        <span
          key={phase}
          className={classNames(
            'wf-bar absolute inset-y-1.5',
            phaseLooks[phase],
            outcome === 'failed' && index === parts.length - 1 && 'wf-failed',
          )}
          style={{ left: percent(fromMs), width: `max(2px, ${percent(ms)})` }}
        />
      ))}
      {startMs === null ? null : (
        <span
          className={classNames(
            'absolute inset-y-0 flex items-center px-1.5 text-xs whitespace-nowrap text-muted',
            // There is no room on either side of it.
            isLabelLeft && startMs / spanMs < 0.15 && 'max-md:hidden',
          )}
          style={isLabelLeft ? { right: `calc(100% - ${percent(startMs)})` } : { left: percent(endMs) }}
        >
          {format.duration(endMs - startMs)}
        </span>
      )}
    </div>
  );
}

function Axis(props: { ticks: readonly number[]; spanMs: number; format: Format }) {
  const { ticks, spanMs, format } = props;
  return (
    <div aria-hidden="true" className="relative h-4">
      {ticks.map((tick, index) => (
        <span
          key={tick}
          className={classNames(
            'absolute whitespace-nowrap',
            index === 0 ? '' : index === ticks.length - 1 ? '-translate-x-full' : '-translate-x-1/2',
          )}
          style={{ left: `${(tick / spanMs) * 100}%` }}
        >
          {format.durationAxis(tick, spanMs)}
        </span>
      ))}
    </div>
  );
}

/** The parts that some candidate has. */
function PhaseLegend({ shown }: { shown: readonly Phase[] }) {
  const { t } = useTranslation();
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted">
      {shown.map((phase) => (
        <li key={phase} className="flex items-center gap-1.5">
          <span className={classNames('wf-bar h-2.5 w-4', phaseLooks[phase])} />
          {t(`waterfall.phase.${phase}`)}
        </li>
      ))}
    </ul>
  );
}
