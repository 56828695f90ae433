import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { MemoryBudget } from '../memory/budget.ts';

/** Below this peak a collection frees too little. */
const burstBytes = 32 * 1024 * 1024;
/** The interval of `check`. */
export const releaseEveryMs = 2_000;

/**
 * Returns memory to the system after a burst of large requests. V8 collects only when it allocates,
 * so an idle process would keep the garbage of a burst for hours. A collection takes some 50 ms, so
 * there is one after each burst.
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

  /** Records garbage outside the memory budget: 400 bytes for each small piece of a body. */
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
    // The flag adds `gc` only to contexts created afterwards, such as this one.
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as () => void;
    setFlagsFromString('--no-expose-gc');
  }
  collect();
}
