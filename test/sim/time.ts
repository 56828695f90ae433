import type { Clock, Timer } from '../../src/time/clock.ts';

/** Something that will happen. */
interface Due {
  readonly atMs: number;
  readonly order: number;
  readonly task: () => void;
  cancelled: boolean;
}

/**
 * Virtual time: a queue of future events. Time stands still while an event runs, and jumps to the
 * next one.
 */
export class Timeline {
  #nowMs = 0;
  #order = 0;
  /** A binary heap by instant, then by the order of the calls. */
  readonly #heap: Due[] = [];

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Calls `task` once after `delayMs`, unless cancelled. */
  after(delayMs: number, task: () => void): Timer {
    this.#order += 1;
    const due = {
      atMs: this.#nowMs + Math.max(0, delayMs),
      order: this.#order,
      task,
      cancelled: false,
    };
    this.#push(due);
    return {
      cancel: () => {
        due.cancelled = true;
      },
    };
  }

  /** Resolves after `delayMs`. */
  pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve));
  }

  /**
   * Runs the next event, and everything that follows from it without a wait. False when none is
   * left, or it is later than `untilMs`.
   */
  async step(untilMs: number): Promise<boolean> {
    let next = this.#heap[0];
    while (next?.cancelled === true) {
      this.#pop();
      next = this.#heap[0];
    }
    if (next === undefined || next.atMs > untilMs) return false;
    this.#pop();
    this.#nowMs = next.atMs;
    next.task();
    // Nothing in a simulation waits for a real event, so when this turn of the event loop ends, all
    // promises have run.
    await new Promise(setImmediate);
    return true;
  }

  #push(due: Due): void {
    const heap = this.#heap;
    let at = heap.push(due) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(due, heap[parent])) break;
      heap[at] = heap[parent] as Due;
      at = parent;
    }
    heap[at] = due;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Due, heap[child])) child += 1;
      if (!isBefore(heap[child] as Due, last)) break;
      heap[at] = heap[child] as Due;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(a: Due, b: Due | undefined): boolean {
  return b !== undefined && (a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order));
}

/** Every simulation begins a second before a Wednesday ends in Seoul, within a week and a month. */
export const beginningMs = Date.UTC(2026, 10, 25, 14, 59, 59);

/** The civil time of one host. */
export interface MachineTime {
  /** How far its civil time is off; a jump of its clock changes this. */
  offsetMs: number;
}

/** The clock of one process. When the process dies, its timers are cancelled. */
export class ProcessClock implements Clock {
  readonly #timeline: Timeline;
  readonly #machine: MachineTime;
  readonly #timers = new Set<Timer>();
  #dead = false;

  constructor(timeline: Timeline, machine: MachineTime) {
    this.#timeline = timeline;
    this.#machine = machine;
  }

  /** Timers that have neither rung nor been cancelled. */
  get pending(): number {
    return this.#timers.size;
  }

  now(): number {
    return Math.floor(beginningMs + this.#timeline.nowMs + this.#machine.offsetMs);
  }

  monotonic(): number {
    return this.#timeline.nowMs;
  }

  after(delayMs: number, task: () => void): Timer {
    if (this.#dead || delayMs === Number.POSITIVE_INFINITY) return { cancel: () => {} };
    const inner = this.#timeline.after(delayMs, () => {
      this.#timers.delete(timer);
      if (!this.#dead) task();
    });
    const timer = {
      cancel: () => {
        this.#timers.delete(timer);
        inner.cancel();
      },
    };
    this.#timers.add(timer);
    return timer;
  }

  /** The process is no more. */
  die(): void {
    this.#dead = true;
    for (const timer of this.#timers) timer.cancel();
  }
}
