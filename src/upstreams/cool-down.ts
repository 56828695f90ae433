/** How long a candidate rests after it returned 429 (`routing:` of naru.yaml). */
export interface CoolDownLimits {
  /** Used without a valid `Retry-After`; doubled each consecutive time. Milliseconds. */
  readonly coolDownMs: number;
  /** The maximum of a cool-down, and of an accepted `Retry-After`. */
  readonly maxCoolDownMs: number;
}

const minMs = 1_000;

/** The cool-down of one candidate after a 429. Instants are monotonic milliseconds. */
export class CoolDown {
  readonly #limits: CoolDownLimits;
  #untilMs = Number.NEGATIVE_INFINITY;
  #inARow = 0;

  constructor(limits: CoolDownLimits) {
    this.#limits = limits;
  }

  /** Milliseconds left; 0 when there is no cool-down. */
  leftMs(nowMs: number): number {
    return Math.max(0, this.#untilMs - nowMs);
  }

  /**
   * The candidate returned 429. `retryAfterMs` is its `Retry-After`, accepted from one second up to
   * the limit. Requests that were in flight when the cool-down began count once together.
   */
  begin(nowMs: number, retryAfterMs: number | null): void {
    const isSane =
      retryAfterMs !== null && retryAfterMs >= minMs && retryAfterMs <= this.#limits.maxCoolDownMs;
    if (isSane) {
      this.#untilMs = Math.max(this.#untilMs, nowMs + retryAfterMs);
      return;
    }
    if (this.leftMs(nowMs) > 0) return;
    const { coolDownMs, maxCoolDownMs } = this.#limits;
    this.#untilMs = nowMs + Math.min(coolDownMs * 2 ** Math.min(this.#inARow, 30), maxCoolDownMs);
    this.#inARow += 1;
  }

  /** The candidate responded. */
  end(): void {
    this.#inARow = 0;
  }
}
