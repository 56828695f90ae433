import type { DecodedEvent, StreamDecoder, UpstreamCodec } from '../dialects/dialect.ts';
import { RequestAborted } from '../errors/request-aborted.ts';
import type { ResponseTotals } from '../metering/response-totals.ts';
import type { Clock } from '../time/clock.ts';
import type { ByteStream } from '../upstreams/byte-stream.ts';
import type { AnswerChunk } from '../wire/chat.ts';
import { idleTimeoutError, UpstreamStreamError } from './stream-error.ts';
import { Watchdog } from './watchdog.ts';

/** How long an upstream may keep its connection after it said that it is done, before it is closed. */
const closingMs = 1_000;
/** How long a complete answer whose usage has come waits for `[DONE]` or the end of the stream. */
const endGraceMs = 1_000;

/**
 * The chunks of a streamed answer, in the groups in which they arrive. What the answer comes to depends on the sequence of the
 * upstream's events only, never on how they are grouped (docs/decisions/end-of-an-answer.md): chunks that came before an error are
 * returned before it is thrown, also when one read brought both.
 */
export class ChunkSource {
  readonly #body: ByteStream;
  readonly #decoder: StreamDecoder;
  readonly #clock: Clock;
  readonly #idle: Watchdog;
  readonly #events: () => void;
  readonly #choices: number;
  #done = false;
  #ended = false;
  /** An error of the upstream behind the chunks that were returned last. */
  #failure: UpstreamStreamError | null = null;
  /** Set while a complete answer waits for the end of its stream. */
  #grace: Watchdog | null = null;

  constructor(
    body: ByteStream,
    how: {
      readonly exchange: UpstreamCodec;
      readonly answerId: string | null;
      readonly clock: Clock;
      readonly idleTimeoutMs: number;
      /** How many choices were asked for. */
      readonly choices: number;
      /** Called when something came. */
      readonly events: () => void;
    },
  ) {
    this.#body = body;
    this.#clock = how.clock;
    this.#decoder = how.exchange.readStream({ next: () => this.#read() }, how.answerId);
    this.#events = how.events;
    this.#choices = how.choices;
    this.#idle = new Watchdog(how.clock, how.idleTimeoutMs, () => {
      // While the client is slow to take what came, the upstream is held back and cannot say anything.
      if (body.isAwaited) body.cancel(idleTimeoutError(how.idleTimeoutMs));
    });
  }

  /** The next chunks, none when what came was a comment only; null at the end. Throws `UpstreamStreamError`, or why the body was cancelled. */
  next(): Promise<readonly AnswerChunk[] | null> {
    return this.#next(null);
  }

  /**
   * The next chunks of an answer of which `tally` has what came before; null at its end. An answer is complete when every choice that
   * was asked for is at its end: then an error, a broken connection and a silence are its end. Before that they fail it. A stream that
   * ends by itself is complete when every choice that was begun is.
   */
  nextAfter(totals: ResponseTotals): Promise<readonly AnswerChunk[] | null> {
    return this.#next(totals);
  }

  /** Not an `async` function: one that waits takes four times as much, and this waits in each of thousands of silent streams. */
  #next(totals: ResponseTotals | null): Promise<readonly AnswerChunk[] | null> {
    const failure = this.#failure;
    if (failure !== null) return Promise.try(() => this.#break(failure, totals));
    if (this.#done || this.#ended) return Promise.try(() => this.#end(totals));
    if (this.#grace === null && totals?.hasUsageAtEnd === true && totals.hasFinished(this.#choices))
      this.#grace = new Watchdog(this.#clock, endGraceMs, () => this.#endGrace());
    return this.#decoder.next().then(
      (events) => this.#take(events, totals),
      (error: unknown) => this.#break(error, totals),
    );
  }

  #take(
    events: readonly DecodedEvent[] | null,
    totals: ResponseTotals | null,
  ): readonly AnswerChunk[] | null {
    this.#events();
    const chunks: AnswerChunk[] = [];
    for (const one of events ?? []) {
      if (this.#done || this.#failure !== null) break;
      this.#readNext(one, chunks);
    }
    if (chunks.length > 0) {
      this.#grace?.pat();
      return chunks;
    }
    if (this.#failure !== null) return this.#break(this.#failure, totals);
    return events === null || this.#done ? this.#end(totals) : chunks;
  }

  /** Nothing more belongs to the answer: its end is taken as said. */
  #endGrace(): void {
    // While the client is slow to take what came, the upstream is held back and cannot send anything.
    if (this.#body.isAwaited)
      this.#body.cancel(new UpstreamStreamError('the upstream kept the stream open after its end'));
  }

  #end(totals: ResponseTotals | null): null {
    this.close();
    if (totals !== null && !this.#done && !totals.isComplete)
      throw new UpstreamStreamError('the upstream ended the stream before the answer');
    return null;
  }

  #break(error: unknown, totals: ResponseTotals | null): null {
    const broke = brokenBy(error);
    this.#giveUp(broke);
    if (broke instanceof UpstreamStreamError && totals?.hasFinished(this.#choices)) return null;
    throw broke;
  }

  /** Ends the silence limit, and the connection if the upstream does not end it itself. */
  close(): void {
    this.#idle.stop();
    this.#grace?.stop();
    if (this.#ended) return;
    this.#ended = true;
    const timer = this.#clock.after(closingMs, () =>
      this.#body.cancel(new Error('the upstream kept its connection after its end')),
    );
    this.#body.whenOver(() => timer.cancel());
  }

  #read(): Promise<readonly Buffer[] | null> {
    this.#idle.pat();
    return this.#body.next();
  }

  #readNext(events: DecodedEvent, chunks: AnswerChunk[]): void {
    switch (events.kind) {
      case 'chunk':
        chunks.push(events.chunk);
        return;
      case 'done':
        this.#done = true;
        return;
      case 'error':
        this.#failure = new UpstreamStreamError(events.reason, { status: events.status });
        return;
      case 'malformed':
        this.#failure = new UpstreamStreamError(`the upstream sent ${events.reason}`);
    }
  }

  /** Gives the upstream up, and throws why. */
  fail(error: UpstreamStreamError): never {
    this.#giveUp(error);
    throw error;
  }

  #giveUp(error: UpstreamStreamError | RequestAborted): void {
    this.#idle.stop();
    this.#grace?.stop();
    this.#ended = true;
    this.#body.cancel(error);
  }
}

function brokenBy(error: unknown): UpstreamStreamError | RequestAborted {
  if (error instanceof UpstreamStreamError || error instanceof RequestAborted) return error;
  if (error instanceof RangeError) return new UpstreamStreamError('an event of the upstream is too long');
  return new UpstreamStreamError(`the upstream broke off: ${String(error)}`);
}
