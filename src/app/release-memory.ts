import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { MemoryBudget } from '../memory/budget.ts';

/** Requests that never held more than this leave nothing worth a collection. */
const burstBytes = 32 * 1024 * 1024;
/** How often `check` is to be called. */
export const releaseEveryMs = 2_000;

/**
 * Gives memory back to the system after a burst of large requests. The engine collects when it allocates, so a process that has
 * nothing to do keeps what a burst has left, for hours. A collection takes some 50 ms, so there is one for each burst, when it is over.
 */
export class MemoryRelease {
  readonly #budget: MemoryBudget;
  readonly #collect: () => void;
  #isDue = false;
  #hasGarbage = false;

  constructor(budget: MemoryBudget, collect: () => void = collectGarbage) {
    this.#budget = budget;
    this.#collect = collect;
  }

  /** A request left garbage that the budget did not count: 400 bytes for each small piece of its body. */
  noteGarbage(): void {
    this.#hasGarbage = true;
  }

  /** Collects if there was a burst before the last check and there is none since. */
  check(): void {
    const peakBytes = this.#budget.takePeak();
    if (peakBytes >= burstBytes || this.#hasGarbage) {
      this.#hasGarbage = false;
      this.#isDue = true;
      return;
    }
    if (!this.#isDue) return;
    this.#isDue = false;
    this.#collect();
  }
}

let collect: (() => void) | null = null;

function collectGarbage(): void {
  if (collect === null) {
    // The flag makes `gc` a global of contexts that are made afterwards: only of this one.
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as () => void;
    setFlagsFromString('--no-expose-gc');
  }
  collect();
}
