import { describeError, type Log } from '../log/log.ts';
import type { Clock, Timer } from '../time/clock.ts';

/** A periodic job. Safe to run on several nodes at once. */
export interface Job {
  readonly name: string;
  readonly everyMs: number;
  readonly run: (nowMs: number) => Promise<unknown>;
}

/** Runs jobs in the background; logs a failed run and retries at the next interval. */
export class JobRunner {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #timers = new Map<string, Timer>();
  #closed = false;

  constructor(jobs: readonly Job[], parts: { readonly clock: Clock; readonly log: Log }) {
    this.#clock = parts.clock;
    this.#log = parts.log;
    for (const job of jobs) this.#schedule(job);
  }

  close(): void {
    this.#closed = true;
    for (const timer of this.#timers.values()) timer.cancel();
  }

  #schedule(job: Job): void {
    if (this.#closed) return;
    this.#timers.set(
      job.name,
      this.#clock.after(job.everyMs, () => void this.#run(job)),
    );
  }

  async #run(job: Job): Promise<void> {
    try {
      await job.run(this.#clock.now());
    } catch (error) {
      if (!this.#closed) this.#log.warn('job_failed', { job: job.name, detail: describeError(error) });
    }
    this.#schedule(job);
  }
}
