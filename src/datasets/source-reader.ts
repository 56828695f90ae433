import type { Database } from '../store/database.ts';
import { type Clock, pause } from '../time/clock.ts';
import { utcDayAt } from './days.ts';
import { type Source, SourceFault, type SourceQuery } from './source.ts';
import { countRequest } from './sync-sql.ts';

/** How the source may be asked. It publishes 30 requests a minute and 500 a day for a key (spec:compat/11.4). */
export interface Pace {
  /** From one request to the next, milliseconds. */
  readonly spacingMs: number;
  readonly requestsPerDay: number;
  /** How long to wait before the second, third … try of one request. */
  readonly backoffMs: readonly number[];
  /** A longer `Retry-After` is not waited for: the whole sync is tried again after it. */
  readonly maxWaitMs: number;
}

/** 28 requests a minute and 450 a day leave room for whoever else uses the key. */
export const defaultPace: Pace = {
  spacingMs: 2_100,
  requestsPerDay: 450,
  backoffMs: [2_000, 15_000, 60_000],
  maxWaitMs: 120_000,
};

/** The source is held this long after a request: longer than any wait between two. */
export const holdMs = 300_000;

/** The day's requests are used up. */
export class BudgetSpent extends Error {
  override readonly name = 'BudgetSpent';
}

/** Another process took the source over: this one was thought dead, and must not publish. */
export class SourceLost extends Error {
  override readonly name = 'SourceLost';
}

/** Reads from the source for whoever holds it: paced, counted in the database, and tried again when it fails. */
export class SourceReader {
  readonly holder: string;
  readonly #parts: ReaderParts;
  #nextAtMs: number;

  constructor(parts: ReaderParts, holder: string, askedAtMs: number | null) {
    this.#parts = parts;
    this.holder = holder;
    const { clock, pace } = parts;
    const sinceMs = askedAtMs === null ? pace.spacingMs : Math.max(0, clock.now() - askedAtMs);
    this.#nextAtMs = clock.monotonic() + Math.max(0, pace.spacingMs - sinceMs);
  }

  /**
   * What `parse` makes of the answer. Throws the last `SourceFault` when every try failed, `BudgetSpent`, `SourceLost`, or the
   * reason for which the sync was stopped.
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

  /** Waits for the next turn and counts it. */
  async #turn(): Promise<void> {
    const { clock, pace, signal, database } = this.#parts;
    await pause(clock, Math.max(0, this.#nextAtMs - clock.monotonic()), signal);
    this.#nextAtMs = clock.monotonic() + pace.spacingMs;
    const nowMs = clock.now();
    const utcDay = utcDayAt(nowMs);
    const limit = { utcDay, most: pace.requestsPerDay, nowMs, untilMs: nowMs + holdMs };
    const counted = await database.transaction((sql) => countRequest(sql, this.holder, limit));
    if (counted === 'lost') throw new SourceLost('another process talks to the source');
    if (counted === 'spent')
      throw new BudgetSpent(`the ${pace.requestsPerDay} requests of today are used up`);
  }
}

/** What reading needs. */
export interface ReaderParts {
  readonly source: Source;
  readonly database: Database;
  readonly clock: Clock;
  readonly pace: Pace;
  /** Aborts when the gateway closes. */
  readonly signal: AbortSignal;
}
