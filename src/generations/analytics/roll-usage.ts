import type { Database } from '../../store/database.ts';
import type { Clock } from '../../time/clock.ts';
import { seoulDayAt } from '../../time/period.ts';
import type { HourSpan } from './facts-sql.ts';
import {
  lockRollup,
  type Rolling,
  readRolledUntil,
  readUsedDays,
  rollHours,
  rollStale,
  setRolledUntil,
  sumHours,
} from './rolling-sql.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** How long after its end an hour is rolled up: settlements of its last seconds are being written. */
const closedAfterMs = 30_000;
/**
 * How much of what is rolled up is computed again when an hour has ended, and when a Seoul day has:
 * usage that came late without a mark, of a transaction that took long or by a clock that was wrong,
 * is in it.
 */
const againMs = { hourly: hourMs, daily: 48 * hourMs };
/** Of one transaction. */
const partMs = 6 * hourMs;
const staleHoursPerTransaction = 500;

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

  constructor(parts: { readonly database: Database; readonly clock: Clock }) {
    this.#database = parts.database;
    this.#clock = parts.clock;
  }

  /**
   * Rolls up what is due; called regularly. While another process rolls up, it leaves the rest to
   * the next call, unless it is to wait.
   */
  async run(wait = false): Promise<void> {
    await this.#rollClosed(wait);
    const limit = staleHoursPerTransaction;
    while ((await this.#locked(wait, (rolling) => rollStale(rolling, limit))) === limit);
  }

  /**
   * Computes the rolled hours of a period again, each few hours in a transaction of their own: a
   * process that is killed leaves every hour as it was or as it ought to be. Waits for other
   * processes that roll up. What was not rolled up yet is, too.
   */
  async *rebuild({ fromMs = 0, toMs }: Partial<HourSpan> = {}): AsyncGenerator<RebuiltSpan> {
    await this.run(true);
    const until = (await readRolledUntil(this.#database)) ?? 0;
    const end = Math.min(until, toMs ?? until);
    for (const day of await readUsedDays(this.#database))
      for (const span of parts({ fromMs: Math.max(day, fromMs), toMs: Math.min(day + dayMs, end) })) {
        const sums = await this.#locked(true, async (rolling) => {
          await rollHours(rolling, span);
          return sumHours(rolling.sql, span);
        });
        if (sums !== null) yield { ...span, ...sums };
      }
  }

  /** Rolls up the hours that have ended since, and the recent ones again. */
  async #rollClosed(wait: boolean): Promise<void> {
    const toMs = Math.floor((this.#clock.now() - closedAfterMs) / hourMs) * hourMs;
    const until = await readRolledUntil(this.#database);
    // A mark of the future is that of a clock that was wrong: hours were rolled up before they ended.
    const isEarly = (mark: number): boolean => mark > this.#clock.now();
    if (until !== null && until >= toMs && !isEarly(until)) return;
    const rolledMs = until ?? (await readUsedDays(this.#database))[0] ?? toMs;
    const isDaily = isEarly(rolledMs) || seoulDayAt(rolledMs) < seoulDayAt(toMs);
    const fromMs = Math.min(rolledMs, toMs) - (isDaily ? againMs.daily : againMs.hourly);
    for (const span of parts({ fromMs, toMs })) {
      const turn = await this.#locked(wait, async (rolling) => {
        await rollHours(rolling, span);
        const mark = await readRolledUntil(rolling.sql);
        if (mark === null || mark < span.toMs || isEarly(mark)) await setRolledUntil(rolling.sql, span.toMs);
        return 'done';
      });
      // Once a later span is rolled up, none before it ever is: the next run goes on from here.
      if (turn === null) return;
    }
  }

  /** Runs in a transaction with the lock; null when another process has it and is not waited for. */
  #locked<T>(wait: boolean, run: (rolling: Rolling) => Promise<T>): Promise<T | null> {
    const database = this.#database;
    return database.transaction(async (sql) =>
      (await lockRollup(sql, wait)) ? run({ database, sql }) : null,
    );
  }
}

function parts({ fromMs, toMs }: HourSpan): readonly HourSpan[] {
  const count = Math.max(0, Math.ceil((toMs - fromMs) / partMs));
  return Array.from({ length: count }, (_, at) => ({
    fromMs: fromMs + at * partMs,
    toMs: Math.min(toMs, fromMs + (at + 1) * partMs),
  }));
}
