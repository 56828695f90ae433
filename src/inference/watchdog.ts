import type { Clock, Timer } from '../time/clock.ts';

/**
 * A busy process hears its timers before its sockets: what came in time may only be waiting to be read. So silence is looked at
 * again this much later, when the sockets have had their turn.
 */
const graceMs = 20;

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
  #isSilent = false;

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
    const wasSilent = this.#isSilent;
    this.#isSilent = leftMs <= 0 && !wasSilent;
    if (leftMs > 0) this.#lookAfter(leftMs);
    else if (!wasSilent) this.#lookAfter(graceMs);
    else {
      this.pat();
      this.#lookAfter(this.#limitMs);
      this.#onSilence();
    }
  }

  #lookAfter(delayMs: number): void {
    this.#timer = this.#clock.after(delayMs, () => this.#look());
  }
}
