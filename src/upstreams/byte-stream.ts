import { LoopTurns } from '../time/loop-turns.ts';
import { joined } from '../wire/byte-collector.ts';
import { nextOf, type Receiver, type Source } from '../wire/receiver.ts';

/**
 * With more unread bytes than this, the upstream is paused until they are read: back-pressure
 * through the gateway.
 */
const highWaterBytes = 64 * 1024;
/**
 * More pieces are joined while they wait for a reader: a kept piece costs some 400 bytes, and pins its
 * network block.
 */
const maxPieces = 64;
/**
 * Bytes of all streams that one turn of the event loop reads: some milliseconds of decoding and
 * writing. A request takes about ten turns: when a thousand streams send 10 kB each, and one turn
 * decoded all of it, the shortest request would take ten seconds.
 */
const turns = new LoopTurns({ maxCost: 131_072 });
/** So few bytes are read at once: the next chunk of a slow stream does not wait for another stream. */
const freeBytes = 4_096;
/** What follows it runs after what runs now. */
const soon = Promise.resolve();

/** What a stream needs from its connection. */
export interface ByteSource {
  pause(): void;
  resume(): void;
  cancel(reason: Error): void;
}

/**
 * The body of an upstream's response as it arrives: pushed by the connection, read by one reader.
 * Pieces that arrived together are read as one.
 */
export class ByteStream implements Source<Buffer> {
  #source: ByteSource | null = null;
  /** What has arrived and was not read. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #paused = false;
  /** Whether what has arrived waits for its turn. */
  #isQueued = false;
  #ended = false;
  #failure: Error | null = null;
  #onOver: (() => void) | null = null;
  #reader: Receiver<Buffer> | null = null;

  /** Connects the stream to its source. */
  attach(source: ByteSource): void {
    this.#source = source;
  }

  /** Whether the reader waits for the upstream. */
  get isAwaited(): boolean {
    return this.#reader !== null && this.#waitingBytes === 0;
  }

  push(bytes: Buffer): void {
    if (this.#failure !== null) return;
    if (this.#waiting.length >= maxPieces && this.#reader === null)
      this.#waiting = [Buffer.concat(this.#waiting)];
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#reader !== null) this.#queue();
    if (this.#waitingBytes > highWaterBytes && !this.#paused) {
      this.#paused = true;
      this.#source?.pause();
    }
  }

  end(): void {
    this.#ended = true;
    this.#onOver?.();
    if (this.#reader !== null) this.#deliver();
  }

  /** Calls `task` when the body has ended or broken off, or immediately if it has already. */
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

  /** Everything that arrived since the last read, once there is something. */
  read(reader: Receiver<Buffer>): void {
    if (this.#reader !== null) throw new Error('a byte stream has one reader at a time');
    this.#reader = reader;
    if (this.#ended || this.#failure !== null) this.#deliver();
    else if (this.#waitingBytes > 0) this.#queue();
  }

  /** As `read`; null at the end. Rejects when the body broke off. */
  next(): Promise<Buffer | null> {
    return nextOf(this);
  }

  /** Closes the connection; a waiting reader fails with `reason`. */
  cancel(reason: Error): void {
    if (this.#ended || this.#failure !== null) return;
    this.fail(reason);
    this.#source?.cancel(reason);
  }

  /**
   * Delivers what has arrived once its connection has been read, or when its turn comes; what arrives
   * meanwhile is delivered with it.
   */
  #queue(): void {
    if (this.#isQueued) return;
    this.#isQueued = true;
    const deliver = (): void => {
      this.#isQueued = false;
      if (this.#waitingBytes > 0) this.#deliver();
    };
    void soon.then(() => {
      if (this.#waitingBytes <= freeBytes) deliver();
      else turns.take(this.#waitingBytes, deliver);
    });
  }

  #deliver(): void {
    const reader = this.#reader;
    if (reader === null) return;
    this.#reader = null;
    if (this.#waitingBytes > 0) {
      const bytes = joined(this.#waiting);
      this.#waiting = [];
      this.#waitingBytes = 0;
      give(reader, bytes);
      if (this.#paused) {
        this.#paused = false;
        this.#source?.resume();
      }
    } else if (this.#failure !== null) reader.fail(this.#failure);
    else give(reader, null);
  }
}

/** A throw of a reader ends its stream: to the connection it would be an error of another response. */
function give(reader: Receiver<Buffer>, bytes: Buffer | null): void {
  try {
    reader.take(bytes);
  } catch (error) {
    reader.fail(error);
  }
}
