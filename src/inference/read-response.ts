import type { Candidate } from '../catalogue/model.ts';
import type { UpstreamCodec } from '../dialects/dialect.ts';
import { parseErrorMessage } from '../dialects/parse-error-message.ts';
import { ClaimBounds } from '../metering/reconcile-usage.ts';
import { ResponseTotals } from '../metering/response-totals.ts';
import type { ByteStream } from '../upstreams/byte-stream.ts';
import type { UpstreamResponse } from '../upstreams/call.ts';
import { statedWaitMs } from '../upstreams/stated-wait.ts';
import { ByteCollector } from '../wire/byte-collector.ts';
import { type CompletionRequest, failureIn, isMeaningful, type ResponseChunk } from '../wire/chat.ts';
import type { RequestMemory } from '../wire/request-context.ts';
import { ChunkAggregator } from './aggregate-chunks.ts';
import { ChunkSource } from './chunk-source.ts';
import type { Outcome, ReadResponse } from './outcome.ts';
import { type CallScope, idleTimeoutError, UpstreamStreamError, Watchdog } from './time-limits.ts';
import type { TargetResolver, UpstreamTarget } from './upstream-target.ts';

/** The body of an error, and of a whole response, is read up to this size. */
const maxErrorBytes = 64 * 1024;
/** The events of a stream that are kept have the same limit: no more UTF-16 units than bytes. */
const maxResponseBytes = 64 * 1024 * 1024;
/**
 * A whole response is held as bytes or text, as what was parsed, and as what is sent to the client.
 */
const workingCopies = 2;
/** How long the body of an error may take: its message is only for the log. */
export const errorBodyMs = 2_000;
/** Empty chunks in a row after which a stream is a failed one. */
const maxEmptyChunks = 10_000;
/** Events before the first content up to this length are not counted as held memory. */
const uncountedLength = 65_536;

/** The reason of an error whose body broke off, was slow or was too large. */
export const unreadableError = 'an error without a readable body';

/** A successful response, and what reading it needs. */
export interface UnreadResponse {
  readonly response: UpstreamResponse;
  readonly codec: UpstreamCodec;
  readonly candidate: Candidate;
  readonly target: UpstreamTarget;
  readonly call: CallScope;
  readonly request: CompletionRequest;
  readonly memory: RequestMemory | null;
}

type Refused = Outcome & { readonly kind: 'refused' };

/** The response, or how its candidate failed. */
export type ReadResult = ReadResponse | { readonly failure: Refused };

/**
 * Reads a response until the client may be sent something: all of it for a request that does not
 * stream. An end before that is a failed candidate.
 */
export function readResponse(targets: TargetResolver, unread: UnreadResponse): Promise<ReadResult> {
  const { response, codec, call, request } = unread;
  const isStream = isStreamed(codec, response);
  call.responded({ isStream });
  if (!isStream) return readWhole(targets, unread);
  const source = openSource(targets, unread);
  return request.stream ? readFirstChunks(source, unread) : readAllChunks(source, unread);
}

/** The body of an error. */
export interface ErrorBody {
  readonly reason: string;
  /** The wait that it states, in milliseconds; null when it states none. */
  readonly waitMs: number | null;
}

/** Reads the message of an error response. */
export async function readErrorMessage(
  targets: TargetResolver,
  { body }: UpstreamResponse,
): Promise<ErrorBody> {
  const timer = targets.clock.after(errorBodyMs, () => body.cancel(new Error('slow error body')));
  try {
    const held = new ByteCollector(maxErrorBytes);
    for (let bytes = await body.next(); bytes !== null; bytes = await body.next())
      take(body, held, bytes, maxErrorBytes);
    const text = held.take().toString('utf8');
    return { reason: parseErrorMessage(text), waitMs: statedWaitMs(text) };
  } catch {
    return { reason: unreadableError, waitMs: null };
  } finally {
    timer.cancel();
  }
}

/** Reads a stream up to its first meaningful chunk. */
async function readFirstChunks(
  source: ChunkSource,
  { memory }: Pick<UnreadResponse, 'memory'>,
): Promise<ReadResult> {
  const read: ResponseChunk[] = [];
  for (;;) {
    const chunks = await source.next();
    if (chunks === null) return emptyStream();
    const meaningful = chunks.findIndex(isMeaningful);
    if (read.length + (meaningful === -1 ? chunks.length : meaningful) > maxEmptyChunks)
      source.abandon(new UpstreamStreamError(`the upstream sent more than ${maxEmptyChunks} empty chunks`));
    if (source.keptLength > maxResponseBytes) source.abandon(tooLarge());
    for (const chunk of chunks) read.push(chunk);
    if (source.keptLength > uncountedLength) memory?.setBytes('answer', source.keptLength);
    if (meaningful !== -1) return { chunks: read, source };
  }
}

/** Reads a stream to its end, for a client that did not request one. */
async function readAllChunks(
  source: ChunkSource,
  { call, candidate, request, memory }: UnreadResponse,
): Promise<ReadResult> {
  const aggregator = new ChunkAggregator();
  const totals = new ResponseTotals(new ClaimBounds(request, candidate), null);
  let empty = 0;
  for (;;) {
    const chunks = await source.next(totals);
    if (chunks === null) break;
    for (const chunk of chunks) {
      totals.take(chunk);
      aggregator.take(chunk);
      empty = isMeaningful(chunk) ? 0 : empty + 1;
      if (totals.isTooLong || aggregator.isTooLarge || empty > maxEmptyChunks) source.abandon(tooLarge());
    }
    if (source.keptLength > maxResponseBytes) source.abandon(tooLarge());
    memory?.setBytes('answer', workingCopies * source.keptLength);
    if (totals.hasContent) call.contentArrived();
  }
  if (!totals.hasContent && totals.finishReason === null) return emptyStream();
  return { chunks: [aggregator.whole(totals.claim)], source: null };
}

async function readWhole(
  targets: TargetResolver,
  { response, codec, target, memory }: UnreadResponse,
): Promise<ReadResult> {
  const { streamIdleTimeoutMs } = targets.limits();
  const idle = new Watchdog(targets.clock, streamIdleTimeoutMs, () =>
    response.body.cancel(idleTimeoutError(streamIdleTimeoutMs)),
  );
  try {
    const held = new ByteCollector(maxResponseBytes);
    for (let bytes = await response.body.next(); bytes !== null; bytes = await response.body.next()) {
      take(response.body, held, bytes, maxResponseBytes);
      idle.pat();
      target.touch();
      memory?.setBytes('answer', held.heldBytes);
    }
    const body = held.take();
    memory?.setBytes('answer', workingCopies * body.length);
    const reading = codec.readWhole(body);
    const event = reading instanceof Promise ? await reading : reading;
    if (event.kind === 'chunk') {
      const failure = failureIn(event.chunk);
      return failure === null ? { chunks: [event.chunk], source: null } : failed(failure);
    }
    if (event.kind === 'done') return failed('an empty response');
    return failed(event.reason, event.kind === 'error' ? event.status : null);
  } finally {
    idle.stop();
  }
}

function openSource(
  targets: TargetResolver,
  { response, codec, target, request, memory }: UnreadResponse,
): ChunkSource {
  return new ChunkSource(response.body, {
    codec,
    responseId: headerOf(response, 'x-amzn-requestid') ?? headerOf(response, 'request-id'),
    clock: targets.clock,
    idleTimeoutMs: targets.limits().streamIdleTimeoutMs,
    choices: request.choices,
    keepsAll: !request.stream,
    onActivity: () => target.touch(),
    memory,
  });
}

/** Adds what arrived of a body; cancels it and throws beyond `maxBytes` bytes. */
function take(body: ByteStream, held: ByteCollector, bytes: Buffer, maxBytes: number): void {
  held.push(bytes);
  if (held.length <= maxBytes) return;
  const error = tooLarge();
  body.cancel(error);
  throw error;
}

function tooLarge(): UpstreamStreamError {
  return new UpstreamStreamError('the upstream sent too much');
}

function emptyStream(): ReadResult {
  return failed('the stream ended without content');
}

function failed(reason: string, status: number | null = null): ReadResult {
  return { failure: { kind: 'refused', status, reason } };
}

function isStreamed({ streamType }: UpstreamCodec, response: UpstreamResponse): boolean {
  const type = headerOf(response, 'content-type') ?? '';
  return streamType !== null && type.toLowerCase().includes(streamType);
}

function headerOf({ headers }: UpstreamResponse, name: string): string | null {
  const value = headers[name];
  return value === undefined ? null : String(value);
}
