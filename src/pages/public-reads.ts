import type { Clock } from '../time/clock.ts';

/** How long an answer is kept. */
const keptMs = 60_000;
/** How many answers are kept; beyond it the oldest is dropped. */
const maxKept = 250;

interface Kept {
  readonly untilMs: number;
  readonly value: Promise<unknown>;
}

/**
 * What rows without a session read: each question is put to the database once in a while, however
 * often and by however many it is asked. Questions must be few: words of a list, never text of a
 * stranger.
 */
export class PublicReads {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** The answer to a question, which `compute` gives when none is kept. */
  async once<T>(question: readonly (string | number | null)[], compute: () => Promise<T>): Promise<T> {
    const key = JSON.stringify(question);
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
