import type { Timer } from './timer.ts';

/** How late a task may run. */
const slotMs = 100;
/** How many slots without tasks stay: more than there are delays in one request. */
const maxEmptySlots = 8;

/**
 * Timers for long delays, of which nearly all are cancelled: the limits of every call. All tasks
 * that are due within the same tenth of a second share one timer of Node, so that setting and
 * cancelling one changes a few links. A task runs up to a tenth of a second late; tasks that are due
 * together run in the order in which they were set.
 *
 * The last slots that lost all tasks stay for the next ones: where one request follows another, each
 * would need new slots. Their timers do not keep the process running.
 */
export class CoarseTimers {
  readonly #monotonic: () => number;
  readonly #slots = new Map<number, Slot>();
  readonly #empty: Slot[] = [];

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  after(delayMs: number, task: () => void): Timer {
    const nowMs = this.#monotonic();
    const index = Math.ceil((nowMs + delayMs) / slotMs);
    let slot = this.#slots.get(index);
    if (slot === undefined) {
      slot = new Slot(index, index * slotMs - nowMs, this);
      this.#slots.set(index, slot);
    }
    return new Entry(slot, task);
  }

  /** A slot lost its last task: it stays until as many others have. */
  emptied(slot: Slot): void {
    if (slot.isKept) return;
    slot.isKept = true;
    this.#empty.push(slot);
    const oldest = this.#empty.length > maxEmptySlots ? this.#empty.shift() : undefined;
    if (oldest === undefined) return;
    oldest.isKept = false;
    if (oldest.first === null) oldest.end();
  }

  ended(slot: Slot): void {
    if (this.#slots.get(slot.index) === slot) this.#slots.delete(slot.index);
  }
}

/** The tasks that are due together. */
class Slot {
  readonly index: number;
  first: Entry | null = null;
  last: Entry | null = null;
  /** Whether it stays although it may have no tasks. */
  isKept = false;
  #timer: NodeJS.Timeout;
  readonly #timers: CoarseTimers;

  constructor(index: number, delayMs: number, timers: CoarseTimers) {
    this.index = index;
    this.#timers = timers;
    this.#timer = setTimeout(() => this.#run(), Math.ceil(delayMs));
  }

  /** It has its first task. */
  filled(): void {
    this.#timer.ref();
  }

  /** It lost its last task. */
  emptied(): void {
    this.#timer.unref();
    this.#timers.emptied(this);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timers.ended(this);
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
      else this.end();
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
    if (slot.last === null) {
      slot.first = this;
      slot.filled();
    } else slot.last.#next = this;
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
    if (this.#slot.first === null) this.#slot.emptied();
  }
}
