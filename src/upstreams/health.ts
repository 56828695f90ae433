import type { RoutingConfig } from '../config/config.ts';
import type { Clock } from '../time/clock.ts';
import { Circuit, CoolDown } from './circuit.ts';
import {
  type CandidateHealth,
  type HealthStatus,
  type HealthView,
  halfAnHourMs,
  healthy,
} from './health-status.ts';
import { BucketRing, PercentileWindow } from './rolling-windows.ts';
import type { KeptAttempts } from './uptime-file.ts';

const worked = 0;
const failed = 1;

/** Details of a failed attempt, besides its status. */
export interface Failed {
  /** Whether it was the probe of an open circuit. */
  readonly isProbe?: boolean;
  /** Its `Retry-After`, in milliseconds; null: none. */
  readonly retryAfterMs?: number | null;
}

/**
 * An outage is visible in this window when it has as many failed attempts as open a circuit in a
 * row, and at least half of all attempts failed.
 */
const outageMs = 30_000;

/** Statuses that blame the request or its rate: not an outage of the upstream. */
const notItsFault: ReadonlySet<number> = new Set([400, 403, 413, 422, 429]);
const tooMany = 429;
const forbidden = 403;

/**
 * The results of this process's candidates, by label: rolling windows of fixed size (some 110 KiB
 * for a candidate that has responded, nothing for others), so the configuration bounds the memory.
 * An attempt costs one call, a response another; each takes well under a microsecond.
 */
export class Health implements HealthView {
  readonly #clock: Clock;
  readonly #limits: RoutingConfig;
  readonly #seen = new Map<string, Seen>();

  constructor(clock: Clock, limits: RoutingConfig) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /**
   * Takes the probe of an open circuit, if one is due; the caller must then call `endProbe` in
   * every case.
   */
  takeProbe(label: string): boolean {
    return this.#seen.get(label)?.circuit.takeProbe(this.#clock.monotonic()) ?? false;
  }

  endProbe(label: string): void {
    this.#seen.get(label)?.circuit.endProbe();
  }

  /**
   * An attempt without a response; `status` is the upstream's, null when there was none. A client
   * error does not count against the candidate; a rejected credential (401, 402, 403) counts for
   * the circuit, and 429 starts a cool-down.
   */
  failed(label: string, status: number | null, { isProbe = false, retryAfterMs = null }: Failed = {}): void {
    const nowMs = this.#clock.monotonic();
    if (status === tooMany) this.#of(label).coolDown.begin(nowMs, retryAfterMs);
    const isOutage = status === null || !notItsFault.has(status);
    if (isOutage) this.#of(label).count(nowMs, failed);
    if (isOutage || status === forbidden) this.#of(label).circuit.failed(nowMs, isProbe);
  }

  /**
   * The engine of a local candidate became ready; or it did not start, or crashed, which is a failure
   * of the candidate even if no request was waiting.
   */
  engine(label: string, isReady: boolean): void {
    if (!isReady) {
      this.failed(label, null);
      return;
    }
    const seen = this.#seen.get(label);
    if (seen?.circuit.responded(this.#clock.monotonic()) === true) seen.forgive();
    seen?.circuit.worked();
  }

  /** The attempts of the last day by candidate, to be kept over a restart. */
  kept(): KeptAttempts {
    const nowMs = this.#clock.monotonic();
    return Object.fromEntries(
      [...this.#seen].map(([label, seen]) => [label, seen.kept(nowMs, this.#clock.now())]),
    );
  }

  /** Adds what `kept` returned before a restart, as far as it is of the last day. */
  restore(kept: KeptAttempts): void {
    const sinceEpochMs = this.#clock.now() - this.#clock.monotonic();
    for (const [label, attempts] of Object.entries(kept))
      for (const [atMs, good, bad] of attempts) this.#of(label).restore(atMs - sinceEpochMs, good, bad);
  }

  /**
   * A request was resent because its connection was stale (docs/decisions/stale-connections.md).
   */
  resent(label: string): void {
    this.#of(label).resends += 1;
  }

  /** An attempt ended this way; for a response: it began. */
  attempted(label: string, outcome: string): void {
    const { outcomes } = this.#of(label);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }

  /** The attempts since the start, by how they ended. */
  attemptsOf(label: string): ReadonlyMap<string, number> {
    return this.#seen.get(label)?.outcomes ?? new Map();
  }

  /** How many requests to the candidate were resent since the start. */
  resends(label: string): number {
    return this.#seen.get(label)?.resends ?? 0;
  }

  /** A response to a request sent at `askedMs` (monotonic) has begun. */
  responseStarted(label: string, sentAtMs: number): void {
    const seen = this.#of(label);
    if (seen.circuit.responded(sentAtMs)) seen.forgive();
    seen.coolDown.end();
  }

  /** The time from the request to the first byte of its response. */
  firstByte(label: string, isStream: boolean, tookMs: number): void {
    this.#of(label).firstByte(isStream).add(this.#clock.monotonic(), tookMs);
  }

  /** The p99 of that time in the last half hour, in milliseconds; null without a response. */
  firstByteP99(label: string, isStream: boolean): number | null {
    const seen = this.#seen.get(label);
    return seen?.firstByte(isStream).rising(this.#clock.monotonic(), halfAnHourMs)?.p99 ?? null;
  }

  /** The time from the request to the first content of a stream. */
  responded(label: string, tookMs: number): void {
    this.#of(label).latency.add(this.#clock.monotonic(), tookMs);
  }

  /**
   * A response has ended: complete, cancelled by its client, or broken off. Zero tokens do not
   * measure speed.
   */
  ended(
    label: string,
    outcome: { readonly broken: boolean; readonly tokens: number; readonly tookMs: number },
  ): void {
    const nowMs = this.#clock.monotonic();
    const seen = this.#of(label);
    seen.count(nowMs, outcome.broken ? failed : worked);
    if (outcome.broken) seen.circuit.failed(nowMs, false);
    else seen.circuit.worked();
    if (!outcome.broken && outcome.tokens > 0 && outcome.tookMs > 0)
      seen.throughput.add(nowMs, (outcome.tokens / outcome.tookMs) * 1000);
  }

  /**
   * The health of the candidate with this label; one that was never tried has nulls. Each call
   * reads current values.
   */
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

  /** The current state of the candidate; `well` without known problems. */
  statusOf(label: string): HealthStatus {
    const seen = this.#seen.get(label);
    if (seen === undefined) return healthy;
    const nowMs = this.#clock.monotonic();
    const circuit = seen.circuit.state(nowMs);
    const coolingMs = seen.coolDown.leftMs(nowMs);
    // An open circuit has its own recovery.
    const unsteady = circuit === 'closed' && seen.isUnsteady(nowMs);
    const { openedMs, dueMs, failures } = seen.circuit;
    if (circuit === 'closed' && coolingMs === 0 && !unsteady && failures === 0) return healthy;
    return {
      circuit,
      failures,
      openedAtMs: openedMs === null ? null : Math.round(this.#clock.now() - (nowMs - openedMs)),
      probeInMs: circuit === 'open' ? dueMs - nowMs : 0,
      coolingMs,
      unsteady,
    };
  }

  /** Removes every candidate except these, the ones of a new configuration. */
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

const keptStepMs = 600_000;

/** The results of one candidate. Short windows use short buckets, a day uses minutes. */
class Seen {
  readonly #lately = new BucketRing({ bucketMs: 5_000, buckets: 60, lanes: 2 });
  readonly #day = new BucketRing({ bucketMs: 60_000, buckets: 1_440, lanes: 2 });
  readonly latency = new PercentileWindow();
  readonly throughput = new PercentileWindow();
  readonly circuit: Circuit;
  readonly coolDown: CoolDown;
  readonly outcomes = new Map<string, number>();
  resends = 0;
  readonly #outageFailures: number;
  #failedMs = Number.NEGATIVE_INFINITY;
  #streamFirstByte: PercentileWindow | null = null;
  #wholeFirstByte: PercentileWindow | null = null;

  constructor(limits: RoutingConfig) {
    this.circuit = new Circuit(limits);
    this.coolDown = new CoolDown(limits);
    this.#outageFailures = limits.circuitFailures;
  }

  /** Most candidates are used in only one of the two ways. */
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

  /** Attempts of before this process. */
  restore(atMs: number, good: number, bad: number): void {
    this.#day.add(atMs, worked, good);
    this.#day.add(atMs, failed, bad);
  }

  /** The attempts of the last day in steps of ten minutes, with the epoch milliseconds of their ends. */
  kept(nowMs: number, epochMs: number): KeptAttempts[string] {
    const steps = Math.ceil(this.#day.spanMs / keptStepMs);
    return Array.from({ length: steps }, (_, at) => at * keptStepMs).flatMap((agoMs) => {
      const [good = 0, bad = 0] = this.#day.totals(nowMs - agoMs, keptStepMs);
      return good + bad === 0 ? [] : [[Math.round(epochMs - agoMs), good, bad] as const];
    });
  }

  uptime(nowMs: number, windowMs: number): number | null {
    const [good = 0, bad = 0] = this.#totals(nowMs, windowMs);
    return good + bad === 0 ? null : Math.round((good / (good + bad)) * 1e5) / 1e3;
  }

  attempts(nowMs: number, windowMs: number): number {
    const [good = 0, bad = 0] = this.#totals(nowMs, windowMs);
    return good + bad;
  }

  /** The outage is over: only a new failure makes the candidate unsteady again. */
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
