import type { Candidate } from '../catalogue/model.ts';
import { describeError } from '../log/log.ts';
import type { ByteStream } from '../upstreams/byte-stream.ts';
import { callUpstream, Unreachable, type UpstreamResponse } from '../upstreams/call.ts';
import type { AnswerChunk, Ask } from '../wire/chat.ts';
import { isMeaningful } from '../wire/chat.ts';
import { CallScope } from './call-scope.ts';
import { ChunkSource } from './chunk-source.ts';
import { type Callers, type Line, openLine } from './line.ts';
import type { AttemptContext, Outcome } from './outcome.ts';
import { UpstreamBroke } from './upstream-broke.ts';
import { Watchdog } from './watchdog.ts';

/** An upstream's error or whole answer is read up to this size. */
const largestErrorBytes = 64 * 1024;
const largestAnswerBytes = 64 * 1024 * 1024;
/** How long an error's body may take: its words are only for the log. */
const errorBodyMs = 2_000;

type Tried = { readonly outcome: Outcome; readonly waitedMs: number };

/**
 * Tries one candidate until it has said something. Throws only when the client has left. `waitedMs` is what counts against the
 * request's budget: waiting in the queue of an own slot does not (service.md §8, concurrency).
 */
export async function tryCandidate(
  callers: Callers,
  candidate: Candidate,
  ask: Ask,
  context: AttemptContext & { readonly budgetMs: number },
): Promise<Tried> {
  const line = await openLine(callers, candidate, context);
  if (line.kind === 'loading')
    return { outcome: { kind: 'loading', retryAfterSec: line.retryAfterSec }, waitedMs: 0 };
  const startedMs = callers.clock.monotonic();
  const call = new CallScope(
    callers.clock,
    { firstByteMs: Math.min(context.budgetMs, line.firstByteMs), totalMs: callers.totalTimeoutMs },
    context.signal,
    line.lost,
  );
  const outcome = await callOnce(callers, candidate, ask, line, call);
  if (outcome.kind !== 'answered') {
    call.end();
    line.release(outcome.kind === 'unreachable' ? 'unreachable' : 'served');
    callers.log.info('attempt_failed', {
      candidate: candidate.label,
      outcome: outcome.kind,
      ...reasonOf(outcome, line),
    });
    if (context.signal.aborted) throw context.signal.reason;
  }
  return { outcome, waitedMs: callers.clock.monotonic() - startedMs };
}

async function callOnce(
  callers: Callers,
  candidate: Candidate,
  ask: Ask,
  line: Line,
  call: CallScope,
): Promise<Outcome> {
  const askedMs = callers.clock.monotonic();
  const written = line.dialect.write(ask, {
    model: line.model,
    supportedParameters: candidate.supportedParameters,
  });
  try {
    const response = await callUpstream(
      line.request(written.path, JSON.stringify(written.body)),
      call.signal,
    );
    if (response.status < 200 || response.status > 299) return await refusedBy(callers, line, response, call);
    const spoken =
      isEventStream(response) && ask.stream
        ? await firstOfStream(callers, ask, line, response)
        : await wholeOf(callers, ask, line, response);
    if ('outcome' in spoken) return { ...spoken.outcome, ...statusIfNone(spoken.outcome, response.status) };
    call.answered();
    let released = false;
    const release = (): void => {
      if (released) return;
      released = true;
      call.end();
      line.release('served');
    };
    return { kind: 'answered', answer: { candidate, askedMs, ...spoken, release } };
  } catch (error) {
    return failureOf(error, call);
  }
}

function failureOf(error: unknown, call: CallScope): Outcome {
  if (call.timedOut || (error instanceof UpstreamBroke && error.timedOut))
    return { kind: 'timed_out', reason: 'no answer in time' };
  if (error instanceof UpstreamBroke && error.status !== null)
    return { kind: 'refused', status: error.status, reason: error.message };
  if (error instanceof Unreachable || error instanceof UpstreamBroke)
    return { kind: 'unreachable', reason: describeCause(error) };
  return { kind: 'unreachable', reason: describeError(error) };
}

async function refusedBy(
  callers: Callers,
  line: Line,
  response: UpstreamResponse,
  call: CallScope,
): Promise<Outcome> {
  const late = callers.clock.after(errorBodyMs, () => response.body.cancel(new Error('slow error body')));
  let words = '';
  try {
    words = line.dialect.readReason((await collect(response.body, largestErrorBytes)).toString('utf8'));
  } catch {
    words = 'an error without a readable body';
  } finally {
    late.cancel();
  }
  if (call.timedOut) return { kind: 'timed_out', reason: 'no answer in time' };
  return { kind: 'refused', status: response.status, reason: words };
}

type Spoken =
  | { readonly first: readonly AnswerChunk[]; readonly rest: ChunkSource | null }
  | { readonly outcome: Outcome };

/** Reads a stream up to the first chunk that means something. An end before that is a failed candidate. */
async function firstOfStream(
  callers: Callers,
  ask: Ask,
  line: Line,
  response: UpstreamResponse,
): Promise<Spoken> {
  const source = new ChunkSource(response.body, {
    dialect: line.dialect,
    kind: ask.kind,
    clock: callers.clock,
    idleTimeoutMs: callers.streamIdleTimeoutMs,
    heard: () => line.heard(),
  });
  const first: AnswerChunk[] = [];
  for (;;) {
    const chunks = await source.next();
    if (chunks === null)
      return {
        outcome: { kind: 'refused', status: null, reason: 'the stream ended before it said anything' },
      };
    first.push(...chunks);
    if (chunks.some(isMeaningful)) return { first, rest: source };
  }
}

async function wholeOf(callers: Callers, ask: Ask, line: Line, response: UpstreamResponse): Promise<Spoken> {
  if (isEncoded(response))
    return {
      outcome: { kind: 'refused', status: null, reason: 'the answer has an encoding that was not asked for' },
    };
  const idle = new Watchdog(callers.clock, callers.streamIdleTimeoutMs, () =>
    response.body.cancel(new UpstreamBroke('the upstream fell silent', { timedOut: true })),
  );
  try {
    const body = await collect(response.body, largestAnswerBytes, () => {
      idle.pat();
      line.heard();
    });
    const heard = line.dialect.readWhole(ask.kind, body.toString('utf8'));
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
async function collect(body: ByteStream, most: number, onBytes: () => void = () => {}): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for (let taken = await body.next(); taken !== null; taken = await body.next()) {
    onBytes();
    for (const piece of taken) bytes += piece.length;
    pieces.push(...taken);
    if (bytes > most) {
      const error = new UpstreamBroke('the upstream sent too much');
      body.cancel(error);
      throw error;
    }
  }
  return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces, bytes);
}

/** A candidate that failed inside a successful response has that response's status, unless it named one itself. */
function statusIfNone(outcome: Outcome, status: number): { readonly status?: number } {
  return outcome.kind === 'refused' && outcome.status === null ? { status } : {};
}

function isEventStream(response: UpstreamResponse): boolean {
  return (
    String(response.headers['content-type'] ?? '')
      .toLowerCase()
      .includes('text/event-stream') && !isEncoded(response)
  );
}

function isEncoded(response: UpstreamResponse): boolean {
  const encoding = String(response.headers['content-encoding'] ?? 'identity').toLowerCase();
  return encoding !== 'identity' && encoding !== '';
}

function reasonOf(outcome: Outcome, line: Line): { status?: number | null; reason?: string } {
  if (outcome.kind === 'refused') return { status: outcome.status, reason: line.conceal(outcome.reason) };
  return 'reason' in outcome ? { reason: line.conceal(outcome.reason) } : {};
}

function describeCause(error: Error): string {
  const cause =
    error.cause instanceof Error ? ` (${(error.cause as { code?: string }).code ?? error.cause.name})` : '';
  return `${error.message}${cause}`;
}
