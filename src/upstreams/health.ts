import type { Clock } from '../time/clock.ts';
import { BucketRing } from './bucket-ring.ts';
import { type Percentiles, Spread } from './spread.ts';

/** The windows of the endpoint records (surface §6.4). */
export const fiveMinutesMs = 300_000;
export const halfAnHourMs = 1_800_000;
export const oneDayMs = 86_400_000;

const worked = 0;
const failed = 1;

/** How one candidate has done lately. Windows are milliseconds back from now. */
export interface CandidateHealth {
  /**
   * Successes among the attempts that ended, in percent; null when there was none. What the client's request was to blame for and
   * rate limits count neither way, as with the original.
   */
  uptime(windowMs: number): number | null;
  /** Milliseconds from asking to the first words of a stream, half an hour back at most; null when nothing was streamed. */
  latency(windowMs: number): Percentiles | null;
  /** Completion tokens a second, from asking to the end: p99 is what 99 % of the answers reach. Null without an answer. */
  throughput(windowMs: number): Percentiles | null;
}

/** Statuses with which an upstream says that the request is at fault, or that it is asked too often: no outage of its own. */
const notItsFault: ReadonlySet<number> = new Set([400, 403, 413, 422, 429]);

/**
 * What this process has seen of its candidates, by their label: rolling windows of fixed size (some 80 KiB for a candidate that
 * has answered, nothing for one that has not), so the memory is bounded by the configuration. An attempt costs one call, an
 * answer another; each takes well under a microsecond.
 */
export class Health {
  readonly #clock: Clock;
  readonly #seen = new Map<string, Seen>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** An attempt that brought no answer; `status` is the upstream's own, null when it gave none. */
  failed(label: string, status: number | null): void {
    if (status === null || !notItsFault.has(status)) this.#of(label).count(this.#clock.monotonic(), failed);
  }

  /** A stream's first words came this long after it was asked for. */
  spoke(label: string, tookMs: number): void {
    this.#of(label).latency.add(this.#clock.monotonic(), tookMs);
  }

  /** An answer has ended: whole, cut short by its client, or broken off. Zero tokens are no measure of speed. */
  ended(
    label: string,
    answer: { readonly broken: boolean; readonly tokens: number; readonly tookMs: number },
  ): void {
    const nowMs = this.#clock.monotonic();
    const seen = this.#of(label);
    seen.count(nowMs, answer.broken ? failed : worked);
    if (!answer.broken && answer.tokens > 0 && answer.tookMs > 0)
      seen.throughput.add(nowMs, (answer.tokens / answer.tookMs) * 1000);
  }

  /** How the candidate with this label has done; one that was never tried has nulls. Read again, it is up to date again. */
  of(label: string): CandidateHealth {
    const now = (): number => this.#clock.monotonic();
    const seen = (): Seen | undefined => this.#seen.get(label);
    return {
      uptime: (windowMs) => seen()?.uptime(now(), windowMs) ?? null,
      latency: (windowMs) => seen()?.latency.rising(now(), windowMs) ?? null,
      throughput: (windowMs) => seen()?.throughput.falling(now(), windowMs) ?? null,
    };
  }

  #of(label: string): Seen {
    const known = this.#seen.get(label);
    if (known !== undefined) return known;
    const seen = new Seen();
    this.#seen.set(label, seen);
    return seen;
  }
}

/** What was seen of one candidate. Short windows are read from short buckets, a day from minutes. */
class Seen {
  readonly #lately = new BucketRing({ bucketMs: 5_000, buckets: 60, lanes: 2 });
  readonly #day = new BucketRing({ bucketMs: 60_000, buckets: 1_440, lanes: 2 });
  readonly latency = new Spread();
  readonly throughput = new Spread();

  count(nowMs: number, lane: typeof worked | typeof failed): void {
    this.#lately.add(nowMs, lane);
    this.#day.add(nowMs, lane);
  }

  uptime(nowMs: number, windowMs: number): number | null {
    const ring = windowMs <= this.#lately.spanMs ? this.#lately : this.#day;
    const [good = 0, bad = 0] = ring.totals(nowMs, windowMs);
    return good + bad === 0 ? null : Math.round((good / (good + bad)) * 1e5) / 1e3;
  }
}
