import type { Clock, Timer } from '../time/clock.ts';

/**
 * Calls `onSilence` when nothing happened for `limitMs`. Something happening costs one assignment: the timer looks back when it
 * fires, and is set again for what is left.
 */
export class Watchdog {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #onSilence: () => void;
  #lastMs: number;
  #timer: Timer;

  constructor(clock: Clock, limitMs: number, onSilence: () => void) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#onSilence = onSilence;
    this.#lastMs = clock.monotonic();
    this.#timer = clock.after(limitMs, () => this.#look());
  }

  /** Something happened. */
  pat(): void {
    this.#lastMs = this.#clock.monotonic();
  }

  stop(): void {
    this.#timer.cancel();
  }

  #look(): void {
    const leftMs = this.#lastMs + this.#limitMs - this.#clock.monotonic();
    if (leftMs <= 0) {
      this.pat();
      this.#timer = this.#clock.after(this.#limitMs, () => this.#look());
      this.#onSilence();
    } else this.#timer = this.#clock.after(leftMs, () => this.#look());
  }
}
