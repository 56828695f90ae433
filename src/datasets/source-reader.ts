import type { Database } from '../store/database.ts';
import { type Clock, pause } from '../time/clock.ts';
import { utcDayAt } from './days.ts';
import { type Source, SourceFault, type SourceQuery } from './source.ts';
import { countRequest } from './sync-sql.ts';

/**
 * The pace of requests to the source. It publishes 30 requests a minute and 500 a day for a key
 * (spec:compat/11.4).
 */
export interface Pace {
  /** Time between two requests, milliseconds. */
  readonly spacingMs: number;
  readonly requestsPerDay: number;
  /** Delays before the second, third … attempt of one request. */
  readonly backoffMs: readonly number[];
  /** The longest `Retry-After` to wait for; after a longer one the whole sync is retried. */
  readonly maxWaitMs: number;
}

/** 28 requests a minute and 450 a day leave a margin for other users of the key. */
export const defaultPace: Pace = {
  spacingMs: 2_100,
  requestsPerDay: 450,
  backoffMs: [2_000, 15_000, 60_000],
  maxWaitMs: 120_000,
};

/** How long the lease of the source lasts after a request: longer than any wait between two. */
export const leaseMs = 300_000;

/** The request budget of the day is spent. */
export class BudgetSpent extends Error {
  override readonly name = 'BudgetSpent';
}

/** Another process took over the lease of the source; this one must not publish. */
export class SourceLost extends Error {
  override readonly name = 'SourceLost';
}

/**
 * Reads from the source for the process that has its lease: paced, counted in the database, and
 * retried on failure.
 */
export class SourceReader {
  readonly holder: string;
  readonly #parts: ReaderParts;
  #nextAtMs: number;

  constructor(parts: ReaderParts, holder: string, requestedAtMs: number | null) {
    this.#parts = parts;
    this.holder = holder;
    const { clock, pace } = parts;
    const sinceMs = requestedAtMs === null ? pace.spacingMs : Math.max(0, clock.now() - requestedAtMs);
    this.#nextAtMs = clock.monotonic() + Math.max(0, pace.spacingMs - sinceMs);
  }

  /**
   * Requests a path and parses the response. Throws the last `SourceFault` when every attempt
   * failed, `BudgetSpent`, `SourceLost`, or the reason for which the sync was stopped.
   */
  async read<T>(path: string, query: SourceQuery, parse: (json: unknown) => T): Promise<T> {
    const { source, pace, clock, signal } = this.#parts;
    for (let tries = 0; ; tries += 1) {
      await this.#turn();
      try {
        return parse(await source.get(path, query, signal));
      } catch (error) {
        if (!(error instanceof SourceFault) || error.kind === 'refused') throw error;
        const backoffMs = pace.backoffMs[tries];
        const waitMs = Math.max(backoffMs ?? 0, error.retryAfterMs ?? 0);
        if (backoffMs === undefined || waitMs > pace.maxWaitMs) throw error;
        await pause(clock, waitMs, signal);
      }
    }
  }

  /** Waits until the next request is allowed and counts it. */
  async #turn(): Promise<void> {
    const { clock, pace, signal, database } = this.#parts;
    await pause(clock, Math.max(0, this.#nextAtMs - clock.monotonic()), signal);
    this.#nextAtMs = clock.monotonic() + pace.spacingMs;
    const nowMs = clock.now();
    const utcDay = utcDayAt(nowMs);
    const limit = { utcDay, max: pace.requestsPerDay, nowMs, untilMs: nowMs + leaseMs };
    const counted = await database.transaction((sql) => countRequest(sql, this.holder, limit));
    if (counted === 'lost') throw new SourceLost('another process has the lease of the source');
    if (counted === 'spent')
      throw new BudgetSpent(`the ${pace.requestsPerDay} requests of today are used up`);
  }
}

/** What `SourceReader` needs. */
export interface ReaderParts {
  readonly source: Source;
  readonly database: Database;
  readonly clock: Clock;
  readonly pace: Pace;
  /** Aborts when the gateway closes. */
  readonly signal: AbortSignal;
}
