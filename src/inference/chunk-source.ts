import type { Bytes, Exchange, Heard, Hearing } from '../dialects/dialect.ts';
import { GivenUp } from '../errors/given-up.ts';
import type { Clock } from '../time/clock.ts';
import type { ByteStream } from '../upstreams/byte-stream.ts';
import type { AnswerChunk } from '../wire/chat.ts';
import type { Tally } from './tally.ts';
import { UpstreamBroke } from './upstream-broke.ts';
import { Watchdog } from './watchdog.ts';

/** How long an upstream may keep its connection after it said that it is done, before it is closed. */
const closingMs = 1_000;

/** The chunks of a streamed answer, in the groups in which they arrive. */
export class ChunkSource {
  readonly #body: ByteStream;
  readonly #hearing: Hearing;
  readonly #clock: Clock;
  readonly #idle: Watchdog;
  readonly #heard: () => void;
  #isListening = false;
  #done = false;
  #ended = false;

  constructor(
    body: ByteStream,
    how: {
      readonly exchange: Exchange;
      readonly answerId: string | null;
      readonly clock: Clock;
      readonly idleTimeoutMs: number;
      /** Called when something came. */
      readonly heard: () => void;
    },
  ) {
    this.#body = body;
    this.#clock = how.clock;
    const bytes: Bytes = { next: () => this.#read() };
    this.#hearing = how.exchange.readStream(bytes, how.answerId);
    this.#heard = how.heard;
    this.#idle = new Watchdog(how.clock, how.idleTimeoutMs, () => {
      // While the client is slow to take what came, the upstream is held back and cannot say anything.
      if (this.#isListening)
        body.cancel(new UpstreamBroke('the upstream fell silent', { timedOut: true, status: 408 }));
    });
  }

  /** The next chunks; null at the end. Throws `UpstreamBroke`, or why the body was cancelled. */
  async next(): Promise<readonly AnswerChunk[] | null> {
    while (!this.#done && !this.#ended) {
      const heard = await this.#listen();
      if (heard === null) break;
      const chunks: AnswerChunk[] = [];
      for (const one of heard) if (!this.#done) this.#hear(one, chunks);
      if (chunks.length > 0) return chunks;
    }
    this.close();
    return null;
  }

  /**
   * The next chunks of an answer of which `tally` has what came before; null at its end. An upstream that breaks off after it said
   * the end has said everything but what it used; one that stops before has broken off.
   */
  async nextAfter(tally: Tally): Promise<readonly AnswerChunk[] | null> {
    try {
      const chunks = await this.next();
      if (chunks === null && !this.#done && !tally.isComplete)
        throw new UpstreamBroke('the upstream ended the stream before the answer');
      return chunks;
    } catch (error) {
      if (error instanceof UpstreamBroke && tally.isComplete) return null;
      throw error;
    }
  }

  /** Ends the silence limit, and the connection if the upstream does not end it itself. */
  close(): void {
    this.#idle.stop();
    if (this.#ended) return;
    this.#ended = true;
    const timer = this.#clock.after(closingMs, () =>
      this.#body.cancel(new Error('the upstream kept its connection after its end')),
    );
    this.#body.whenOver(() => timer.cancel());
  }

  async #listen(): Promise<readonly Heard[] | null> {
    try {
      return await this.#hearing.next();
    } catch (error) {
      if (error instanceof UpstreamBroke || error instanceof GivenUp) return this.fail(error);
      if (error instanceof RangeError)
        return this.fail(new UpstreamBroke('an event of the upstream is too long'));
      return this.fail(new UpstreamBroke(`the upstream broke off: ${String(error)}`));
    }
  }

  async #read(): Promise<readonly Buffer[] | null> {
    this.#idle.pat();
    this.#isListening = true;
    try {
      const pieces = await this.#body.next();
      this.#heard();
      return pieces;
    } finally {
      this.#isListening = false;
    }
  }

  #hear(heard: Heard, chunks: AnswerChunk[]): void {
    switch (heard.kind) {
      case 'chunk':
        chunks.push(heard.chunk);
        return;
      case 'done':
        this.#done = true;
        return;
      case 'error':
        this.fail(new UpstreamBroke(heard.reason, { status: heard.status }));
        return;
      case 'garbage':
        this.fail(new UpstreamBroke(`the upstream sent ${heard.reason}`));
    }
  }

  /** Gives the upstream up, and throws why. */
  fail(error: UpstreamBroke | GivenUp): never {
    this.#idle.stop();
    this.#ended = true;
    this.#body.cancel(error);
    throw error;
  }
}
