import type { Timer } from './timer.ts';

/** How late a task may run. */
const slotMs = 100;

/**
 * Timers for long delays, of which nearly all are cancelled: the limits of every call. All tasks
 * that are due within the same tenth of a second share one timer of Node, so that setting and
 * cancelling one changes a few links. A task runs up to a tenth of a second late; tasks that are due
 * together run in the order in which they were set.
 */
export class CoarseTimers {
  readonly #monotonic: () => number;
  readonly #slots = new Map<number, Slot>();

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  after(delayMs: number, task: () => void): Timer {
    const nowMs = this.#monotonic();
    const index = Math.ceil((nowMs + delayMs) / slotMs);
    let slot = this.#slots.get(index);
    if (slot === undefined) {
      slot = new Slot(index * slotMs - nowMs, () => this.#slots.delete(index));
      this.#slots.set(index, slot);
    }
    return new Entry(slot, task);
  }
}

/** The tasks that are due together. It ends with its last task. */
class Slot {
  first: Entry | null = null;
  last: Entry | null = null;
  #timer: NodeJS.Timeout;
  readonly #onEnd: () => void;

  constructor(delayMs: number, onEnd: () => void) {
    this.#onEnd = onEnd;
    this.#timer = setTimeout(() => this.#run(), Math.ceil(delayMs));
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#onEnd();
  }

  #run(): void {
    try {
      for (let next = this.first; next !== null; next = this.first) {
        next.cancel();
        next.task();
      }
    } finally {
      // A task threw: the others run all the same.
      if (this.first !== null) this.#timer = setTimeout(() => this.#run());
    }
  }
}

/** One task in the list of its slot. */
class Entry implements Timer {
  readonly task: () => void;
  readonly #slot: Slot;
  #previous: Entry | null;
  #next: Entry | null = null;
  #isOver = false;

  constructor(slot: Slot, task: () => void) {
    this.task = task;
    this.#slot = slot;
    this.#previous = slot.last;
    if (slot.last === null) slot.first = this;
    else slot.last.#next = this;
    slot.last = this;
  }

  cancel(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#previous === null) this.#slot.first = this.#next;
    else this.#previous.#next = this.#next;
    if (this.#next === null) this.#slot.last = this.#previous;
    else this.#next.#previous = this.#previous;
    // An entry that is no longer used must not keep its neighbours: see `LinkedList`.
    this.#previous = null;
    this.#next = null;
    if (this.#slot.first === null) this.#slot.end();
  }
}
