import type { Candidate } from '../catalogue/model.ts';
import type { AttemptRecord } from '../generations/generation.ts';
import type { ResponseTotals } from '../metering/response-totals.ts';
import type { ResponseChunk } from '../wire/chat.ts';
import type { Receiver } from '../wire/receiver.ts';
import type { RequestContext } from '../wire/request-context.ts';
import type { ChunkSource } from './chunk-source.ts';
import type { CallScope, ExpiredLimit, UpstreamStreamError } from './time-limits.ts';
import type { CallTrace } from './tracing/call-trace.ts';

/**
 * How the call of one candidate ended. A failure is a value: the chain goes on to the next
 * candidate.
 */
export type Outcome =
  | { readonly kind: 'responded'; readonly response: OpenResponse }
  | {
      readonly kind: 'refused';
      readonly status: number | null;
      readonly reason: string;
      /** Its Retry-After in milliseconds; null or absent: none. */
      readonly retryAfterMs?: number | null;
      /** Its own message, fit for the client (`clientMessage`); null or absent: none. */
      readonly clientMessage?: string | null;
    }
  /** Its dialect cannot express the request, so nothing was sent. */
  | { readonly kind: 'unsupported'; readonly reason: string }
  /**
   * Not connected, or the connection broke; `status` is that of the response's head, if there was
   * one.
   */
  | { readonly kind: 'unreachable'; readonly status: number | null; readonly reason: string }
  | { readonly kind: 'timed_out'; readonly reason: string; readonly expired: ExpiredLimit }
  /**
   * The client left, or the server stopped, during the call; `status` is that of the response's
   * head, if there was one.
   */
  | { readonly kind: 'cancelled'; readonly status: number | null }
  | { readonly kind: 'loading'; readonly retryAfterSec: number }
  /** The engine of its slot does not start or crashes: nothing was sent. */
  | { readonly kind: 'engine_failed'; readonly reason: string };

/** The request for which a chain of candidates is tried. */
export interface AttemptContext extends CallOrigin {
  /** `attempt` notes which candidate it calls, and how that ended. */
  calling(candidate: Candidate): void;
  tried(record: AttemptRecord): void;
}

/** The request for which one candidate is called. */
export interface CallOrigin {
  readonly accountId: number;
  readonly exchange: Pick<RequestContext, 'requestId' | 'startedMs' | 'signal' | 'memory'>;
  /** Null: calls are not traced. */
  readonly trace: CallTrace | null;
  /** One record for each candidate that was tried before. */
  readonly attempts: readonly AttemptRecord[];
}

/**
 * The chunks of a response that were read until the client may be sent something, and the source of
 * the others.
 */
export interface ReadResponse {
  /** All chunks, or those up to the first meaningful one. */
  readonly chunks: readonly ResponseChunk[];
  /** Null when all were read. */
  readonly source: ChunkSource | null;
}

/** How a candidate responded. */
interface ResponseHead {
  readonly candidate: Candidate;
  /** The HTTP status. */
  readonly status: number;
  /** Monotonic instant at which the request was sent, after any wait for a slot. */
  readonly sentAtMs: number;
  /** Milliseconds from sending the request to the first byte of the response. */
  readonly firstByteMs: number;
}

/** A provider or engine: its use ends with the response. */
interface ReleasedTarget {
  clientMessage(message: string): string | null;
  release(outcome: 'served'): void;
}

/** The response of a candidate, and the call and target that it occupies until it is closed. */
export class OpenResponse implements ResponseHead {
  readonly candidate: Candidate;
  readonly status: number;
  readonly sentAtMs: number;
  readonly firstByteMs: number;
  readonly systemFingerprint: string | null;
  readonly serviceTier: string | null;
  #chunks: readonly ResponseChunk[];
  readonly #source: ChunkSource | null;
  readonly #call: CallScope;
  readonly #target: ReleasedTarget;
  #isClosed = false;

  constructor(
    { candidate, status, sentAtMs, firstByteMs }: ResponseHead,
    { chunks, source }: ReadResponse,
    { call, target }: { readonly call: CallScope; readonly target: ReleasedTarget },
  ) {
    this.candidate = candidate;
    this.status = status;
    this.sentAtMs = sentAtMs;
    this.firstByteMs = firstByteMs;
    this.systemFingerprint = chunks[0]?.systemFingerprint ?? null;
    this.serviceTier = chunks[0]?.serviceTier ?? null;
    this.#chunks = chunks;
    this.#source = source;
    this.#call = call;
    this.#target = target;
  }

  /** Whether more chunks may follow those that `take` returns. */
  get isStream(): boolean {
    return this.#source !== null;
  }

  /** The chunks read so far, once: a response that streams for minutes keeps none of them. */
  take(): readonly ResponseChunk[] {
    const chunks = this.#chunks;
    this.#chunks = [];
    return chunks;
  }

  /** Reads the chunks that follow those in `totals`, as `ChunkSource.read` does. */
  read(receiver: Receiver<readonly ResponseChunk[]>, totals: ResponseTotals): void {
    if (this.#source === null) receiver.take(null);
    else this.#source.read(receiver, totals);
  }

  /**
   * Ends a stream with an error, and throws it. A response that was read whole has no stream to
   * end.
   */
  fail(error: UpstreamStreamError): void {
    this.#source?.abandon(error);
  }

  /** What the upstream itself said about an error of its stream, fit for the client; null: nothing. */
  messageOf({ status, message }: UpstreamStreamError): string | null {
    return status === null ? null : this.#target.clientMessage(message);
  }

  /** Ends the call, and releases its connection or slot. Any further call does nothing. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#source?.close();
    this.#call.end();
    this.#target.release('served');
  }
}
