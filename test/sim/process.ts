import { type MachineTime, ProcessClock, type Timeline } from './time.ts';

/** The state of one gateway process while it lives. Actions of a dead one have no effect. */
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

  /** Calls `task` when the process dies; returns how to cancel that. */
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
