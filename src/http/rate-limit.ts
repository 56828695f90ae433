import type { Clock } from '../time/clock.ts';

/** The rate of one limit (spec:errors/7.3). */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

/** A full bucket is deleted. Finding them costs a full scan, so it runs this often at most. */
const sweepEveryMs = 10_000;

/**
 * Decides whether one more request of a client is within its rate: at once, or after the owner of
 * the count has replied.
 */
export interface RateGate {
  /** Null when it is; otherwise the whole seconds (≥ 1) until it would be. */
  take(client: string): number | null | Promise<number | null>;
}

/** A token bucket for each client: `burst` requests at once, `perSecond` from then on. */
export class RateLimit implements RateGate {
  readonly #rate: () => Rate;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();
  #sweptMs: number;

  /** `rate` is called each time, because it may change. */
  constructor(rate: () => Rate, clock: Clock) {
    this.#rate = rate;
    this.#clock = clock;
    this.#sweptMs = clock.monotonic();
  }

  /**
   * Takes one token: null when there was one, otherwise the whole seconds (≥ 1) until there is one.
   */
  take(client: string): number | null {
    const nowMs = this.#clock.monotonic();
    this.#sweep(nowMs);
    const bucket = this.#buckets.get(client) ?? { tokens: this.#rate().burst, atMs: nowMs };
    const tokens = this.#refilled(bucket, nowMs);
    const allowed = tokens >= 1;
    this.#buckets.set(client, { tokens: allowed ? tokens - 1 : tokens, atMs: nowMs });
    return allowed ? null : Math.max(1, Math.ceil((1 - tokens) / this.#rate().perSecond));
  }

  #refilled(bucket: Bucket, nowMs: number): number {
    return Math.min(
      this.#rate().burst,
      bucket.tokens + ((nowMs - bucket.atMs) / 1000) * this.#rate().perSecond,
    );
  }

  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptMs < sweepEveryMs) return;
    this.#sweptMs = nowMs;
    for (const [client, bucket] of this.#buckets) {
      if (this.#refilled(bucket, nowMs) >= this.#rate().burst) this.#buckets.delete(client);
    }
  }
}
