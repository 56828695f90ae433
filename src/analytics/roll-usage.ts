import type { Log } from '../log/log.ts';
import type { Database } from '../store/database.ts';
import { haveEnded, nextTransactions } from '../store/transactions.ts';
import { type Clock, isoOf } from '../time/clock.ts';
import { dueDays, markOldestDays } from './day-marks-sql.ts';
import type { HourSpan } from './facts-sql.ts';
import { rollDay } from './rolling-days-sql.ts';
import {
  firstHour,
  lockRollup,
  type Rolling,
  readCutter,
  readRolledUntil,
  rollAgain,
  rollSpan,
  rollStale,
  setRolledUntil,
  usedSpans,
} from './rolling-sql.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** How long after its end an hour is rolled up at the earliest: clocks of nodes differ. */
const closedAfterMs = 30_000;
/** An hour is rolled up after this time even if a transaction from before its end still runs. */
const maxWaitMs = 600_000;
const staleHoursPerTransaction = 500;
/** Every day is checked once in as many hours: a week. */
const checkRounds = 168;
const checkEveryMs = 3_600_000;
/** Days of one run; the hours of the present wait for them. */
const daysPerRun = 10;
/** An account has sums of a day from this number of rows of hours. */
const minRowsOfDay = 200;

/** Hours that were computed again, with the sums of all accounts. Cost in micro-won. */
export interface RebuiltSpan extends HourSpan {
  readonly requests: bigint;
  readonly cost: bigint;
}

/**
 * Rolls up the usage of closed hours (docs/decisions/rollups.md). Safe on several nodes: one of
 * them holds a lock. Every hour is computed as a whole, so a process that is killed in between
 * loses and counts nothing twice.
 */
export class UsageRoller {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #log: Log;
  /** The end of the hour that is to be rolled up, and the transactions that must have ended. */
  #closing: { readonly toMs: number; readonly endedAt: readonly bigint[]; readonly sinceMs: number } | null =
    null;
  readonly #minRowsOfDay: number;
  #checkedMs = Number.NEGATIVE_INFINITY;

  constructor(parts: {
    readonly database: Database;
    readonly clock: Clock;
    readonly log: Log;
    readonly minRowsOfDay?: number;
  }) {
    this.#minRowsOfDay = parts.minRowsOfDay ?? minRowsOfDay;
    this.#database = parts.database;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  /** Rolls up what is due; called regularly. */
  async run(): Promise<void> {
    await this.#rollDue();
    if (this.#clock.monotonic() - this.#checkedMs >= checkEveryMs) {
      this.#checkedMs = this.#clock.monotonic();
      await this.#locked(({ sql }) => markOldestDays(sql, 1 / checkRounds));
    }
    await this.#rollDays(daysPerRun);
  }

  /**
   * Computes the rolled hours of a period again, each few hours in a transaction of their own: a
   * process that is killed leaves every hour as it was or as it ought to be. Waits for other
   * processes that roll up. What was not rolled up yet is, too.
   */
  async *rebuild({ fromMs, toMs }: Partial<HourSpan> = {}): AsyncGenerator<RebuiltSpan> {
    await this.#rollDue();
    const until = await readRolledUntil(this.#database);
    if (until === null) return;
    const period = { ...(fromMs === undefined ? {} : { fromMs }), toMs: Math.min(until, toMs ?? until) };
    for (const span of await usedSpans(this.#database, period))
      yield {
        ...span,
        ...(await this.#database.transaction(async (sql) => {
          await lockRollup(sql, true);
          return rollAgain({ database: this.#database, sql }, span);
        })),
      };
    await this.#rollDays(Number.MAX_SAFE_INTEGER, period);
  }

  /** Checks every closed day; returns how many days of accounts were computed again. */
  async reconcile(): Promise<number> {
    await this.#locked(({ sql }) => markOldestDays(sql, 1));
    return this.#rollDays(Number.MAX_SAFE_INTEGER);
  }

  /**
   * Checks and sums the due days that are rolled up as a whole, each in its own transaction; with a
   * period only days of it, also when that must wait for another process.
   */
  async #rollDays(limit: number, period: Partial<HourSpan> | null = null): Promise<number> {
    const until = await readRolledUntil(this.#database);
    if (until === null) return 0;
    let differing = 0;
    const { fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY } = period ?? {};
    for (const startMs of await dueDays(this.#database, until, limit)) {
      if (startMs + dayMs <= fromMs || startMs >= toMs) continue;
      const options = { minRows: this.#minRowsOfDay, nowMs: this.#clock.now() };
      differing +=
        (await this.#locked((rolling) => rollDay(rolling, startMs, options), period !== null)) ?? 0;
    }
    if (differing > 0) this.#log.warn('usage_rolled_again', { days: differing });
    return differing;
  }

  async #rollDue(): Promise<void> {
    await this.#pullBack();
    const lastMs = await this.#closedUntil();
    if (lastMs !== null) await this.#rollUntil(lastMs);
    while (
      (await this.#locked((rolling) => rollStale(rolling, staleHoursPerTransaction))) ===
      staleHoursPerTransaction
    );
  }

  /**
   * A mark in the future is that of a clock that was wrong: hours were rolled up before they ended.
   * They will be again, and every closed day is checked.
   */
  async #pullBack(): Promise<void> {
    const until = await readRolledUntil(this.#database);
    if (until === null || until <= this.#clock.now()) return;
    await this.#locked(async ({ sql }) => {
      await setRolledUntil(sql, this.#lastClosedMs());
      await markOldestDays(sql, 1);
    }, true);
    this.#log.warn('usage_rolled_early', { until: isoOf(until) });
  }

  /** The end of the last hour that is closed. */
  #lastClosedMs(): number {
    return Math.floor((this.#clock.now() - closedAfterMs) / hourMs) * hourMs;
  }

  /** The end of the last hour that may be rolled up; null when that must wait. */
  async #closedUntil(): Promise<number | null> {
    const toMs = this.#lastClosedMs();
    const until = await readRolledUntil(this.#database);
    if (until !== null && until >= toMs) return null;
    if (this.#closing?.toMs !== toMs) {
      const endedAt = await nextTransactions(this.#database);
      this.#closing = { toMs, endedAt, sinceMs: this.#clock.monotonic() };
    }
    const { endedAt, sinceMs } = this.#closing;
    const isLate = this.#clock.monotonic() - sinceMs >= maxWaitMs;
    return isLate || (await haveEnded(this.#database, endedAt)) ? toMs : null;
  }

  async #rollUntil(toMs: number): Promise<void> {
    const fromMs =
      (await readRolledUntil(this.#database)) ?? (await firstHour(this.#database)) ?? toMs - hourMs;
    const cut = await readCutter(this.#database);
    for (const span of cut({ fromMs, toMs })) {
      const turn = await this.#locked(async (rolling) => {
        // Another process may have been faster.
        const until = await readRolledUntil(rolling.sql);
        if ((until ?? Number.NEGATIVE_INFINITY) < span.toMs) await rollSpan(rolling, span);
        return 'done';
      });
      // Once a later span is rolled up, none before it ever is: the next run goes on from here.
      if (turn === null) return;
    }
  }

  /** Runs in a transaction with the lock; null when another process has it. */
  #locked<T>(run: (rolling: Rolling) => Promise<T>, wait = false): Promise<T | null> {
    const database = this.#database;
    return database.transaction(async (sql) =>
      (await lockRollup(sql, wait)) ? run({ database, sql }) : null,
    );
  }
}
