import type { Candidate } from '../catalogue/model.ts';
import { type Destination, type ParameterChange, UnsupportedRequest } from '../dialects/dialect.ts';
import { retryAfterOf } from '../http/client/retry-after.ts';
import { describeError } from '../log/log.ts';
import { callUpstream, Unreachable, type UpstreamResponse } from '../upstreams/call.ts';
import type { CompletionRequest } from '../wire/chat.ts';
import { type CallOrigin, OpenResponse, type Outcome } from './outcome.ts';
import { readErrorMessage, readResponse, unreadableError } from './read-response.ts';
import { type CallLimits, CallScope, UpstreamStreamError } from './time-limits.ts';
import { acquireTarget, type TargetResolver, type UpstreamTarget } from './upstream-target.ts';

/** The request was planned before its provider was removed. */
const removed: Outcome = {
  kind: 'unreachable',
  status: null,
  reason: 'the provider was removed from the configuration',
};

/** The log contains this much of an upstream's message. */
const maxLoggedReason = 500;

/** How the call of a candidate ended. */
export interface CandidateCall {
  readonly outcome: Outcome;
  /**
   * What counts against the request's budget: waiting in the queue of a slot does not
   * (spec:errors/8.7).
   */
  readonly waitedMs: number;
  /** The parameters that were not sent as the client wrote them. */
  readonly changes: readonly ParameterChange[];
  readonly marks: CallMarks;
}

/** Monotonic instants at which the parts of a call ended; null for a part that did not end. */
export interface CallMarks {
  /** It had a provider or a lane of a slot. */
  readonly acquiredMs: number | null;
  /** It had a connection. */
  readonly connectedMs: number | null;
  /** The head of the response arrived. */
  readonly respondedMs: number | null;
}

/** A call of a request: its time limits, and what is called when it is sent a second time. */
interface CallContext {
  readonly of: CallOrigin;
  readonly limits: CallLimits;
  readonly onResend: () => void;
}

/**
 * Calls one candidate until it has sent content or failed. Rejects only when the client leaves
 * before the call begins.
 */
export async function callCandidate(
  targets: TargetResolver,
  candidate: Candidate,
  request: CompletionRequest,
  context: CallContext,
): Promise<CandidateCall> {
  const acquiring = acquireTarget(targets, candidate, context.of);
  const target = acquiring instanceof Promise ? await acquiring : acquiring;
  if (target.kind === 'loading') return uncalled({ kind: 'loading', retryAfterSec: target.retryAfterSec });
  if (target.kind === 'failed') {
    const { reason } = target;
    targets.log.info('attempt_failed', {
      request_id: context.of.exchange.requestId,
      candidate: candidate.label,
      outcome: 'engine_failed',
      reason: reason.slice(0, maxLoggedReason),
    });
    return uncalled({ kind: 'engine_failed', reason });
  }
  if (target.kind === 'removed') return uncalled(removed);
  const sentAtMs = targets.clock.monotonic();
  // A provider's own limit replaces the default.
  const { firstByteMs: ownMs } = target;
  const limits = ownMs === null ? context.limits : { ...context.limits, firstByteMs: ownMs };
  const call = new CallScope(targets.clock, limits, context.of.exchange.signal, target.cancelReason);
  let changes: readonly ParameterChange[] = [];
  let response: UpstreamResponse | null = null;
  let connectedMs: number | null = null;
  let respondedMs: number | null = null;
  let outcome: Outcome;
  try {
    const encoding = target.dialect.encode(request, destinationOf(target, candidate));
    const codec = encoding instanceof Promise ? await encoding : encoding;
    changes = codec.changes;
    response = await callUpstream(target.request(codec.request), call, {
      onSend: () => {
        connectedMs = targets.clock.monotonic();
      },
      onResend: () => noteResend(targets, candidate, context),
    });
    respondedMs = targets.clock.monotonic();
    const firstByteMs = respondedMs - sentAtMs;
    const { status } = response;
    if (status < 200 || status > 299) outcome = await errorOutcome(targets, response);
    else {
      const { memory } = context.of.exchange;
      const read = await readResponse(targets, { response, codec, candidate, target, call, request, memory });
      if ('failure' in read) {
        // An error inside a successful response that names no status has that of the response.
        outcome = { ...read.failure, status: read.failure.status ?? status };
      } else {
        call.contentArrived();
        const head = { candidate, status, sentAtMs, firstByteMs };
        outcome = { kind: 'responded', response: new OpenResponse(head, read, { call, target }) };
      }
    }
  } catch (error) {
    outcome = failureOf(error, call, response?.status ?? null);
  }
  if (outcome.kind !== 'responded') outcome = giveUp(targets, { candidate, context, target, call }, outcome);
  const marks = { acquiredMs: sentAtMs, connectedMs, respondedMs };
  return { outcome, waitedMs: targets.clock.monotonic() - sentAtMs, changes, marks };
}

function uncalled(outcome: Outcome): CandidateCall {
  return { outcome, waitedMs: 0, changes: [], marks: unmarked };
}

const unmarked: CallMarks = { acquiredMs: null, connectedMs: null, respondedMs: null };

function noteResend(targets: TargetResolver, { label }: Candidate, context: CallContext): void {
  context.onResend();
  targets.log.info('attempt_resent', { request_id: context.of.exchange.requestId, candidate: label });
}

interface FailedCall {
  readonly candidate: Candidate;
  readonly context: CallContext;
  readonly target: UpstreamTarget;
  readonly call: CallScope;
}

/** Ends a call without a response, and logs why. */
function giveUp(
  targets: TargetResolver,
  { candidate, context, target, call }: FailedCall,
  failure: Outcome,
): Outcome {
  const outcome: Outcome = context.of.exchange.signal.aborted
    ? { kind: 'cancelled', status: 'status' in failure ? failure.status : null }
    : withClientMessage(failure, target);
  call.end();
  // The next candidate starts with nothing of this response.
  context.of.exchange.memory?.setBytes('answer', 0);
  target.release(outcome.kind === 'unreachable' ? 'unreachable' : 'served');
  targets.log.info('attempt_failed', {
    request_id: context.of.exchange.requestId,
    candidate: candidate.label,
    outcome: outcome.kind,
    ...reasonFields(outcome, target),
  });
  return outcome;
}

function destinationOf({ model }: UpstreamTarget, candidate: Candidate): Destination {
  const { modelId, variant, overrides, supportedParameters, contextLength, price } = candidate;
  const isLimited = candidate.maxCompletionTokens < contextLength;
  const maxCompletionTokens = isLimited ? candidate.maxCompletionTokens : null;
  return { model, modelId, variant, overrides, supportedParameters, maxCompletionTokens, price };
}

async function errorOutcome(targets: TargetResolver, response: UpstreamResponse): Promise<Outcome> {
  const { reason, waitMs } = await readErrorMessage(targets, response);
  const retryAfterMs = retryAfterOf(response.headers, targets.clock.now()) ?? waitMs;
  return { kind: 'refused', status: response.status, reason, retryAfterMs };
}

/** `status` is that of the response's head; null when there was none. */
function failureOf(error: unknown, call: CallScope, status: number | null): Outcome {
  if (error instanceof UnsupportedRequest) return { kind: 'unsupported', reason: error.message };
  const expired = call.expired ?? (error instanceof UpstreamStreamError ? error.expired : null);
  if (expired !== null)
    return { kind: 'timed_out', reason: `no response in time (${expired.kind})`, expired };
  if (error instanceof UpstreamStreamError && error.status !== null)
    return { kind: 'refused', status: error.status, reason: error.message };
  if (error instanceof Unreachable || error instanceof UpstreamStreamError)
    return { kind: 'unreachable', status, reason: describeCause(error) };
  return { kind: 'unreachable', status, reason: describeError(error) };
}

/** Statuses with which an upstream says something of the operator's account there. */
const operatorsFault: ReadonlySet<number | null> = new Set([401, 402, 403]);

/** Adds the upstream's own message, where the client may read it. */
function withClientMessage(outcome: Outcome, target: UpstreamTarget): Outcome {
  if (outcome.kind !== 'refused' || outcome.reason === unreadableError) return outcome;
  if (operatorsFault.has(outcome.status)) return outcome;
  return { ...outcome, clientMessage: target.clientMessage(outcome.reason) };
}

function reasonFields(outcome: Outcome, target: UpstreamTarget): object {
  if (!('reason' in outcome)) return {};
  const reason = target.conceal(outcome.reason).slice(0, maxLoggedReason);
  if (outcome.kind !== 'refused') return { reason };
  const { status, retryAfterMs = null } = outcome;
  return { status, reason, ...(retryAfterMs === null ? {} : { retry_after_ms: retryAfterMs }) };
}

function describeCause(error: Error): string {
  const cause =
    error.cause instanceof Error ? ` (${(error.cause as { code?: string }).code ?? error.cause.name})` : '';
  return `${error.message}${cause}`;
}
