import type { Clock } from '../time/clock.ts';
import { repeat } from './repeat.ts';

/** What one poll reads, for all its watchers. */
export interface Poll<Item> {
  /** Reads once more; returns what is new. */
  read(): Promise<readonly Item[]>;
  /** What a watcher gets when it joins others: what they have got lately. */
  present(): readonly Item[];
}

interface Running<Item> {
  readonly poll: Poll<Item>;
  readonly watchers: Set<(item: Item) => void>;
  readonly stop: () => void;
}

/**
 * Polls that watchers share: one for each key, whatever the number of its watchers. A poll begins
 * with its first watcher and ends with its last. A read that fails, because the database is away,
 * is left out.
 */
export class SharedPolls<Item> {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #running = new Map<string, Running<Item>>();

  constructor(clock: Clock, everyMs: number) {
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  /** The number of polls that run. */
  get size(): number {
    return this.#running.size;
  }

  /**
   * Delivers the items of the poll of this key until the returned function is called. `open` makes
   * the poll for its first watcher.
   */
  join(key: string, open: () => Poll<Item>, deliver: (item: Item) => void): () => void {
    const known = this.#running.get(key);
    for (const item of known?.poll.present() ?? []) deliver(item);
    const running = known ?? this.#start(open());
    this.#running.set(key, running);
    // Each has a function of its own, also of two that deliver to the same place.
    const watcher = (item: Item): void => deliver(item);
    running.watchers.add(watcher);
    return () => {
      if (!running.watchers.delete(watcher) || running.watchers.size > 0) return;
      running.stop();
      if (this.#running.get(key) === running) this.#running.delete(key);
    };
  }

  #start(poll: Poll<Item>): Running<Item> {
    const watchers = new Set<(item: Item) => void>();
    const stop = repeat(this.#clock, this.#everyMs, async () => {
      for (const item of await poll.read()) for (const deliver of watchers) deliver(item);
    });
    return { poll, watchers, stop };
  }
}

/** A poll whose item replaces the one before, such as the figures of a page. */
export function latestOf<Item>(read: () => Promise<Item>): Poll<Item> {
  let latest: readonly Item[] = [];
  return {
    read: async () => {
      latest = [await read()];
      return latest;
    },
    present: () => latest,
  };
}
