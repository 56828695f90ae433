import type { Candidate } from '../catalogue/model.ts';
import { refuse } from '../errors/catalogue.ts';
import type { AttemptRecord } from '../generations/generation.ts';
import type { Clock } from '../time/clock.ts';
import type { Health } from '../upstreams/health.ts';
import type { Ask } from '../wire/chat.ts';
import type { Callers } from './line.ts';
import type { Answer, AttemptContext, Outcome } from './outcome.ts';
import { tryCandidate } from './try-candidate.ts';

/** What the chain needs: callers for candidates, the time, and the budget of service.md §8. */
export interface Chain {
  readonly callers: Callers;
  readonly clock: Clock;
  /** What becomes of each attempt is told here. */
  readonly health: Health;
  /** Milliseconds of waiting for upstreams, over all candidates, until the first byte. */
  readonly budgetMs: number;
}

/** A timer may ring this much before its time by the other clock. */
const timerSlackMs = 5;

/**
 * Tries candidates in order until one has said something that means something; nothing has been sent to the client before
 * (service.md 7.4.3). Refuses with `503 model_loading`, `408 timeout` or `502 provider_error` when none did, and with
 * `404 no_endpoints_found` when no dialect has words for the request (decisions.md ).
 */
export async function attempt(
  chain: Chain,
  candidates: readonly Candidate[],
  ask: Ask,
  context: AttemptContext,
): Promise<Answer> {
  const failed: Exclude<Outcome, { kind: 'answered' }>[] = [];
  let budgetMs = chain.budgetMs;
  for (const { candidate, isProbe } of inTurn(chain.health, candidates)) {
    const startedMs = chain.clock.monotonic();
    let outcome: Outcome;
    let waitedMs: number;
    try {
      const tried = await tryCandidate(chain.callers, candidate, ask, { ...context, budgetMs });
      ({ outcome, waitedMs } = tried);
      context.attempts.push(recordOf(candidate, tried, chain.clock.monotonic() - startedMs));
      const cutShort = failed.length > 0 && budgetMs - waitedMs < timerSlackMs;
      if (!(cutShort && outcome.kind === 'timed_out'))
        note(chain, candidate, outcome, { isProbe, startedMs });
    } finally {
      if (isProbe) chain.health.endProbe(candidate.label);
    }
    if (outcome.kind === 'answered') return outcome.answer;
    failed.push(outcome);
    budgetMs -= waitedMs;
    if (budgetMs <= 0) break;
  }
  throw refusalOf(ask, failed, chain.budgetMs, budgetMs);
}

/**
 * The candidates as they are tried. One whose circuit is open and due is probed by one request at a time: whoever comes second
 * between the plan and its turn goes elsewhere first.
 */
function* inTurn(
  health: Health,
  candidates: readonly Candidate[],
): Generator<{ readonly candidate: Candidate; readonly isProbe: boolean }> {
  const later: Candidate[] = [];
  for (const candidate of candidates) {
    const isProbe = health.takeProbe(candidate.label);
    const isProbed = !isProbe && health.standing(candidate.label).circuit === 'probing';
    if (isProbed) later.push(candidate);
    else yield { candidate, isProbe };
  }
  for (const candidate of later) yield { candidate, isProbe: health.takeProbe(candidate.label) };
}

/**
 * A candidate that is loading or has no words for the request was not asked, so it has not failed; nor has one that only had the
 * time that others left. How an answer ends is noted when it ends.
 */
function note(
  { health, clock }: Chain,
  { label }: Candidate,
  outcome: Outcome,
  { isProbe, startedMs }: { readonly isProbe: boolean; readonly startedMs: number },
): void {
  switch (outcome.kind) {
    case 'answered':
      health.answered(label, startedMs);
      if (outcome.answer.rest !== null) health.spoke(label, clock.monotonic() - outcome.answer.askedMs);
      return;
    case 'refused':
      health.failed(label, outcome.status, { isProbe, retryAfterMs: outcome.retryAfterMs ?? null });
      return;
    case 'unreachable':
    case 'timed_out':
      health.failed(label, null, { isProbe });
      return;
    case 'loading':
    case 'unsayable':
      return;
  }
}

function refusalOf(
  ask: Ask,
  failed: readonly Exclude<Outcome, { kind: 'answered' }>[],
  budgetMs: number,
  leftMs: number,
): Error {
  const waits = failed
    .filter((outcome) => outcome.kind === 'loading')
    .map((outcome) => outcome.retryAfterSec);
  if (waits.length > 0) {
    return refuse(
      'model_loading',
      '모델을 불러오는 중입니다. The model is loading; retry after the time in Retry-After.',
      {
        retry_after_sec: Math.min(...waits),
      },
    );
  }
  if (failed.length > 0 && failed.every((outcome) => outcome.kind === 'unsayable')) {
    const message = `No endpoints found for ${ask.models.join(', ')}: a part of the request is not supported.`;
    return refuse('no_endpoints_found', message, { models: ask.models });
  }
  const last = failed.at(-1);
  if (leftMs <= 0 || last?.kind === 'timed_out') {
    return refuse(
      'timeout',
      '업스트림이 제한 시간 안에 응답하지 않았습니다. The upstream did not answer in time.',
      {
        timeout_sec: budgetMs / 1000,
      },
    );
  }
  return refuse('provider_error', '모든 후보가 실패했습니다. Every candidate failed upstream.', {
    provider_code: last === undefined ? null : statusOf(last),
  });
}

function recordOf(
  candidate: Candidate,
  { outcome, changes }: Awaited<ReturnType<typeof tryCandidate>>,
  latencyMs: number,
): AttemptRecord {
  return {
    provider_name: candidate.providerName,
    model_permaslug: candidate.modelId,
    endpoint_id: candidate.label,
    status: statusOf(outcome),
    latency: Math.round(latencyMs),
    is_byok: false,
    ...failureOf(outcome),
    ...(changes.length === 0 ? {} : { parameter_changes: changes }),
  };
}

function statusOf(outcome: Outcome): number | null {
  if (outcome.kind === 'answered') return 200;
  return outcome.kind === 'refused' || outcome.kind === 'unreachable' ? outcome.status : null;
}

/** The kind of failure only: an upstream's words may hold what the account owner must not read. They are in the log. */
function failureOf(outcome: Outcome): { failure?: string } {
  return outcome.kind === 'answered' ? {} : { failure: outcome.kind };
}
