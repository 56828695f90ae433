import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Micro } from '../format/money.ts';
import { type Format, useFormat } from '../i18n/use-format.ts';
import { ticksUpTo } from './chart/scale.ts';
import { classNames } from './class-names.ts';
import { Icon, type IconName } from './icons.tsx';

/** How an attempt at a candidate ended. `skipped` was never tried. */
export type CandidateOutcome = 'won' | 'failed' | 'cancelled' | 'skipped';

/** The parts of an attempt, in their order. */
export const phases = ['queue', 'connect', 'firstByte', 'stream'] as const;
export type Phase = (typeof phases)[number];

/** One candidate of a request. */
export interface WaterfallCandidate {
  readonly id: string;
  /** The slot or the provider. */
  readonly name: ReactNode;
  /** The model that it was asked for, when it differs. */
  readonly detail?: ReactNode;
  readonly outcome: CandidateOutcome;
  /** When the attempt began, in milliseconds since the request arrived; null when it was skipped. */
  readonly startMs: number | null;
  /** How long each part took; a part that did not happen is left out. */
  readonly phaseMs: Readonly<Partial<Record<Phase, number>>>;
  /** Why it answered or was dropped, in words. */
  readonly reason: ReactNode;
  /** What it cost; null when it was free. */
  readonly costMicro: Micro | null;
}

export interface WaterfallProps {
  readonly candidates: readonly WaterfallCandidate[];
  readonly label: string;
}

/** The parts differ in lightness and pattern, not in hue alone. */
const phaseLooks: Readonly<Record<Phase, string>> = {
  queue: 'wf-queue',
  connect: 'wf-connect',
  firstByte: 'wf-first-byte',
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
 * took, why it ended, which one answered, and what it cost.
 */
export function Waterfall({ candidates, label }: WaterfallProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const endMs = Math.max(1, ...candidates.map(endOf));
  const ticks = ticksUpTo(endMs);
  const spanMs = ticks.at(-1) ?? endMs;
  return (
    <div className="text-sm">
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
      <PhaseLegend
        shown={phases.filter((phase) => candidates.some(({ phaseMs }) => phaseMs[phase] !== undefined))}
      />
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
          </span>{' '}
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
  const { startMs, phaseMs, outcome } = candidate;
  const percent = (ms: number): string => `${(ms / spanMs) * 100}%`;
  const endMs = endOf(candidate);
  let atMs = startMs ?? 0;
  const parts = phases.flatMap((phase) => {
    const ms = phaseMs[phase];
    if (ms === undefined) return [];
    const part = { phase, ms, fromMs: atMs };
    atMs += ms;
    return [part];
  });
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
      {parts.map(({ phase, ms, fromMs }) => (
        <span
          key={phase}
          className={classNames(
            'wf-bar absolute inset-y-1.5',
            phaseLooks[phase],
            outcome === 'failed' && 'wf-failed',
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
          {format.duration(tick)}
        </span>
      ))}
    </div>
  );
}

/** The parts that some candidate has. */
function PhaseLegend({ shown }: { shown: readonly Phase[] }) {
  const { t } = useTranslation();
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-1 pt-2 text-xs text-muted">
      {shown.map((phase) => (
        <li key={phase} className="flex items-center gap-1.5">
          <span className={classNames('wf-bar h-2.5 w-4', phaseLooks[phase])} />
          {t(`waterfall.phase.${phase}`)}
        </li>
      ))}
    </ul>
  );
}

function endOf({ startMs, phaseMs }: WaterfallCandidate): number {
  return (startMs ?? 0) + phases.reduce((sum, phase) => sum + (phaseMs[phase] ?? 0), 0);
}
