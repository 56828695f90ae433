/** Reads of all streams in one turn of the event loop: some milliseconds of decoding and writing. */
const turnBytes = 131_072;
/** A read of at most this many bytes does not wait. */
const freeBytes = 4_096;

interface Waiting {
  readonly bytes: number;
  readonly deliver: () => void;
}

/**
 * Divides what has arrived of all streams among the turns of the event loop. A request takes about
 * ten turns: when a thousand streams send 10 kB each, and one turn decoded all of it, the shortest
 * request would take ten seconds.
 */
export class ReadTurns {
  #bytes = 0;
  #isScheduled = false;
  /** In the order of arrival. */
  readonly #waiting: Waiting[] = [];

  /** Calls `deliver` for so many bytes, now or in a later turn. */
  take(bytes: number, deliver: () => void): void {
    if (bytes <= freeBytes) {
      deliver();
      return;
    }
    if (this.#bytes >= turnBytes) this.#waiting.push({ bytes, deliver });
    else {
      this.#bytes += bytes;
      deliver();
    }
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#begin());
  }

  #begin(): void {
    this.#isScheduled = false;
    this.#bytes = 0;
    while (this.#bytes < turnBytes) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#bytes += next.bytes;
      next.deliver();
    }
    this.#schedule();
  }
}
