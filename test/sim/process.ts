import { type MachineTime, ProcessClock, type Timeline } from './time.ts';

/** What one process of a gateway is while it lives. Whatever a dead one still does reaches nothing and nobody. */
export class SimProcess {
  readonly name: string;
  readonly clock: ProcessClock;
  readonly #onDeath = new Set<() => void>();
  #alive = true;

  constructor(name: string, timeline: Timeline, machine: MachineTime) {
    this.name = name;
    this.clock = new ProcessClock(timeline, machine);
  }

  get isAlive(): boolean {
    return this.#alive;
  }

  /** Calls `task` when the process dies; returns how to forget that. */
  whenDead(task: () => void): () => void {
    this.#onDeath.add(task);
    return () => this.#onDeath.delete(task);
  }

  die(): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.clock.die();
    for (const task of [...this.#onDeath]) task();
    this.#onDeath.clear();
  }
}
