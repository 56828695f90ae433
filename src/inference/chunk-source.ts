import type { DecodedEvent, StreamDecoder, UpstreamCodec } from '../dialects/dialect.ts';
import { RequestAborted } from '../errors/request-aborted.ts';
import type { ResponseTotals } from '../metering/response-totals.ts';
import type { Clock } from '../time/clock.ts';
import type { ByteStream } from '../upstreams/byte-stream.ts';
import { failureIn, isMeaningful, type ResponseChunk } from '../wire/chat.ts';
import { nextOf, type Receiver } from '../wire/receiver.ts';
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
export class ChunkSource implements Receiver<readonly DecodedEvent[]> {
  readonly #body: ByteStream;
  readonly #decoder: StreamDecoder;
  readonly #clock: Clock;
  readonly #idle: Watchdog;
  readonly #onActivity: () => void;
  readonly #memory: RequestMemory | null;
  readonly #choices: number;
  /** Of the last read. */
  #receiver: Receiver<readonly ResponseChunk[]> | null = null;
  #totals: ResponseTotals | null = null;
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
    this.#decoder = options.codec.readStream({ read: (reader) => this.#read(reader) }, options.responseId);
    this.#onActivity = options.onActivity;
    this.#memory = options.memory;
    this.#choices = options.choices;
    this.#keepsAll = options.keepsAll;
    // Closures that live as long as the stream hold no `options`: the request is in its codec.
    const { idleTimeoutMs } = options;
    this.#idle = new Watchdog(options.clock, idleTimeoutMs, () => {
      // While a slow client holds the upstream back, its silence is not its own.
      if (body.isAwaited) body.cancel(idleTimeoutError(idleTimeoutMs));
    });
  }

  /**
   * The bytes of the chunks that the reader keeps, of those returned so far, at most. A read that continues behind the first meaningful chunk adds nothing for the rest.
   */
  get keptLength(): number {
    return this.#keptLength;
  }

  /**
   * The next chunks, none when only a comment arrived; null at the end. Rejects with
   * `UpstreamStreamError`, or the reason of a cancellation.
   */
  next(totals: ResponseTotals | null = null): Promise<readonly ResponseChunk[] | null> {
    return nextOf({ read: (receiver) => this.read(receiver, totals) });
  }

  /**
   * Reads the chunks that follow those in `totals`. A response is complete when every choice of the
   * request has finished: then an error, a broken connection or a silence ends it. Before that, and
   * without `totals`, they fail it. A stream that ends by itself is complete when every choice that
   * began has finished.
   */
  read(receiver: Receiver<readonly ResponseChunk[]>, totals: ResponseTotals | null): void {
    this.#receiver = receiver;
    this.#totals = totals;
    if (this.#failure !== null) return void this.fail(this.#failure);
    if (this.#done || this.#ended) return void this.#end();
    if (this.#grace === null && totals?.hasUsageAtEnd === true && totals.hasFinished(this.#choices))
      this.#grace = new Watchdog(this.#clock, endGraceMs, () => this.#endGrace());
    this.#decoder.read(this);
  }

  /** Receives the next events. */
  take(events: readonly DecodedEvent[] | null): void {
    this.#onActivity();
    const chunks: ResponseChunk[] = [];
    for (const event of events ?? []) {
      if (this.#done || this.#failure !== null) break;
      this.#readNext(event, chunks);
    }
    if (chunks.length > 0) {
      this.#grace?.pat();
      this.#receiver?.take(chunks);
    } else if (this.#failure !== null) this.fail(this.#failure);
    else if (events === null || this.#done) this.#end();
    else this.#receiver?.take(chunks);
  }

  /** Ends the stream with an error: that of its bytes, or of an event. */
  fail(error: unknown): void {
    const failure = streamErrorOf(error);
    this.#cancel(failure);
    if (failure instanceof UpstreamStreamError && this.#totals?.hasFinished(this.#choices) === true)
      this.#receiver?.take(null);
    else this.#receiver?.fail(failure);
  }

  /** The response is complete without the end of its stream. */
  #endGrace(): void {
    // While a slow client holds the upstream back, its silence is not its own.
    if (this.#body.isAwaited)
      this.#body.cancel(new UpstreamStreamError('the upstream kept the stream open after its end'));
  }

  #end(): void {
    this.close();
    if (this.#totals !== null && !this.#done && !this.#totals.isComplete)
      this.#receiver?.fail(
        new UpstreamStreamError('the upstream ended the stream before the response was complete'),
      );
    else this.#receiver?.take(null);
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

  #read(reader: Receiver<Buffer>): void {
    this.#idle.pat();
    const { heldBytes } = this.#decoder;
    this.#memory?.setBytes('event', heldBytes > uncountedBytes ? heldBytes : 0);
    this.#body.read(reader);
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
  abandon(error: UpstreamStreamError): never {
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
