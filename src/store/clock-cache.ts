import type { Clock } from '../time/clock.ts';
import type { Database } from './database.ts';

/** Something that was read from the database and is cached for its next use. */
export interface CacheEntry {
  /** Set by each use; cleared by the clock's cursor. */
  isUsed: boolean;
  /** Whether the object has state that only this process has. */
  readonly isPinned: boolean;
}

/** What a cache of the database needs. */
export interface ClockCacheParts {
  readonly database: Database;
  readonly clock: Clock;
  /**
   * Whether other processes change the same rows; then an entry is current only for a short time.
   */
  readonly isShared: () => boolean;
  /**
   * While not shared: a read from before this monotonic instant may lack what other nodes spent.
   */
  readonly knownSince: () => number;
  /** How many entries are kept although they are not used. */
  readonly capacity: number;
}

/**
 * How many entries the cursor passes at a time, and how many of them it evicts: 0.1 ms and 1 ms of
 * work.
 */
const maxPassed = 10_000;
const maxEvicted = 1_000;

/**
 * A cache with the clock algorithm ("second chance"). Above its capacity a cursor goes round and
 * evicts entries that were not used since it last passed, and that are not pinned. At or below the
 * capacity it does nothing. The owner adds entries, and `evict` is called for each evicted one.
 */
export class ClockCache<T extends CacheEntry> implements Iterable<T> {
  readonly #entries: T[] = [];
  readonly #capacity: number;
  readonly #evict: (entry: T) => void;
  #cursor = 0;

  constructor(capacity: number, evict: (entry: T) => void) {
    this.#capacity = capacity;
    this.#evict = evict;
  }

  get size(): number {
    return this.#entries.length;
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#entries.values();
  }

  add(entry: T): void {
    this.#entries.push(entry);
  }

  /**
   * Advances the cursor past some entries, at most to the end of its round, so that it passes none
   * twice.
   */
  evictIdle(): void {
    const entries = this.#entries;
    if (this.#cursor >= entries.length) this.#cursor = 0;
    const minSize = Math.max(this.#capacity, entries.length - maxEvicted);
    for (let left = maxPassed; left > 0 && entries.length > minSize; left -= 1) {
      const entry = entries[this.#cursor];
      const last = entries.at(-1);
      if (entry === undefined || last === undefined) return;
      if (entry.isUsed || entry.isPinned) {
        // An entry in use counts as used at the cursor's next round.
        entry.isUsed = entry.isPinned;
        this.#cursor += 1;
        continue;
      }
      entries[this.#cursor] = last;
      entries.pop();
      this.#evict(entry);
    }
  }
}
