import type { Clock } from '../time/clock.ts';
import type { Database } from './database.ts';

/** Something that was read from the database and is remembered for its next use. */
export interface CacheEntry {
  /** Set by each use; taken away by the hand. */
  isUsed: boolean;
  /** Whether anything in this process counts on this very object. */
  readonly isPinned: boolean;
}

/** What a memory of the database needs. */
export interface ClockCacheParts {
  readonly database: Database;
  readonly clock: Clock;
  /** Whether other processes spend of the same; then memory alone is not to be believed for long. */
  readonly isShared: () => boolean;
  /** While not shared: what was asked for earlier than this monotonic instant may be what others had not spent yet. */
  readonly knownSince: () => number;
  /** So many are kept although nobody uses them. */
  readonly capacity: number;
}

/** How many memories the hand passes at a time, and how many of them are forgotten: 0.1 ms and 1 ms of work. */
const passedAtOnce = 10_000;
const forgottenAtOnce = 1_000;

/**
 * What a process remembers of the database, of which more than `kept` is not remembered for long: a hand goes round, and forgets
 * what was not used since it came by, and what nothing counts on ("second chance"). With `kept` or fewer it stands still. Whoever
 * remembers adds, and is told what to forget.
 */
export class ClockCache<T extends CacheEntry> implements Iterable<T> {
  readonly #entries: T[] = [];
  readonly #capacity: number;
  readonly #forget: (memory: T) => void;
  #cursor = 0;

  constructor(capacity: number, forget: (memory: T) => void) {
    this.#capacity = capacity;
    this.#forget = forget;
  }

  get size(): number {
    return this.#entries.length;
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#entries.values();
  }

  add(memory: T): void {
    this.#entries.push(memory);
  }

  /** Lets the hand pass some memories, at most to the end of its round: it passes none twice at once. */
  forgetIdle(): void {
    const entries = this.#entries;
    if (this.#cursor >= entries.length) this.#cursor = 0;
    const least = Math.max(this.#capacity, entries.length - forgottenAtOnce);
    for (let left = passedAtOnce; left > 0 && entries.length > least; left -= 1) {
      const memory = entries[this.#cursor];
      const last = entries.at(-1);
      if (memory === undefined || last === undefined) return;
      if (memory.isUsed || memory.isPinned) {
        // What is in use now is used when the hand comes by again.
        memory.isUsed = memory.isPinned;
        this.#cursor += 1;
        continue;
      }
      entries[this.#cursor] = last;
      entries.pop();
      this.#forget(memory);
    }
  }
}
