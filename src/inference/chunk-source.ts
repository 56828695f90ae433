import type { Dialect, Heard } from '../dialects/dialect.ts';
import { GivenUp } from '../errors/given-up.ts';
import type { Clock } from '../time/clock.ts';
import type { ByteStream } from '../upstreams/byte-stream.ts';
import type { AnswerChunk, AskKind } from '../wire/chat.ts';
import { SseDecoder } from '../wire/sse.ts';
import { UpstreamBroke } from './upstream-broke.ts';
import { Watchdog } from './watchdog.ts';

/** How long an upstream may keep its connection after it said that it is done, before it is closed. */
const closingMs = 1_000;

/** The chunks of a streamed answer, in the groups in which they arrive. */
export class ChunkSource {
  readonly #body: ByteStream;
  readonly #dialect: Dialect;
  readonly #kind: AskKind;
  readonly #clock: Clock;
  readonly #decoder = new SseDecoder();
  readonly #idle: Watchdog;
  readonly #heard: () => void;
  #isListening = false;
  #done = false;
  #ended = false;

  constructor(
    body: ByteStream,
    how: {
      readonly dialect: Dialect;
      readonly kind: AskKind;
      readonly clock: Clock;
      readonly idleTimeoutMs: number;
      /** Called when something came. */
      readonly heard: () => void;
    },
  ) {
    this.#body = body;
    this.#dialect = how.dialect;
    this.#kind = how.kind;
    this.#clock = how.clock;
    this.#heard = how.heard;
    this.#idle = new Watchdog(how.clock, how.idleTimeoutMs, () => {
      // While the client is slow to take what came, the upstream is held back and cannot say anything.
      if (this.#isListening)
        body.cancel(new UpstreamBroke('the upstream fell silent', { timedOut: true, status: 408 }));
    });
  }

  /** Whether the upstream said that it is done, and did not only stop. */
  get saidDone(): boolean {
    return this.#done;
  }

  /** The next chunks; null at the end. Throws `UpstreamBroke`, or why the body was cancelled. */
  async next(): Promise<readonly AnswerChunk[] | null> {
    while (!this.#done && !this.#ended) {
      const pieces = await this.#read();
      const chunks = this.#decode(pieces);
      if (chunks.length > 0) return chunks;
    }
    this.close();
    return null;
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

  async #read(): Promise<readonly Buffer[] | null> {
    this.#idle.pat();
    this.#isListening = true;
    try {
      const pieces = await this.#body.next();
      this.#heard();
      return pieces;
    } catch (error) {
      this.#idle.stop();
      this.#ended = true;
      if (error instanceof UpstreamBroke || error instanceof GivenUp) throw error;
      throw new UpstreamBroke(`the upstream broke off: ${String(error)}`);
    } finally {
      this.#isListening = false;
    }
  }

  #decode(pieces: readonly Buffer[] | null): readonly AnswerChunk[] {
    const chunks: AnswerChunk[] = [];
    if (pieces === null) {
      this.#ended = true;
      this.#idle.stop();
      for (const data of this.#decoder.end()) this.#hear(this.#dialect.readEvent(this.#kind, data), chunks);
      return chunks;
    }
    for (const piece of pieces) {
      for (const data of this.#push(piece)) {
        if (!this.#done) this.#hear(this.#dialect.readEvent(this.#kind, data), chunks);
      }
    }
    return chunks;
  }

  #push(piece: Buffer): readonly string[] {
    try {
      return this.#decoder.push(piece);
    } catch {
      return this.#fail(new UpstreamBroke('an event of the upstream is too long'));
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
        this.#fail(new UpstreamBroke(heard.reason, { status: heard.status }));
        return;
      case 'garbage':
        this.#fail(new UpstreamBroke(`the upstream sent ${heard.reason}`));
    }
  }

  #fail(error: UpstreamBroke): never {
    this.#idle.stop();
    this.#ended = true;
    this.#body.cancel(error);
    throw error;
  }
}
