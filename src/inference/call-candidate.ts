import type { Candidate } from '../catalogue/model.ts';
import { type Destination, type Exchange, Unsayable } from '../dialects/dialect.ts';
import type { ParameterChange } from '../dialects/parameter-change.ts';
import { describeError } from '../log/log.ts';
import { Tally } from '../metering/response-totals.ts';
import type { ByteStream } from '../upstreams/byte-stream.ts';
import { callUpstream, Unreachable, type UpstreamResponse } from '../upstreams/call.ts';
import { retryAfterOf } from '../upstreams/cool-down.ts';
import { GatheredBytes } from '../wire/byte-collector.ts';
import type { AnswerChunk, Ask } from '../wire/chat.ts';
import { isMeaningful } from '../wire/chat.ts';
import { Fold } from './aggregate-chunks.ts';
import { type CallLimits, CallScope } from './call-cancellation.ts';
import { ChunkSource } from './chunk-source.ts';
import type { Answer, AttemptContext, Outcome } from './outcome.ts';
import type { HeldMemory } from './request-context.ts';
import { fellSilent, UpstreamBroke } from './stream-error.ts';
import { type Callers, type Line, openLine } from './upstream-target.ts';
import { Watchdog } from './watchdog.ts';

/** An upstream's error or whole answer is read up to this size. */
const largestErrorBytes = 64 * 1024;
const largestAnswerBytes = 64 * 1024 * 1024;
/** A whole answer is there as bytes or text, as what was parsed, and as what is sent to the client. */
const workingCopies = 2;
/** How long an error's body may take: its words are only for the log. */
const errorBodyMs = 2_000;
/** Chunks that say nothing, one after another, of which none follows that does. */
const mostEmptyChunks = 10_000;

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
  callers: Callers,
  candidate: Candidate,
  ask: Ask,
  context: AttemptContext & { readonly limits: CallLimits; readonly onResend: () => void },
): Promise<Tried> {
  const line = await openLine(callers, candidate, context);
  if (line.kind === 'loading')
    return { outcome: { kind: 'loading', retryAfterSec: line.retryAfterSec }, waitedMs: 0, changes: [] };
  if (line.kind === 'gone') return { outcome: gone, waitedMs: 0, changes: [] };
  const startedMs = callers.clock.monotonic();
  // What the configuration says of a provider replaces the default.
  const limits = { ...context.limits, firstByteMs: line.firstByteMs ?? context.limits.firstByteMs };
  const call = new CallScope(callers.clock, limits, context.signal, line.lost);
  const sent: Sent = { changes: [] };
  const onResend = (): void => {
    context.onResend();
    callers.log.info('attempt_resent', { request_id: context.requestId, candidate: candidate.label });
  };
  const { memory } = context;
  const called = await callOnce(callers, candidate, ask, { line, call, sent, memory, onResend });
  const outcome: Outcome =
    called.kind !== 'answered' && context.signal.aborted
      ? { kind: 'cancelled', status: 'status' in called ? called.status : null }
      : withClientMessage(called, line);
  if (outcome.kind !== 'answered') {
    call.end();
    line.release(outcome.kind === 'unreachable' ? 'unreachable' : 'served');
    callers.log.info('attempt_failed', {
      request_id: context.requestId,
      candidate: candidate.label,
      outcome: outcome.kind,
      ...reasonOf(outcome, line),
    });
  }
  return { outcome, waitedMs: callers.clock.monotonic() - startedMs, changes: sent.changes };
}

/** One call of a candidate: how it is reached, what ends it, what is noted of it, and what it holds. */
interface Calling {
  readonly line: Line;
  readonly call: CallScope;
  readonly sent: Sent;
  readonly memory: HeldMemory | null;
  /** The request is sent once more, because its connection was stale. */
  readonly onResend: () => void;
}

async function callOnce(
  callers: Callers,
  candidate: Candidate,
  ask: Ask,
  { line, call, sent, memory, onResend }: Calling,
): Promise<Outcome> {
  const askedMs = callers.clock.monotonic();
  let firstByteMs = 0;
  let response: UpstreamResponse | null = null;
  try {
    const exchange = await line.dialect.begin(ask, destinationOf(line, candidate));
    sent.changes = exchange.changes;
    response = await callUpstream(line.request(exchange.request), call, onResend);
    firstByteMs = callers.clock.monotonic() - askedMs;
    if (response.status < 200 || response.status > 299) return await refusedBy(callers, line, response);
    const isStream = isStreamOf(exchange, response);
    call.responded({ isStream });
    const streamed = { exchange, line, response, choices: ask.choices, memory };
    const spoken = isStream
      ? await (ask.stream ? firstOfStream : foldedStream)(callers, call, streamed)
      : await wholeOf(callers, exchange, line, response, memory);
    if ('outcome' in spoken) return { ...spoken.outcome, ...statusIfNone(spoken.outcome, response.status) };
    call.answered();
    const { status } = response;
    return {
      kind: 'answered',
      answer: new Answered({ candidate, askedMs, status, firstByteMs, ...spoken, line, call }),
    };
  } catch (error) {
    return failureOf(error, call, response?.status ?? null);
  }
}

/** Adds the upstream's own sentence. */
function withClientMessage(outcome: Outcome, line: Line): Outcome {
  if (outcome.kind !== 'refused' || outcome.reason === unreadable) return outcome;
  return { ...outcome, clientMessage: line.clientMessage(outcome.reason) };
}

/** The answer of a candidate, with what it holds until it is released. */
class Answered implements Answer {
  readonly candidate: Candidate;
  readonly askedMs: number;
  readonly status: number;
  readonly firstByteMs: number;
  first: readonly AnswerChunk[];
  readonly rest: ChunkSource | null;
  readonly #line: Line;
  readonly #call: CallScope;
  #isReleased = false;

  constructor(of: Omit<Answer, 'release'> & { readonly line: Line; readonly call: CallScope }) {
    this.candidate = of.candidate;
    this.askedMs = of.askedMs;
    this.status = of.status;
    this.firstByteMs = of.firstByteMs;
    this.first = of.first;
    this.rest = of.rest;
    this.#line = of.line;
    this.#call = of.call;
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#call.end();
    this.#line.release('served');
  }
}

function destinationOf({ model }: Line, candidate: Candidate): Destination {
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
  if (error instanceof Unsayable) return { kind: 'unsayable', reason: error.message };
  const expired = call.expired ?? (error instanceof UpstreamBroke ? error.expired : null);
  if (expired !== null) return { kind: 'timed_out', reason: `no answer in time (${expired.kind})`, expired };
  if (error instanceof UpstreamBroke && error.status !== null)
    return { kind: 'refused', status: error.status, reason: error.message };
  if (error instanceof Unreachable || error instanceof UpstreamBroke)
    return { kind: 'unreachable', status, reason: describeCause(error) };
  return { kind: 'unreachable', status, reason: describeError(error) };
}

async function refusedBy(callers: Callers, line: Line, response: UpstreamResponse): Promise<Outcome> {
  const late = callers.clock.after(errorBodyMs, () => response.body.cancel(new Error('slow error body')));
  let words = '';
  try {
    words = line.dialect.readReason((await collect(response.body, largestErrorBytes)).toString('utf8'));
  } catch {
    words = unreadable;
  } finally {
    late.cancel();
  }
  const retryAfterMs = retryAfterOf(response.headers, callers.clock.now());
  return { kind: 'refused', status: response.status, reason: words, retryAfterMs };
}

type Spoken =
  | { readonly first: readonly AnswerChunk[]; readonly rest: ChunkSource | null }
  | { readonly outcome: Outcome };

const saidNothing: Spoken = {
  outcome: { kind: 'refused', status: null, reason: 'the stream ended before it said anything' },
};

/** A response that streams, and what it answers. */
interface StreamedResponse {
  readonly exchange: Exchange;
  readonly line: Line;
  readonly response: UpstreamResponse;
  readonly choices: number;
  readonly memory: HeldMemory | null;
}

/** Reads a stream up to the first chunk that means something. An end before that is a failed candidate. */
async function firstOfStream(
  callers: Callers,
  _call: CallScope,
  streamed: StreamedResponse,
): Promise<Spoken> {
  const source = sourceOf(callers, streamed);
  const first: AnswerChunk[] = [];
  for (;;) {
    const chunks = await source.next();
    if (chunks === null) return saidNothing;
    const meaningful = chunks.findIndex(isMeaningful);
    if (first.length + (meaningful === -1 ? chunks.length : meaningful) > mostEmptyChunks)
      source.fail(new UpstreamBroke('the upstream says nothing, and that at length'));
    for (const chunk of chunks) first.push(chunk);
    if (meaningful !== -1) return { first, rest: source };
  }
}

/** Reads a stream to its end as the whole answer that was asked for. One that breaks off is a failed candidate. */
async function foldedStream(callers: Callers, call: CallScope, streamed: StreamedResponse): Promise<Spoken> {
  const source = sourceOf(callers, streamed);
  const fold = new Fold();
  const tally = new Tally();
  let empty = 0;
  for (;;) {
    const chunks = await source.nextAfter(tally);
    if (chunks === null) break;
    for (const chunk of chunks) {
      tally.take(chunk);
      fold.take(chunk);
      empty = isMeaningful(chunk) ? 0 : empty + 1;
      if (tally.isTooLong || empty > mostEmptyChunks)
        source.fail(new UpstreamBroke('the upstream sent too much'));
    }
    streamed.memory?.hold('answer', workingCopies * tally.text.length);
    if (tally.spoke) call.answered();
  }
  return tally.spoke || tally.finishReason !== null ? { first: [fold.whole()], rest: null } : saidNothing;
}

function sourceOf(callers: Callers, { exchange, line, response, choices }: StreamedResponse): ChunkSource {
  return new ChunkSource(response.body, {
    exchange,
    answerId: headerOf(response, 'x-amzn-requestid') ?? headerOf(response, 'request-id'),
    clock: callers.clock,
    idleTimeoutMs: callers.streamIdleTimeoutMs,
    choices,
    heard: () => line.heard(),
  });
}

async function wholeOf(
  callers: Callers,
  exchange: Exchange,
  line: Line,
  response: UpstreamResponse,
  memory: HeldMemory | null,
): Promise<Spoken> {
  const idle = new Watchdog(callers.clock, callers.streamIdleTimeoutMs, () =>
    response.body.cancel(fellSilent(callers.streamIdleTimeoutMs)),
  );
  try {
    const body = await collect(response.body, largestAnswerBytes, (bytes) => {
      idle.pat();
      line.heard();
      memory?.hold('answer', bytes);
    });
    memory?.hold('answer', workingCopies * body.length);
    const heard = await exchange.readWhole(body);
    if (heard.kind === 'chunk') return { first: [heard.chunk], rest: null };
    const status = heard.kind === 'error' ? heard.status : null;
    return {
      outcome: { kind: 'refused', status, reason: heard.kind === 'done' ? 'an empty answer' : heard.reason },
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
  const gathered = new GatheredBytes(most);
  for (let taken = await body.next(); taken !== null; taken = await body.next()) {
    for (const piece of taken) gathered.push(piece);
    holding(gathered.heldBytes);
    if (gathered.length > most) {
      const error = new UpstreamBroke('the upstream sent too much');
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

function isStreamOf({ streamType }: Exchange, response: UpstreamResponse): boolean {
  const type = headerOf(response, 'content-type') ?? '';
  return streamType !== null && type.toLowerCase().includes(streamType);
}

function headerOf({ headers }: UpstreamResponse, name: string): string | null {
  const value = headers[name];
  return value === undefined ? null : String(value);
}

function reasonOf(outcome: Outcome, line: Line): object {
  if (outcome.kind === 'refused') {
    const { status, reason, retryAfterMs = null } = outcome;
    return {
      status,
      reason: line.conceal(reason).slice(0, maxLoggedReason),
      ...(retryAfterMs === null ? {} : { retry_after_ms: retryAfterMs }),
    };
  }
  return 'reason' in outcome ? { reason: line.conceal(outcome.reason).slice(0, maxLoggedReason) } : {};
}

function describeCause(error: Error): string {
  const cause =
    error.cause instanceof Error ? ` (${(error.cause as { code?: string }).code ?? error.cause.name})` : '';
  return `${error.message}${cause}`;
}
