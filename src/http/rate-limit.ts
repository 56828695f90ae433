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
  /** The same for a client with a number of requests of its own in each minute of the clock. */
  takeOfMinute(client: string, max: number): number | null | Promise<number | null>;
}

const minuteMs = 60_000;

/** A token bucket for each client: `burst` requests at once, `perSecond` from then on. */
export class RateLimit implements RateGate {
  readonly #rate: () => Rate;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();
  #sweptMs: number;
  /** The requests of the minute that began last, of clients with a number of their own. */
  readonly #taken = new Map<string, number>();
  #minute = 0;

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

  takeOfMinute(client: string, max: number): number | null {
    const nowMs = this.#clock.now();
    const minute = Math.floor(nowMs / minuteMs);
    if (minute !== this.#minute) this.#taken.clear();
    this.#minute = minute;
    const taken = this.#taken.get(client) ?? 0;
    if (taken >= max) return Math.max(1, Math.ceil(((minute + 1) * minuteMs - nowMs) / 1000));
    this.#taken.set(client, taken + 1);
    return null;
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
