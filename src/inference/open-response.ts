import type { Candidate } from '../catalogue/model.ts';
import type { ResponseTotals } from '../metering/response-totals.ts';
import type { ResponseChunk } from '../wire/chat.ts';
import type { CallScope } from './call-cancellation.ts';
import type { ChunkSource } from './chunk-source.ts';
import type { UpstreamStreamError } from './stream-error.ts';
import type { UpstreamTarget } from './upstream-target.ts';

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
  readonly #target: UpstreamTarget;
  #isClosed = false;

  constructor(
    { candidate, status, sentAtMs, firstByteMs }: ResponseHead,
    { chunks, source }: ReadResponse,
    { call, target }: { readonly call: CallScope; readonly target: UpstreamTarget },
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

  /**
   * The chunks that follow those in `totals`; null at the end. Rejects as `ChunkSource.nextAfter`
   * does.
   */
  next(totals: ResponseTotals): Promise<readonly ResponseChunk[] | null> {
    return this.#source === null ? Promise.resolve(null) : this.#source.nextAfter(totals);
  }

  /**
   * Ends a stream with an error, and throws it. A response that was read whole has no stream to
   * end.
   */
  fail(error: UpstreamStreamError): void {
    this.#source?.fail(error);
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
