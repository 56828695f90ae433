import { ByteCollector } from '../wire/byte-collector.ts';

/** Bytes waiting for their reader above this stop the upstream until they are taken: back-pressure through the gateway. */
const highWaterBytes = 64 * 1024;
/** Pieces smaller than this are copied together while they wait: each that is kept costs some 400 bytes, and pins what it came in. */
const smallPieceBytes = 1024;

/** What a stream needs of the connection it comes from. */
export interface Source {
  pause(): void;
  resume(): void;
  cancel(reason: Error): void;
}

/**
 * The body of an upstream's answer as it arrives: pushed by the connection, taken by one reader. What arrived together is taken
 * together.
 */
export class ByteStream {
  #source: Source | null = null;
  #waiting: Buffer[] = [];
  /** Small pieces that follow what waits. */
  #small: ByteCollector | null = null;
  #waitingBytes = 0;
  #paused = false;
  #ended = false;
  #failure: Error | null = null;
  #onOver: (() => void) | null = null;
  #reader: PromiseWithResolvers<readonly Buffer[] | null> | null = null;

  /** Connects the stream with what fills it. */
  attach(source: Source): void {
    this.#source = source;
  }

  /** Whether somebody waits for what comes next. */
  get isAwaited(): boolean {
    return this.#reader !== null;
  }

  push(bytes: Buffer): void {
    if (this.#failure !== null) return;
    if (bytes.length < smallPieceBytes && this.#reader === null) {
      this.#small ??= new ByteCollector(Number.POSITIVE_INFINITY);
      this.#small.push(bytes);
    } else {
      this.#closeSmall();
      this.#waiting.push(bytes);
    }
    this.#waitingBytes += bytes.length;
    if (this.#reader !== null) this.#deliver();
    else if (this.#waitingBytes > highWaterBytes && !this.#paused) {
      this.#paused = true;
      this.#source?.pause();
    }
  }

  end(): void {
    this.#ended = true;
    this.#onOver?.();
    if (this.#reader !== null) this.#deliver();
  }

  /** Calls `task` when the body has ended or broken off, at once if it has. */
  whenOver(task: () => void): void {
    if (this.#ended || this.#failure !== null) task();
    else this.#onOver = task;
  }

  /** The reader gets everything that arrived before, then this error. */
  fail(error: Error): void {
    if (this.#ended || this.#failure !== null) return;
    this.#failure = error;
    this.#onOver?.();
    if (this.#reader !== null) this.#deliver();
  }

  /** Everything that has arrived and was not taken, once there is something; null at the end. Rejects when the body broke off. */
  next(): Promise<readonly Buffer[] | null> {
    if (this.#reader !== null) throw new Error('a byte stream has one reader at a time');
    const reader = Promise.withResolvers<readonly Buffer[] | null>();
    this.#reader = reader;
    if (this.#waitingBytes > 0 || this.#ended || this.#failure !== null) this.#deliver();
    return reader.promise;
  }

  /** Closes the connection; a reader that waits is rejected with `reason`. */
  cancel(reason: Error): void {
    if (this.#ended || this.#failure !== null) return;
    this.fail(reason);
    this.#source?.cancel(reason);
  }

  #closeSmall(): void {
    if (this.#small !== null) this.#waiting.push(this.#small.take());
    this.#small = null;
  }

  #deliver(): void {
    const reader = this.#reader;
    if (reader === null) return;
    this.#reader = null;
    this.#closeSmall();
    if (this.#waiting.length > 0) {
      const taken = this.#waiting;
      this.#waiting = [];
      this.#waitingBytes = 0;
      reader.resolve(taken);
      if (this.#paused) {
        this.#paused = false;
        this.#source?.resume();
      }
    } else if (this.#failure !== null) reader.reject(this.#failure);
    else reader.resolve(null);
  }
}
