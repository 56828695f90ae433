import { performance } from 'node:perf_hooks';
import type { Clock, Timer } from '../time/clock.ts';
import { Histogram, type Registry } from './registry.ts';

const sampleEveryMs = 100;
/** The interval while the loop is busy for less than this share of the time. */
const idleSampleEveryMs = 1_000;
const idleBelow = 0.05;
const boundsSec = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * Measures how late timers run: ten samples a second, and one while the loop is idle. A histogram
 * of the library can be summed over processes and time.
 */
export class EventLoopDelay {
  readonly #clock: Clock;
  readonly #delaySec: Histogram;
  #timer: Timer;
  #busy = performance.eventLoopUtilization();

  constructor(registry: Registry, clock: Clock) {
    this.#clock = clock;
    this.#delaySec = new Histogram({
      name: 'naru_event_loop_delay_seconds',
      help: 'Delay of a timer; ten samples per second, one while idle.',
      buckets: boundsSec,
      registers: [registry],
    });
    this.#timer = this.#sample();
  }

  close(): void {
    this.#timer.cancel();
  }

  #sample(): Timer {
    const delayMs = this.#nextDelayMs();
    const dueMs = this.#clock.monotonic() + delayMs;
    return this.#clock.after(delayMs, () => {
      this.#delaySec.observe(Math.max(0, this.#clock.monotonic() - dueMs) / 1000);
      this.#timer = this.#sample();
    });
  }

  #nextDelayMs(): number {
    const before = this.#busy;
    this.#busy = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(this.#busy, before);
    return utilization < idleBelow ? idleSampleEveryMs : sampleEveryMs;
  }
}
