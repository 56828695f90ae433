import { describeError, type Log } from '../log/log.ts';
import type { Clock, Timer } from '../time/clock.ts';

/** A periodic job. Safe to run on several nodes at once. */
export interface Job {
  readonly name: string;
  readonly everyMs: number;
  readonly run: (nowMs: number) => Promise<unknown>;
}

/**
 * Jobs run at multiples of this after the start, so that an idle process wakes up for all of them at
 * once, and the processes of a machine at different times.
 */
const gridMs = 1_000;

/** Runs jobs in the background; logs a failed run and retries at the next interval. */
export class JobRunner {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #timers = new Map<string, Timer>();
  readonly #startMs: number;
  #closed = false;

  constructor(jobs: readonly Job[], parts: { readonly clock: Clock; readonly log: Log }) {
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#startMs = this.#clock.monotonic();
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
      this.#clock.after(this.#delayOf(job), () => void this.#run(job)),
    );
  }

  /** The interval of a job, up to half a second longer or shorter where that meets the grid. */
  #delayOf({ everyMs }: Job): number {
    if (everyMs < gridMs) return everyMs;
    const passedMs = this.#clock.monotonic() - this.#startMs;
    return Math.round((passedMs + everyMs) / gridMs) * gridMs - passedMs;
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
