import type { Clock } from '../time/clock.ts';
import { BucketRing } from './bucket-ring.ts';
import { Circuit } from './circuit.ts';
import { CoolDown } from './cool-down.ts';
import {
  type CandidateHealth,
  defaultHealthLimits,
  type HealthLimits,
  type HealthStatus,
  type HealthView,
  well,
} from './health-status.ts';
import { PercentileWindow } from './percentiles.ts';

/** The windows of the endpoint records (spec:compat/8.2,8.3). */
export const fiveMinutesMs = 300_000;
export const halfAnHourMs = 1_800_000;
export const oneDayMs = 86_400_000;

const worked = 0;
const failed = 1;

/** What an attempt that failed has to say beside its status. */
export interface Failed {
  /** Whether it was the probe of an open circuit. */
  readonly isProbe?: boolean;
  /** What it said about when to come back, in milliseconds; null: nothing. */
  readonly retryAfterMs?: number | null;
}

/** An outage shows in this window when as many attempts failed in it as open a circuit in a row, and at least half of all. */
const outageMs = 30_000;

/** Statuses with which an upstream says that the request is at fault, or that it is asked too often: no outage of its own. */
const notItsFault: ReadonlySet<number> = new Set([400, 403, 413, 422, 429]);
const tooMany = 429;
const forbidden = 403;

/**
 * What this process has seen of its candidates, by their label: rolling windows of fixed size (some 110 KiB for a candidate that
 * has answered, nothing for one that has not), so the memory is bounded by the configuration. An attempt costs one call, an
 * answer another; each takes well under a microsecond.
 */
export class Health implements HealthView {
  readonly #clock: Clock;
  readonly #limits: HealthLimits;
  readonly #seen = new Map<string, Seen>();

  constructor(clock: Clock, limits: HealthLimits = defaultHealthLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Takes the probe of an open circuit, if one is due; whoever takes it calls `endProbe` whatever happens. */
  takeProbe(label: string): boolean {
    return this.#seen.get(label)?.circuit.takeProbe(this.#clock.monotonic()) ?? false;
  }

  endProbe(label: string): void {
    this.#seen.get(label)?.circuit.endProbe();
  }

  /**
   * An attempt that brought no answer; `status` is the upstream's own, null when it gave none. What the request is to blame for
   * says nothing of the candidate; a refused credential (401, 402, 403) counts for the circuit, and 429 begins a cool-down.
   */
  failed(label: string, status: number | null, { isProbe = false, retryAfterMs = null }: Failed = {}): void {
    const nowMs = this.#clock.monotonic();
    if (status === tooMany) this.#of(label).coolDown.begin(nowMs, retryAfterMs);
    const isOutage = status === null || !notItsFault.has(status);
    if (isOutage) this.#of(label).count(nowMs, failed);
    if (isOutage || status === forbidden) this.#of(label).circuit.failed(nowMs, isProbe);
  }

  /** A request was sent once more, because its connection was stale (docs/decisions/stale-connections.md). */
  resent(label: string): void {
    this.#of(label).resends += 1;
  }

  /** How many requests to the candidate were sent once more, since the start. */
  resends(label: string): number {
    return this.#seen.get(label)?.resends ?? 0;
  }

  /** An answer has begun that was asked for at `askedMs`, monotonic. */
  answered(label: string, askedMs: number): void {
    const seen = this.#of(label);
    if (seen.circuit.responded(askedMs)) seen.forgive();
    seen.coolDown.end();
  }

  /** The first byte of a response came this long after it was asked for. */
  firstByte(label: string, isStream: boolean, tookMs: number): void {
    this.#of(label).firstByte(isStream).add(this.#clock.monotonic(), tookMs);
  }

  /** The p99 of that in the last half hour, in milliseconds; null without an answer. */
  firstByteP99(label: string, isStream: boolean): number | null {
    const seen = this.#seen.get(label);
    return seen?.firstByte(isStream).rising(this.#clock.monotonic(), halfAnHourMs)?.p99 ?? null;
  }

  /** A stream's first words came this long after it was asked for. */
  responded(label: string, tookMs: number): void {
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
    if (answer.broken) seen.circuit.failed(nowMs, false);
    else seen.circuit.worked();
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
      attempts: (windowMs) => seen()?.attempts(now(), windowMs) ?? 0,
    };
  }

  /** How the candidate stands now; `well` when nothing speaks against it. */
  standing(label: string): HealthStatus {
    const seen = this.#seen.get(label);
    if (seen === undefined) return well;
    const nowMs = this.#clock.monotonic();
    const circuit = seen.circuit.state(nowMs);
    const coolingMs = seen.coolDown.leftMs(nowMs);
    // An open circuit has its own way back.
    const unsteady = circuit === 'closed' && seen.isUnsteady(nowMs);
    if (circuit === 'closed' && coolingMs === 0 && !unsteady) return well;
    const { openedMs, dueMs, failures } = seen.circuit;
    return {
      circuit,
      failures,
      openedAtMs: openedMs === null ? null : Math.round(this.#clock.now() - (nowMs - openedMs)),
      probeInMs: circuit === 'open' ? dueMs - nowMs : 0,
      coolingMs,
      unsteady,
    };
  }

  /** Forgets every candidate but these: those that a new configuration still has. */
  keepOnly(labels: ReadonlySet<string>): void {
    for (const label of this.#seen.keys()) if (!labels.has(label)) this.#seen.delete(label);
  }

  #of(label: string): Seen {
    const known = this.#seen.get(label);
    if (known !== undefined) return known;
    const seen = new Seen(this.#limits);
    this.#seen.set(label, seen);
    return seen;
  }
}

/** What was seen of one candidate. Short windows are read from short buckets, a day from minutes. */
class Seen {
  readonly #lately = new BucketRing({ bucketMs: 5_000, buckets: 60, lanes: 2 });
  readonly #day = new BucketRing({ bucketMs: 60_000, buckets: 1_440, lanes: 2 });
  readonly latency = new PercentileWindow();
  readonly throughput = new PercentileWindow();
  readonly circuit: Circuit;
  readonly coolDown: CoolDown;
  resends = 0;
  readonly #outageFailures: number;
  #failedMs = Number.NEGATIVE_INFINITY;
  #streamFirstByte: PercentileWindow | null = null;
  #wholeFirstByte: PercentileWindow | null = null;

  constructor(limits: HealthLimits) {
    this.circuit = new Circuit(limits);
    this.coolDown = new CoolDown(limits);
    this.#outageFailures = limits.failures;
  }

  /** Most candidates are asked in one of the two ways only. */
  firstByte(isStream: boolean): PercentileWindow {
    if (isStream) {
      this.#streamFirstByte ??= new PercentileWindow();
      return this.#streamFirstByte;
    }
    this.#wholeFirstByte ??= new PercentileWindow();
    return this.#wholeFirstByte;
  }

  count(nowMs: number, lane: typeof worked | typeof failed): void {
    if (lane === failed) this.#failedMs = nowMs;
    this.#lately.add(nowMs, lane);
    this.#day.add(nowMs, lane);
  }

  uptime(nowMs: number, windowMs: number): number | null {
    const [good = 0, bad = 0] = this.#totals(nowMs, windowMs);
    return good + bad === 0 ? null : Math.round((good / (good + bad)) * 1e5) / 1e3;
  }

  attempts(nowMs: number, windowMs: number): number {
    const [good = 0, bad = 0] = this.#totals(nowMs, windowMs);
    return good + bad;
  }

  /** Its outage is over: it takes another failure to be called unsteady. */
  forgive(): void {
    this.#failedMs = Number.NEGATIVE_INFINITY;
  }

  isUnsteady(nowMs: number): boolean {
    if (nowMs - this.#failedMs > outageMs) return false;
    const [good = 0, bad = 0] = this.#totals(nowMs, outageMs);
    return bad >= this.#outageFailures && bad >= good;
  }

  #totals(nowMs: number, windowMs: number): Float64Array {
    const ring = windowMs <= this.#lately.spanMs ? this.#lately : this.#day;
    return ring.totals(nowMs, windowMs);
  }
}
