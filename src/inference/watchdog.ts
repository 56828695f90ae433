import type { Clock, Timer } from '../time/clock.ts';

/**
 * A busy process runs its timers before it reads its sockets: data that arrived in time may not
 * have been read. So silence is checked again this much later, after the sockets were read.
 */
const graceMs = 20;

/**
 * Calls `onSilence` when nothing happened for `limitMs`. `pat` costs one assignment: the timer
 * compares the times when it fires, and is set again for the rest.
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
    this.#timer = clock.after(limitMs, () => this.#check());
  }

  /** Records that something happened. */
  pat(): void {
    this.#lastMs = this.#clock.monotonic();
  }

  stop(): void {
    this.#timer.cancel();
  }

  #check(): void {
    const leftMs = this.#lastMs + this.#limitMs - this.#clock.monotonic();
    const wasSilent = this.#isSilent;
    this.#isSilent = leftMs <= 0 && !wasSilent;
    if (leftMs > 0) this.#checkAfter(leftMs);
    else if (!wasSilent) this.#checkAfter(graceMs);
    else {
      this.pat();
      this.#checkAfter(this.#limitMs);
      this.#onSilence();
    }
  }

  #checkAfter(delayMs: number): void {
    this.#timer = this.#clock.after(delayMs, () => this.#check());
  }
}
