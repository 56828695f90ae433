import type { DecodedEvent, StreamDecoder, UpstreamCodec } from '../dialects/dialect.ts';
import { RequestAborted } from '../errors/request-aborted.ts';
import type { ResponseTotals } from '../metering/response-totals.ts';
import type { Clock } from '../time/clock.ts';
import type { ByteStream } from '../upstreams/byte-stream.ts';
import { failureIn, isMeaningful, type ResponseChunk } from '../wire/chat.ts';
import type { RequestMemory } from '../wire/request-context.ts';
import { idleTimeoutError, UpstreamStreamError, Watchdog } from './time-limits.ts';

/** How long an upstream may keep its connection open after the end of its stream. */
const closingMs = 1_000;
/** How long a complete response with usage waits for `[DONE]` or the end of the stream. */
const endGraceMs = 1_000;
/** What a kept piece of text takes beside its characters. */
const bytesPerChunk = 32;
/** An event without its end up to this size is not counted as held memory. */
const uncountedBytes = 65_536;

/**
 * The chunks of a streamed response, in the groups in which they arrive. The result depends only on
 * the sequence of the upstream's events, never on their grouping
 * (docs/decisions/stream-completion.md): chunks before an error are returned before it is thrown,
 * also when one read contained both.
 */
export class ChunkSource {
  readonly #body: ByteStream;
  readonly #decoder: StreamDecoder;
  readonly #clock: Clock;
  readonly #idle: Watchdog;
  readonly #onActivity: () => void;
  readonly #memory: RequestMemory | null;
  readonly #choices: number;
  #isKeeping = true;
  readonly #keepsAll: boolean;
  #keptLength = 0;
  #done = false;
  #ended = false;
  /** An error that followed the chunks that were returned last. */
  #failure: UpstreamStreamError | null = null;
  /** Set while a complete response waits for the end of its stream. */
  #grace: Watchdog | null = null;

  constructor(
    body: ByteStream,
    options: {
      readonly codec: UpstreamCodec;
      /** The response's id in its headers, should the stream have none. */
      readonly responseId: string | null;
      readonly clock: Clock;
      readonly idleTimeoutMs: number;
      /** The number of requested choices. */
      readonly choices: number;
      /** Whether the reader keeps all chunks, or only those up to the first meaningful one. */
      readonly keepsAll: boolean;
      /** Called when something arrived. */
      readonly onActivity: () => void;
      /** The memory of the request: an event without its end counts. */
      readonly memory: RequestMemory | null;
    },
  ) {
    this.#body = body;
    this.#clock = options.clock;
    this.#decoder = options.codec.readStream({ next: () => this.#read() }, options.responseId);
    this.#onActivity = options.onActivity;
    this.#memory = options.memory;
    this.#choices = options.choices;
    this.#keepsAll = options.keepsAll;
    this.#idle = new Watchdog(options.clock, options.idleTimeoutMs, () => {
      // While a slow client holds the upstream back, its silence is not its own.
      if (body.isAwaited) body.cancel(idleTimeoutError(options.idleTimeoutMs));
    });
  }

  /**
   * The bytes of the chunks that the reader keeps, of those returned so far, at most. A read that continues behind the first meaningful chunk adds nothing for the rest.
   */
  get keptLength(): number {
    return this.#keptLength;
  }

  /**
   * The next chunks, none when only a comment arrived; null at the end. Throws
   * `UpstreamStreamError`, or the reason of a cancellation.
   */
  next(): Promise<readonly ResponseChunk[] | null> {
    return this.#next(null);
  }

  /**
   * The chunks that follow those in `totals`; null at the end. A response is complete when every
   * choice of the request has finished: then an error, a broken connection or a silence ends it.
   * Before that they fail it. A stream that ends by itself is complete when every choice that began
   * has finished.
   */
  nextAfter(totals: ResponseTotals): Promise<readonly ResponseChunk[] | null> {
    return this.#next(totals);
  }

  /**
   * Not an `async` function: a suspended one takes four times the memory, and one waits in each of
   * thousands of silent streams.
   */
  #next(totals: ResponseTotals | null): Promise<readonly ResponseChunk[] | null> {
    const failure = this.#failure;
    if (failure !== null) return Promise.try(() => this.#fail(failure, totals));
    if (this.#done || this.#ended) return Promise.try(() => this.#end(totals));
    if (this.#grace === null && totals?.hasUsageAtEnd === true && totals.hasFinished(this.#choices))
      this.#grace = new Watchdog(this.#clock, endGraceMs, () => this.#endGrace());
    return this.#decoder.next().then(
      (events) => this.#take(events, totals),
      (error: unknown) => this.#fail(error, totals),
    );
  }

  #take(
    events: readonly DecodedEvent[] | null,
    totals: ResponseTotals | null,
  ): readonly ResponseChunk[] | null {
    this.#onActivity();
    const chunks: ResponseChunk[] = [];
    for (const event of events ?? []) {
      if (this.#done || this.#failure !== null) break;
      this.#readNext(event, chunks);
    }
    if (chunks.length > 0) {
      this.#grace?.pat();
      return chunks;
    }
    if (this.#failure !== null) return this.#fail(this.#failure, totals);
    return events === null || this.#done ? this.#end(totals) : chunks;
  }

  /** The response is complete without the end of its stream. */
  #endGrace(): void {
    // While a slow client holds the upstream back, its silence is not its own.
    if (this.#body.isAwaited)
      this.#body.cancel(new UpstreamStreamError('the upstream kept the stream open after its end'));
  }

  #end(totals: ResponseTotals | null): null {
    this.close();
    if (totals !== null && !this.#done && !totals.isComplete)
      throw new UpstreamStreamError('the upstream ended the stream before the response was complete');
    return null;
  }

  #fail(error: unknown, totals: ResponseTotals | null): null {
    const failure = streamErrorOf(error);
    this.#cancel(failure);
    if (failure instanceof UpstreamStreamError && totals?.hasFinished(this.#choices)) return null;
    throw failure;
  }

  /** Stops the silence limit, and closes the connection if the upstream does not. */
  close(): void {
    this.#idle.stop();
    this.#grace?.stop();
    this.#memory?.setBytes('event', 0);
    if (this.#ended) return;
    this.#ended = true;
    const timer = this.#clock.after(closingMs, () =>
      this.#body.cancel(new Error('the upstream kept its connection open after the end of its stream')),
    );
    this.#body.whenOver(() => timer.cancel());
  }

  #read(): Promise<readonly Buffer[] | null> {
    this.#idle.pat();
    const { heldBytes } = this.#decoder;
    this.#memory?.setBytes('event', heldBytes > uncountedBytes ? heldBytes : 0);
    return this.#body.next();
  }

  #readNext(event: DecodedEvent, chunks: ResponseChunk[]): void {
    switch (event.kind) {
      case 'chunk': {
        const failure = failureIn(event.chunk);
        if (failure !== null) {
          this.#failure = new UpstreamStreamError(failure);
          return;
        }
        chunks.push(event.chunk);
        if (!this.#isKeeping) return;
        this.#keptLength += event.keptLength + bytesPerChunk;
        this.#isKeeping = this.#keepsAll || !isMeaningful(event.chunk);
        return;
      }
      case 'done':
        this.#done = true;
        return;
      case 'error':
        this.#failure = new UpstreamStreamError(event.reason, { status: event.status });
        return;
      case 'malformed':
        this.#failure = new UpstreamStreamError(`the upstream sent ${event.reason}`);
    }
  }

  /** Cancels the call, and throws the error. */
  fail(error: UpstreamStreamError): never {
    this.#cancel(error);
    throw error;
  }

  #cancel(error: UpstreamStreamError | RequestAborted): void {
    this.#idle.stop();
    this.#grace?.stop();
    this.#ended = true;
    this.#memory?.setBytes('event', 0);
    this.#body.cancel(error);
  }
}

function streamErrorOf(error: unknown): UpstreamStreamError | RequestAborted {
  if (error instanceof UpstreamStreamError || error instanceof RequestAborted) return error;
  if (error instanceof RangeError) return new UpstreamStreamError('an event of the upstream is too long');
  return new UpstreamStreamError(`the upstream's connection broke: ${String(error)}`);
}
