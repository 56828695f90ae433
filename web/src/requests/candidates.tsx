import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../i18n/use-format.ts';
import { EmptyState } from '../ui/states.tsx';
import { Waterfall } from '../ui/waterfall.tsx';
import type { Phase, WaterfallCandidate } from '../ui/waterfall-data.ts';
import type { Detail } from './detail.ts';
import { FailedBecause, useWhyFailed } from './failed-because.tsx';

type Attempt = Detail['attempts'][number];

/** The candidates of a request on one time axis: tried in their order, then those that were not tried. */
export function Candidates({ detail }: { detail: Detail }) {
  const { t } = useTranslation('request');
  const format = useFormat();
  const whyFailed = useWhyFailed();
  const { listing, skipped } = detail;
  const models = new Set([...detail.attempts, ...(skipped?.dropped ?? [])].map(({ model }) => model));
  const isOneModel = models.size < 2;
  const detailOf = ({ model, endpoint }: Attempt): string =>
    isOneModel ? endpoint : `${endpoint} · ${model}`;
  const wordsOf = (code: string): string => t(`reason.${code}`, { defaultValue: code });
  const heldBack = new Map((skipped?.held_back ?? []).map((one) => [one.endpoint, one.reason]));
  const tried = detail.attempts.map((attempt, index): WaterfallCandidate => {
    const isWinner = attempt.is_winner;
    const held = heldBack.get(attempt.endpoint);
    return {
      id: `${index}`,
      name: attempt.provider,
      detail: detailOf(attempt),
      outcome: isWinner ? winnerOutcomes[listing.outcome] : 'failed',
      startMs: attempt.starts_at_ms,
      phaseMs: phasesOf(attempt),
      reason: (
        <>
          {isWinner && listing.outcome !== 'failed' ? (
            t(index === 0 ? 'won.first' : 'won.afterFailures', { count: index })
          ) : (
            <FailedBecause attempt={attempt} />
          )}
          {held === undefined ? null : (
            <span className="text-muted"> · {t('heldBack', { reason: wordsOf(held) })}</span>
          )}
          {attempt.parameter_changes.length === 0 ? null : (
            <span className="block text-xs text-muted">
              {t('changed', {
                parameters: attempt.parameter_changes.map(({ parameter }) => parameter).join(', '),
              })}
            </span>
          )}
        </>
      ),
      costMicro: isWinner ? listing.cost_micro : null,
    };
  });
  const notTried = (skipped?.dropped ?? []).map(
    ({ model, endpoint, reason }, index): WaterfallCandidate => ({
      id: `skipped-${index}`,
      name: endpoint,
      ...(isOneModel ? {} : { detail: model }),
      outcome: 'skipped',
      startMs: null,
      phaseMs: {},
      reason: wordsOf(reason),
      costMicro: null,
    }),
  );
  const candidates = [...tried, ...notTried];
  if (candidates.length === 0)
    return (
      <EmptyState title={t('noAttempt.title')}>
        {whyFailed(listing.error_type ?? '', detail.record.error_message ?? '')}
      </EmptyState>
    );
  return (
    <>
      <p className="text-base">
        {tried.length === 0
          ? t('lacked', {
              why: whyFailed(listing.error_type ?? '', ''),
              reasons: [...new Set(skipped?.dropped.map(({ reason }) => wordsOf(reason)))].join(', '),
            })
          : summaryOf(detail, t)}
      </p>
      <Waterfall label={t('candidates')} candidates={candidates} />
      {detail.admission_wait_ms === null || detail.admission_wait_ms === 0 ? null : (
        <p className="text-sm text-muted">
          {t('waitedBefore', { duration: format.duration(detail.admission_wait_ms) })}
        </p>
      )}
    </>
  );
}

/** Which candidate answered, and why this one, in a sentence. */
function summaryOf({ attempts, listing }: Detail, t: TFunction<'request'>): string {
  const count = attempts.findIndex(({ is_winner: isWinner }) => isWinner);
  const winner = attempts[count];
  if (winner === undefined) return t(listing.outcome === 'cancelled' ? 'summary.left' : 'summary.none');
  const name = winner.provider;
  if (listing.outcome !== 'ok') return t(`summary.${listing.outcome}`, { name });
  return count === 0 ? t('summary.first', { name }) : t('summary.afterFailures', { name, count });
}

/** How the attempt of the candidate ended that began to respond. */
const winnerOutcomes = { ok: 'won', cancelled: 'cancelled', failed: 'failed' } as const;

function phasesOf({ phases }: Attempt): WaterfallCandidate['phaseMs'] {
  const { queue_ms, connect_ms, first_byte_ms, first_token_ms, stream_ms } = phases;
  return {
    // An attempt that ended here shows it, however short.
    ...(queue_ms > 0 || connect_ms === null ? { queue: queue_ms } : {}),
    ...part('connect', connect_ms, first_byte_ms === null),
    ...part('firstByte', first_byte_ms, true),
    ...part('firstToken', first_token_ms, false),
    ...part('stream', stream_ms, false),
  };
}

function part(phase: Phase, ms: number | null, isShownAtZero: boolean): WaterfallCandidate['phaseMs'] {
  return ms === null || (ms === 0 && !isShownAtZero) ? {} : { [phase]: ms };
}
