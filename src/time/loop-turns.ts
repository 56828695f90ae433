interface Waiting {
  readonly cost: number;
  readonly begin: () => void;
}

/**
 * Divides work that has arrived at once among the turns of the event loop, in the order of its
 * arrival: what follows from the first part is not done after all of the other parts have begun.
 * Costs have any unit.
 */
export class LoopTurns {
  readonly #maxCost: number;
  /** Of what has begun in this turn. */
  #cost = 0;
  #isScheduled = false;
  /** In the order of arrival. */
  readonly #waiting: Waiting[] = [];

  /** A turn begins work until its cost is `maxCost`. */
  constructor({ maxCost }: { readonly maxCost: number }) {
    this.#maxCost = maxCost;
  }

  /** Calls `begin`, now or in a later turn. */
  take(cost: number, begin: () => void): void {
    this.#schedule();
    if (this.#cost >= this.#maxCost) this.#waiting.push({ cost, begin });
    else {
      this.#cost += cost;
      begin();
    }
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#beginTurn());
  }

  #beginTurn(): void {
    this.#isScheduled = false;
    this.#cost = 0;
    if (this.#waiting.length === 0) return;
    // Before the work, which may throw.
    this.#schedule();
    while (this.#cost < this.#maxCost) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#cost += next.cost;
      next.begin();
    }
  }
}
