import type { Candidate } from '../catalogue/model.ts';
import type { LimitsConfig } from '../config/config.ts';
import { refuse } from '../errors/catalogue.ts';
import { messages, rejectReasons } from '../errors/messages.ts';
import type { AttemptRecord } from '../generations/generation.ts';
import type { Clock } from '../time/clock.ts';
import type { Health } from '../upstreams/health.ts';
import type { CompletionRequest } from '../wire/chat.ts';
import { type CallMarks, type CandidateCall, callCandidate } from './call-candidate.ts';
import type { AttemptContext, OpenResponse, Outcome } from './outcome.ts';
import { type CallLimits, type RequestLimit, timeoutOf } from './time-limits.ts';
import type { TargetResolver } from './upstream-target.ts';

/**
 * What trying a chain of candidates needs: their targets, the clock, and the time limits of
 * spec:errors/8.1.
 */
export interface Chain {
  readonly targets: TargetResolver;
  readonly clock: Clock;
  /** Records how each attempt ended. */
  readonly health: Health;
  /** The current limits of the configuration. */
  readonly limits: () => LimitsConfig;
}

/** A candidate that was slow lately gets this many times its p99 before the next one is tried. */
const slowFactor = 4;

type Failure = Exclude<Outcome, { readonly kind: 'responded' | 'cancelled' }>;

/** A timer may fire this much early by the monotonic clock. */
const timerSlackMs = 5;

/**
 * Calls candidates in order until one sends content; before that nothing is sent to the client
 * (spec:errors/4.3). Refuses with `503 model_loading`, `408 timeout` or `502 provider_error` when
 * none did, and with `404 no_endpoints_found` when no dialect can express the request
 * (spec:errors/8.6,10.3).
 */
export async function attempt(
  chain: Chain,
  candidates: readonly Candidate[],
  request: CompletionRequest,
  context: AttemptContext,
): Promise<OpenResponse> {
  const failed: Failure[] = [];
  const { upstreamTimeoutMs: budgetMs, totalTimeoutMs } = chain.limits();
  let usedMs = 0;
  let tried = 0;
  // No candidate is called for what a timer left of the budget.
  const isSpent = (): boolean => usedMs > budgetMs - timerSlackMs;
  const turns = new Turns(chain.health, candidates);
  for (let candidate = turns.next(); candidate !== null; candidate = turns.next()) {
    const { isProbe } = turns;
    const { label } = candidate;
    tried += 1;
    context.calling(candidate);
    const limits: CallLimits = {
      budget: leftOf(budgetMs, usedMs),
      total: totalTimeoutMs === null ? null : leftOf(totalTimeoutMs, usedMs),
      firstByteMs:
        tried === candidates.length ? Number.POSITIVE_INFINITY : fallbackMs(chain, candidate, request.stream),
    };
    const startedMs = chain.clock.monotonic();
    let outcome: Outcome;
    let waitedMs: number;
    try {
      const onResend = (): void => chain.health.resent(label);
      const call = await callCandidate(chain.targets, candidate, request, { of: context, limits, onResend });
      ({ outcome, waitedMs } = call);
      chain.health.attempted(label, outcome.kind);
      const times = { arrivedMs: context.exchange.startedMs, startedMs, endedMs: chain.clock.monotonic() };
      context.tried(recordOf(candidate, call, times));
      if (failed.length === 0 || !wasCutShort(outcome, limits.budget.leftMs - waitedMs))
        note(chain, candidate, outcome, { isProbe, startedMs, isStream: request.stream });
    } finally {
      if (isProbe) chain.health.endProbe(label);
    }
    if (outcome.kind === 'responded') return outcome.response;
    if (outcome.kind === 'cancelled') throw context.exchange.signal.reason;
    failed.push(outcome);
    usedMs += waitedMs;
    if (isSpent() || (outcome.kind === 'timed_out' && outcome.expired.kind === 'total')) break;
  }
  throw refusalOf(request, failed, { budgetMs, isBudgetSpent: isSpent() });
}

function leftOf(limitMs: number, usedMs: number): RequestLimit {
  return { limitMs, leftMs: limitMs - usedMs };
}

/**
 * How long a candidate without a configured limit may take to its first byte before the next one is
 * tried (spec:errors/8.3): the default, or more for one that was slow lately but responded.
 */
function fallbackMs(chain: Chain, { label }: Candidate, isStream: boolean): number {
  const { fallbackStreamMs, fallbackWholeMs } = chain.limits();
  const defaultMs = isStream ? fallbackStreamMs : fallbackWholeMs;
  return Math.max(defaultMs, slowFactor * (chain.health.firstByteP99(label, isStream) ?? 0));
}

/** Whether the call had only the time that other candidates had left over. */
function wasCutShort(outcome: Outcome, budgetLeftMs: number): boolean {
  return outcome.kind === 'timed_out' && (budgetLeftMs < timerSlackMs || outcome.expired.kind === 'total');
}

/**
 * The candidates in the order in which they are tried. One request at a time probes a candidate
 * whose circuit is open and due: for a request that finds it being probed, it comes last.
 */
class Turns {
  /** Whether the last candidate is tried as a probe; the caller ends the probe. */
  isProbe = false;
  readonly #health: Health;
  #candidates: readonly Candidate[];
  #later: Candidate[] | null = null;
  #areLast = false;
  #at = 0;

  constructor(health: Health, candidates: readonly Candidate[]) {
    this.#health = health;
    this.#candidates = candidates;
  }

  /** Null when there is none left. */
  next(): Candidate | null {
    for (;;) {
      const candidate = this.#candidates[this.#at];
      if (candidate === undefined) {
        if (this.#later === null) return null;
        this.#candidates = this.#later;
        this.#later = null;
        this.#areLast = true;
        this.#at = 0;
        continue;
      }
      this.#at += 1;
      this.isProbe = this.#health.takeProbe(candidate.label);
      if (this.isProbe || this.#areLast || !this.#isProbed(candidate)) return candidate;
      this.#later ??= [];
      this.#later.push(candidate);
    }
  }

  #isProbed({ label }: Candidate): boolean {
    return this.#health.statusOf(label).circuit === 'probing';
  }
}

/**
 * A candidate that is loading or cannot express the request was not called. How a response ends is
 * recorded when it ends.
 */
function note(
  { health, clock }: Chain,
  { label }: Candidate,
  outcome: Outcome,
  call: { readonly isProbe: boolean; readonly startedMs: number; readonly isStream: boolean },
): void {
  const { isProbe, startedMs, isStream } = call;
  switch (outcome.kind) {
    case 'responded':
      health.responseStarted(label, startedMs);
      health.firstByte(label, isStream, outcome.response.firstByteMs);
      if (outcome.response.isStream) health.responded(label, clock.monotonic() - outcome.response.sentAtMs);
      return;
    case 'refused':
      health.failed(label, outcome.status, { isProbe, retryAfterMs: outcome.retryAfterMs ?? null });
      return;
    case 'unreachable':
    case 'timed_out':
    case 'engine_failed':
      health.failed(label, null, { isProbe });
      return;
    case 'loading':
    case 'unsupported':
    case 'cancelled':
      return;
  }
}

function refusalOf(
  { models }: CompletionRequest,
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
    const message = messages.noEndpointsFound(models, [rejectReasons.part_not_supported]);
    return refuse('no_endpoints_found', message, { models });
  }
  const last = failed.at(-1);
  if (last?.kind === 'timed_out') return timeoutOf(last.expired);
  if (isBudgetSpent) return timeoutOf({ kind: 'budget', limitMs: budgetMs });
  const called = failed.filter((outcome) => outcome.kind !== 'unsupported');
  if (called.length > 0 && called.every(isRequestsFault)) {
    const reason = called.findLast(({ clientMessage }) => clientMessage != null)?.clientMessage ?? null;
    return refuse('rejected_upstream', messages.rejectedUpstream(reason), {
      provider_code: called.at(-1)?.status ?? null,
      upstream_message: reason,
    });
  }
  const isEngines = called.length > 0 && called.every(({ kind }) => kind === 'engine_failed');
  return refuse('provider_error', isEngines ? messages.enginesFailed() : messages.upstreamsFailed(), {
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
  { outcome, changes, marks }: CandidateCall,
  times: { readonly arrivedMs: number; readonly startedMs: number; readonly endedMs: number },
): AttemptRecord {
  const record: Mutable<AttemptRecord> = {
    provider_name: candidate.providerName,
    model_permaslug: candidate.modelId,
    endpoint_id: candidate.label,
    status: statusOf(outcome),
    latency: Math.round(times.endedMs - times.startedMs),
    is_byok: false,
    at: instantsOf(marks, times),
  };
  // Reasons in our words stay in the log: they may name machines of the operator.
  if (outcome.kind !== 'responded') record.failure = outcome.kind;
  if (outcome.kind === 'refused' && outcome.clientMessage != null) record.message = outcome.clientMessage;
  if (changes.length > 0) record.parameter_changes = changes;
  return record;
}

/** Milliseconds since the arrival of the request, up to the first part that did not end. */
function instantsOf(
  { acquiredMs, connectedMs, respondedMs }: CallMarks,
  { arrivedMs, startedMs }: { readonly arrivedMs: number; readonly startedMs: number },
): number[] {
  const at = [Math.round(startedMs - arrivedMs)];
  if (acquiredMs === null) return at;
  at.push(Math.round(acquiredMs - arrivedMs));
  if (connectedMs === null) return at;
  at.push(Math.round(connectedMs - arrivedMs));
  if (respondedMs !== null) at.push(Math.round(respondedMs - arrivedMs));
  return at;
}

/** A record that is being built. */
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function statusOf(outcome: Outcome): number | null {
  if (outcome.kind === 'responded') return 200;
  return 'status' in outcome ? outcome.status : null;
}
