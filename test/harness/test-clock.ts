import { type FollowingClock, systemClock, type Timer } from '../../src/time/clock.ts';

/** A clock whose civil time a test sets; durations are real, so sockets and timers behave. */
export class TestClock implements FollowingClock {
  readonly aheadMs = 0;
  #offsetMs = 0;
  #frozenMs: number | null = null;

  now(): number {
    return this.#frozenMs ?? systemClock.now() + this.#offsetMs;
  }

  monotonic(): number {
    return systemClock.monotonic();
  }

  after(delayMs: number, task: () => void): Timer {
    return systemClock.after(delayMs, task);
  }

  /** Sets it to this instant, from which it continues. */
  set(instant: string): void {
    this.#offsetMs = Date.parse(instant) - systemClock.now();
  }

  advance(ms: number): void {
    this.#offsetMs += ms;
  }

  /** Makes it this instant, and keeps it so: for what changes from one millisecond to the next. */
  freeze(instant: string | number): void {
    this.#frozenMs = typeof instant === 'number' ? instant : Date.parse(instant);
  }

  /** Lets time go on as before. */
  thaw(): void {
    this.#frozenMs = null;
  }
}

/** Durations are 0, so that nothing refills on a slow machine either. Timers fire. */
export class StoppedClock extends TestClock {
  override monotonic(): number {
    return 0;
  }
}
