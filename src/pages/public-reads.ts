import type { Clock } from '../time/clock.ts';

/** How long a result is kept unless stated. */
const defaultKeptMs = 60_000;
/** How many results are kept; beyond it the oldest is dropped. */
const maxKept = 250;

interface Kept {
  readonly untilMs: number;
  readonly value: Promise<unknown>;
}

/**
 * What rows without a session read: each query goes to the database once in a while, however many
 * requests need it. There must be few queries: their parameters come from lists, never from the
 * text of a client.
 */
export class PublicReads {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** The result of a query, from `compute` when none is kept. */
  async once<T>(
    query: readonly (string | number | null)[],
    compute: () => Promise<T>,
    keptMs = defaultKeptMs,
  ): Promise<T> {
    const key = JSON.stringify(query);
    const kept = this.#kept.get(key);
    if (kept !== undefined && kept.untilMs > this.#clock.monotonic()) return kept.value as Promise<T>;
    const value = compute();
    const added: Kept = { untilMs: this.#clock.monotonic() + keptMs, value };
    this.#kept.delete(key);
    this.#kept.set(key, added);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > maxKept && oldest !== undefined) this.#kept.delete(oldest);
    // A failure is not kept: the next read tries again.
    value.catch(() => {
      if (this.#kept.get(key) === added) this.#kept.delete(key);
    });
    return value;
  }
}
