import type { Candidate } from '../catalogue/model.ts';
import { refuse } from '../errors/catalogue.ts';
import { messages, rejectReasons } from '../errors/messages.ts';
import type { AttemptRecord } from '../generations/generation.ts';
import type { Clock } from '../time/clock.ts';
import type { Health } from '../upstreams/health.ts';
import type { CompletionRequest } from '../wire/chat.ts';
import type { CallLimits, RequestLimit } from './call-cancellation.ts';
import { tryCandidate } from './call-candidate.ts';
import type { AttemptContext, CandidateResponse, Outcome } from './outcome.ts';
import { timeoutOf } from './stream-error.ts';
import type { TargetResolver } from './upstream-target.ts';

/** What the chain needs: callers for candidates, the time, and the budget of spec:errors/8.1. */
export interface Chain {
  readonly targets: TargetResolver;
  readonly clock: Clock;
  /** What becomes of each attempt is told here. */
  readonly health: Health;
  /** Milliseconds of waiting for upstreams, over all candidates, until the first byte. */
  readonly budgetMs: number;
  /** Milliseconds of the calls to all candidates together, to the last byte; null: no such limit. */
  readonly totalTimeoutMs: number | null;
  /** Milliseconds to the first byte of one candidate while another is left: of a streamed request and of a whole one. */
  readonly fallbackStreamMs: number;
  readonly fallbackWholeMs: number;
}

/** A candidate that was slow lately has this many times its p99 before the next one is tried. */
const slowFactor = 4;

type Failure = Exclude<Outcome, { readonly kind: 'answered' | 'cancelled' }>;

/** A timer may ring this much before its time by the other clock. */
const timerSlackMs = 5;

/**
 * Tries candidates in order until one has said something that means something; nothing has been sent to the client before
 * (spec:errors/4.3). Refuses with `503 model_loading`, `408 timeout` or `502 provider_error` when none did, and with
 * `404 no_endpoints_found` when no dialect has words for the request (spec:errors/8.6,10.3).
 */
export async function attempt(
  chain: Chain,
  candidates: readonly Candidate[],
  ask: CompletionRequest,
  context: AttemptContext,
): Promise<CandidateResponse> {
  const failed: Failure[] = [];
  let usedMs = 0;
  let tried = 0;
  for (const { candidate, isProbe } of inTurn(chain.health, candidates)) {
    tried += 1;
    const left = (limitMs: number): RequestLimit => ({ limitMs, leftMs: limitMs - usedMs });
    const limits: CallLimits = {
      budget: left(chain.budgetMs),
      total: chain.totalTimeoutMs === null ? null : left(chain.totalTimeoutMs),
      firstByteMs:
        tried === candidates.length ? Number.POSITIVE_INFINITY : fallbackMs(chain, candidate, ask.stream),
    };
    const startedMs = chain.clock.monotonic();
    let outcome: Outcome;
    let waitedMs: number;
    try {
      const onResend = (): void => chain.health.resent(candidate.label);
      const tried = await tryCandidate(chain.targets, candidate, ask, { ...context, limits, onResend });
      ({ outcome, waitedMs } = tried);
      context.attempts.push(recordOf(candidate, tried, chain.clock.monotonic() - startedMs));
      if (failed.length === 0 || !wasCutShort(outcome, limits.budget.leftMs - waitedMs))
        note(chain, candidate, outcome, { isProbe, startedMs, isStream: ask.stream });
    } finally {
      if (isProbe) chain.health.endProbe(candidate.label);
    }
    if (outcome.kind === 'answered') return outcome.answer;
    if (outcome.kind === 'cancelled') throw context.signal.reason;
    failed.push(outcome);
    usedMs += waitedMs;
    if (usedMs >= chain.budgetMs || (outcome.kind === 'timed_out' && outcome.expired.kind === 'total')) break;
  }
  throw refusalOf(ask, failed, { budgetMs: chain.budgetMs, isBudgetSpent: usedMs >= chain.budgetMs });
}

/**
 * How long a candidate may take to its first byte before the next one is tried, unless the configuration says (spec:errors/8.3): the
 * default, or more for one that was slow lately and answered all the same.
 */
function fallbackMs(chain: Chain, { label }: Candidate, isStream: boolean): number {
  const defaultMs = isStream ? chain.fallbackStreamMs : chain.fallbackWholeMs;
  return Math.max(defaultMs, slowFactor * (chain.health.firstByteP99(label, isStream) ?? 0));
}

/** Whether it had only the time that other candidates left. */
function wasCutShort(outcome: Outcome, budgetLeftMs: number): boolean {
  return outcome.kind === 'timed_out' && (budgetLeftMs < timerSlackMs || outcome.expired.kind === 'total');
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
  how: { readonly isProbe: boolean; readonly startedMs: number; readonly isStream: boolean },
): void {
  const { isProbe, startedMs, isStream } = how;
  switch (outcome.kind) {
    case 'answered':
      health.answered(label, startedMs);
      health.firstByte(label, isStream, outcome.answer.firstByteMs);
      if (outcome.answer.rest !== null) health.responded(label, clock.monotonic() - outcome.answer.sentAtMs);
      return;
    case 'refused':
      health.failed(label, outcome.status, { isProbe, retryAfterMs: outcome.retryAfterMs ?? null });
      return;
    case 'unreachable':
    case 'timed_out':
      health.failed(label, null, { isProbe });
      return;
    case 'loading':
    case 'unsupported':
    case 'cancelled':
      return;
  }
}

function refusalOf(
  ask: CompletionRequest,
  failed: readonly Failure[],
  { budgetMs, isBudgetSpent }: { readonly budgetMs: number; readonly isBudgetSpent: boolean },
): Error {
  const waits = failed
    .filter((outcome) => outcome.kind === 'loading')
    .map((outcome) => outcome.retryAfterSec);
  if (waits.length > 0) {
    return refuse('model_loading', messages.modelLoading(), { retry_after_sec: Math.min(...waits) });
  }
  if (failed.length > 0 && failed.every((outcome) => outcome.kind === 'unsupported')) {
    const message = messages.noEndpointsFound(ask.models, [rejectReasons.part_not_supported]);
    return refuse('no_endpoints_found', message, { models: ask.models });
  }
  const last = failed.at(-1);
  if (last?.kind === 'timed_out') return timeoutOf(last.expired);
  if (isBudgetSpent) return timeoutOf({ kind: 'budget', limitMs: budgetMs });
  const asked = failed.filter((outcome) => outcome.kind !== 'unsupported');
  if (asked.length > 0 && asked.every(isRequestsFault)) {
    return refuse('rejected_upstream', messages.rejectedUpstream(), {
      provider_code: asked.at(-1)?.status ?? null,
      upstream_message: asked.findLast(({ clientMessage }) => clientMessage != null)?.clientMessage ?? null,
    });
  }
  return refuse('provider_error', messages.upstreamsFailed(), {
    provider_code: last === undefined ? null : statusOf(last),
  });
}

/** Statuses with which an upstream rejects the request itself: no retry can help. */
const requestsFault: ReadonlySet<number | null> = new Set([400, 413, 422]);

function isRequestsFault(outcome: Failure): outcome is Failure & { readonly kind: 'refused' } {
  return outcome.kind === 'refused' && requestsFault.has(outcome.status);
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
  return 'status' in outcome ? outcome.status : null;
}

/** The kind of failure only: an upstream's words may hold what the account owner must not read. They are in the log. */
function failureOf(outcome: Outcome): { failure?: string } {
  return outcome.kind === 'answered' ? {} : { failure: outcome.kind };
}
