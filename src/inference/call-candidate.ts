import type { Candidate } from '../catalogue/model.ts';
import { type Destination, UnsupportedRequest, type UpstreamCodec } from '../dialects/dialect.ts';
import type { ParameterChange } from '../dialects/parameter-change.ts';
import { describeError } from '../log/log.ts';
import { ResponseTotals } from '../metering/response-totals.ts';
import type { ByteStream } from '../upstreams/byte-stream.ts';
import { callUpstream, Unreachable, type UpstreamResponse } from '../upstreams/call.ts';
import { retryAfterOf } from '../upstreams/cool-down.ts';
import { ByteCollector } from '../wire/byte-collector.ts';
import type { AnswerChunk, CompletionRequest } from '../wire/chat.ts';
import { isMeaningful } from '../wire/chat.ts';
import type { HeldMemory } from '../wire/request-context.ts';
import { ChunkAggregator } from './aggregate-chunks.ts';
import { type CallLimits, CallScope } from './call-cancellation.ts';
import { ChunkSource } from './chunk-source.ts';
import type { AttemptContext, CandidateResponse, Outcome } from './outcome.ts';
import { idleTimeoutError, UpstreamStreamError } from './stream-error.ts';
import { acquireTarget, type TargetResolver, type UpstreamTarget } from './upstream-target.ts';
import { Watchdog } from './watchdog.ts';

/** An upstream's error or whole answer is read up to this size. */
const maxErrorBytes = 64 * 1024;
const maxResponseBytes = 64 * 1024 * 1024;
/** A whole answer is there as bytes or text, as what was parsed, and as what is sent to the client. */
const workingCopies = 2;
/** How long an error's body may take: its words are only for the log. */
const errorBodyMs = 2_000;
/** Chunks that say nothing, one after another, of which none follows that does. */
const maxEmptyChunks = 10_000;

/** Its provider was taken out of the configuration after the request was planned. */
const gone: Outcome = { kind: 'unreachable', status: null, reason: 'it is offered no more' };

/** The log gets this much of an upstream's words. */
const maxLoggedReason = 500;
/** The reason of a refusal whose body broke off, came late or was too large. */
const unreadable = 'an error without a readable body';

/** What was sent, as far as the record has it. */
interface Sent {
  changes: readonly ParameterChange[];
}

type Tried = { readonly outcome: Outcome; readonly waitedMs: number } & Readonly<Sent>;

/**
 * Tries one candidate until it has said something. Rejects only when the client leaves before it was asked. `waitedMs` is what
 * counts against the request's budget: waiting in the queue of an own slot does not (spec:errors/8.7).
 */
export async function tryCandidate(
  targets: TargetResolver,
  candidate: Candidate,
  ask: CompletionRequest,
  context: AttemptContext & { readonly limits: CallLimits; readonly onResend: () => void },
): Promise<Tried> {
  const target = await acquireTarget(targets, candidate, context);
  if (target.kind === 'loading')
    return { outcome: { kind: 'loading', retryAfterSec: target.retryAfterSec }, waitedMs: 0, changes: [] };
  if (target.kind === 'gone') return { outcome: gone, waitedMs: 0, changes: [] };
  const startedMs = targets.clock.monotonic();
  // What the configuration says of a provider replaces the default.
  const limits = { ...context.limits, firstByteMs: target.firstByteMs ?? context.limits.firstByteMs };
  const call = new CallScope(targets.clock, limits, context.signal, target.cancelReason);
  const sent: Sent = { changes: [] };
  const onResend = (): void => {
    context.onResend();
    targets.log.info('attempt_resent', { request_id: context.requestId, candidate: candidate.label });
  };
  const { memory } = context;
  const called = await callOnce(targets, candidate, ask, { target, call, sent, memory, onResend });
  const outcome: Outcome =
    called.kind !== 'answered' && context.signal.aborted
      ? { kind: 'cancelled', status: 'status' in called ? called.status : null }
      : withClientMessage(called, target);
  if (outcome.kind !== 'answered') {
    call.end();
    target.release(outcome.kind === 'unreachable' ? 'unreachable' : 'served');
    targets.log.info('attempt_failed', {
      request_id: context.requestId,
      candidate: candidate.label,
      outcome: outcome.kind,
      ...reasonOf(outcome, target),
    });
  }
  return { outcome, waitedMs: targets.clock.monotonic() - startedMs, changes: sent.changes };
}

/** One call of a candidate: how it is reached, what ends it, what is noted of it, and what it holds. */
interface Calling {
  readonly target: UpstreamTarget;
  readonly call: CallScope;
  readonly sent: Sent;
  readonly memory: HeldMemory | null;
  /** The request is sent once more, because its connection was stale. */
  readonly onResend: () => void;
}

async function callOnce(
  targets: TargetResolver,
  candidate: Candidate,
  ask: CompletionRequest,
  { target, call, sent, memory, onResend }: Calling,
): Promise<Outcome> {
  const sentAtMs = targets.clock.monotonic();
  let firstByteMs = 0;
  let response: UpstreamResponse | null = null;
  try {
    const exchange = await target.dialect.encode(ask, destinationOf(target, candidate));
    sent.changes = exchange.changes;
    response = await callUpstream(target.request(exchange.request), call, onResend);
    firstByteMs = targets.clock.monotonic() - sentAtMs;
    if (response.status < 200 || response.status > 299) return await refusedBy(targets, target, response);
    const isStream = isStreamOf(exchange, response);
    call.responded({ isStream });
    const streamed = { exchange, target, response, choices: ask.choices, memory };
    const spoken = isStream
      ? await (ask.stream ? firstOfStream : foldedStream)(targets, call, streamed)
      : await wholeOf(targets, exchange, target, response, memory);
    if ('outcome' in spoken) return { ...spoken.outcome, ...statusIfNone(spoken.outcome, response.status) };
    call.answered();
    const { status } = response;
    return {
      kind: 'answered',
      answer: new OpenResponse({
        candidate,
        sentAtMs,
        status,
        firstByteMs,
        ...spoken,
        target,
        call,
      }),
    };
  } catch (error) {
    return failureOf(error, call, response?.status ?? null);
  }
}

/** Adds the upstream's own sentence. */
function withClientMessage(outcome: Outcome, target: UpstreamTarget): Outcome {
  if (outcome.kind !== 'refused' || outcome.reason === unreadable) return outcome;
  return { ...outcome, clientMessage: target.clientMessage(outcome.reason) };
}

/** The answer of a candidate, with what it holds until it is released. */
class OpenResponse implements CandidateResponse {
  readonly candidate: Candidate;
  readonly sentAtMs: number;
  readonly status: number;
  readonly firstByteMs: number;
  first: readonly AnswerChunk[];
  readonly rest: ChunkSource | null;
  readonly #target: UpstreamTarget;
  readonly #call: CallScope;
  #isReleased = false;

  constructor(
    of: Omit<CandidateResponse, 'release'> & { readonly target: UpstreamTarget; readonly call: CallScope },
  ) {
    this.candidate = of.candidate;
    this.sentAtMs = of.sentAtMs;
    this.status = of.status;
    this.firstByteMs = of.firstByteMs;
    this.first = of.first;
    this.rest = of.rest;
    this.#target = of.target;
    this.#call = of.call;
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#call.end();
    this.#target.release('served');
  }
}

function destinationOf({ model }: UpstreamTarget, candidate: Candidate): Destination {
  const {
    modelId,
    variant,
    overrides,
    supportedParameters,
    maxCompletionTokens: most,
    contextLength,
  } = candidate;
  const maxCompletionTokens = most < contextLength ? most : null;
  return { model, modelId, variant, overrides, supportedParameters, maxCompletionTokens };
}

/** `status` is that of the head, null when there was none: whoever began to answer has said what it is. */
function failureOf(error: unknown, call: CallScope, status: number | null): Outcome {
  if (error instanceof UnsupportedRequest) return { kind: 'unsupported', reason: error.message };
  const expired = call.expired ?? (error instanceof UpstreamStreamError ? error.expired : null);
  if (expired !== null) return { kind: 'timed_out', reason: `no answer in time (${expired.kind})`, expired };
  if (error instanceof UpstreamStreamError && error.status !== null)
    return { kind: 'refused', status: error.status, reason: error.message };
  if (error instanceof Unreachable || error instanceof UpstreamStreamError)
    return { kind: 'unreachable', status, reason: describeCause(error) };
  return { kind: 'unreachable', status, reason: describeError(error) };
}

async function refusedBy(
  targets: TargetResolver,
  target: UpstreamTarget,
  response: UpstreamResponse,
): Promise<Outcome> {
  const late = targets.clock.after(errorBodyMs, () => response.body.cancel(new Error('slow error body')));
  let message = '';
  try {
    message = target.dialect.parseErrorMessage(
      (await collect(response.body, maxErrorBytes)).toString('utf8'),
    );
  } catch {
    message = unreadable;
  } finally {
    late.cancel();
  }
  const retryAfterMs = retryAfterOf(response.headers, targets.clock.now());
  return { kind: 'refused', status: response.status, reason: message, retryAfterMs };
}

type FirstChunks =
  | { readonly first: readonly AnswerChunk[]; readonly rest: ChunkSource | null }
  | { readonly outcome: Outcome };

const isEmpty: FirstChunks = {
  outcome: { kind: 'refused', status: null, reason: 'the stream ended before it said anything' },
};

/** A response that streams, and what it answers. */
interface StreamedResponse {
  readonly exchange: UpstreamCodec;
  readonly target: UpstreamTarget;
  readonly response: UpstreamResponse;
  readonly choices: number;
  readonly memory: HeldMemory | null;
}

/** Reads a stream up to the first chunk that means something. An end before that is a failed candidate. */
async function firstOfStream(
  targets: TargetResolver,
  _call: CallScope,
  streamed: StreamedResponse,
): Promise<FirstChunks> {
  const source = sourceOf(targets, streamed);
  const first: AnswerChunk[] = [];
  for (;;) {
    const chunks = await source.next();
    if (chunks === null) return isEmpty;
    const meaningful = chunks.findIndex(isMeaningful);
    if (first.length + (meaningful === -1 ? chunks.length : meaningful) > maxEmptyChunks)
      source.fail(new UpstreamStreamError('the upstream says nothing, and that at length'));
    for (const chunk of chunks) first.push(chunk);
    if (meaningful !== -1) return { first, rest: source };
  }
}

/** Reads a stream to its end as the whole answer that was asked for. One that breaks off is a failed candidate. */
async function foldedStream(
  targets: TargetResolver,
  call: CallScope,
  streamed: StreamedResponse,
): Promise<FirstChunks> {
  const source = sourceOf(targets, streamed);
  const fold = new ChunkAggregator();
  const totals = new ResponseTotals();
  let empty = 0;
  for (;;) {
    const chunks = await source.nextAfter(totals);
    if (chunks === null) break;
    for (const chunk of chunks) {
      totals.take(chunk);
      fold.take(chunk);
      empty = isMeaningful(chunk) ? 0 : empty + 1;
      if (totals.isTooLong || empty > maxEmptyChunks)
        source.fail(new UpstreamStreamError('the upstream sent too much'));
    }
    streamed.memory?.hold('answer', workingCopies * totals.text.length);
    if (totals.hasContent) call.answered();
  }
  return totals.hasContent || totals.finishReason !== null ? { first: [fold.whole()], rest: null } : isEmpty;
}

function sourceOf(
  targets: TargetResolver,
  { exchange, target, response, choices }: StreamedResponse,
): ChunkSource {
  return new ChunkSource(response.body, {
    exchange,
    answerId: headerOf(response, 'x-amzn-requestid') ?? headerOf(response, 'request-id'),
    clock: targets.clock,
    idleTimeoutMs: targets.streamIdleTimeoutMs,
    choices,
    events: () => target.touch(),
  });
}

async function wholeOf(
  targets: TargetResolver,
  exchange: UpstreamCodec,
  target: UpstreamTarget,
  response: UpstreamResponse,
  memory: HeldMemory | null,
): Promise<FirstChunks> {
  const idle = new Watchdog(targets.clock, targets.streamIdleTimeoutMs, () =>
    response.body.cancel(idleTimeoutError(targets.streamIdleTimeoutMs)),
  );
  try {
    const body = await collect(response.body, maxResponseBytes, (bytes) => {
      idle.pat();
      target.touch();
      memory?.hold('answer', bytes);
    });
    memory?.hold('answer', workingCopies * body.length);
    const events = await exchange.readWhole(body);
    if (events.kind === 'chunk') return { first: [events.chunk], rest: null };
    const status = events.kind === 'error' ? events.status : null;
    return {
      outcome: {
        kind: 'refused',
        status,
        reason: events.kind === 'done' ? 'an empty answer' : events.reason,
      },
    };
  } finally {
    idle.stop();
  }
}

/** Joins a body of at most `most` bytes; cancels and throws beyond that. */
async function collect(
  body: ByteStream,
  most: number,
  holding: (bytes: number) => void = () => {},
): Promise<Buffer> {
  const gathered = new ByteCollector(most);
  for (let taken = await body.next(); taken !== null; taken = await body.next()) {
    for (const piece of taken) gathered.push(piece);
    holding(gathered.heldBytes);
    if (gathered.length > most) {
      const error = new UpstreamStreamError('the upstream sent too much');
      body.cancel(error);
      throw error;
    }
  }
  return gathered.take();
}

/** A candidate that failed inside a successful response has that response's status, unless it named one itself. */
function statusIfNone(outcome: Outcome, status: number): { readonly status?: number } {
  return outcome.kind === 'refused' && outcome.status === null ? { status } : {};
}

function isStreamOf({ streamType }: UpstreamCodec, response: UpstreamResponse): boolean {
  const type = headerOf(response, 'content-type') ?? '';
  return streamType !== null && type.toLowerCase().includes(streamType);
}

function headerOf({ headers }: UpstreamResponse, name: string): string | null {
  const value = headers[name];
  return value === undefined ? null : String(value);
}

function reasonOf(outcome: Outcome, target: UpstreamTarget): object {
  if (outcome.kind === 'refused') {
    const { status, reason, retryAfterMs = null } = outcome;
    return {
      status,
      reason: target.conceal(reason).slice(0, maxLoggedReason),
      ...(retryAfterMs === null ? {} : { retry_after_ms: retryAfterMs }),
    };
  }
  return 'reason' in outcome ? { reason: target.conceal(outcome.reason).slice(0, maxLoggedReason) } : {};
}

function describeCause(error: Error): string {
  const cause =
    error.cause instanceof Error ? ` (${(error.cause as { code?: string }).code ?? error.cause.name})` : '';
  return `${error.message}${cause}`;
}
