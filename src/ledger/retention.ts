import type { Database } from '../store/database.ts';
import { isoDay, periodAt, seoulDayAt } from '../time/period.ts';
import { dropMonth, type KeepOfMonth, listMonths, type MonthOfRecords, sumMonth } from './retention-sql.ts';
import { verifyLedger } from './verification.ts';

/**
 * Which months to drop: those that ended before this instant, which must be the beginning of a
 * Seoul month.
 */
export interface PruneOptions {
  readonly beforeMs: number;
  /** Nothing is dropped; the result lists what would be. */
  readonly dryRun: boolean;
}

/** A month whose records were dropped, or would be. */
export interface PrunedMonth {
  /** `YYYY-MM` in Seoul. */
  readonly month: string;
  readonly records: number;
  readonly costMicro: bigint;
}

export type PruneOutcome =
  | { readonly kind: 'pruned'; readonly months: readonly PrunedMonth[] }
  /**
   * The current month and the one before it stay; `latestMs` is the last instant that would have
   * been accepted.
   */
  | { readonly kind: 'too_recent'; readonly latestMs: number }
  /** The ledger does not agree; nothing was dropped. */
  | { readonly kind: 'books_differ' };

/**
 * Drops the records of old months, oldest first. Their sums stay (docs/decisions/retention.md), so
 * that the ledger can still be verified; hence nothing is dropped from a ledger that does not agree.
 * Throws an `OperatorError` when records are being read; the months before that one are dropped.
 */
export async function pruneGenerations(
  database: Database,
  { beforeMs, dryRun }: PruneOptions,
  { nowMs, keep }: { readonly nowMs: number; readonly keep: KeepOfMonth },
): Promise<PruneOutcome> {
  const latestMs = periodAt('monthly', periodAt('monthly', nowMs).startMs - 1).startMs;
  if (beforeMs > latestMs) return { kind: 'too_recent', latestMs };
  const months = (await listMonths(database)).map(spanOf).filter(({ endMs }) => endMs <= beforeMs);
  if (!dryRun && months.length > 0 && !(await isVerified(database))) return { kind: 'books_differ' };
  const pruned: PrunedMonth[] = [];
  for (const span of months) {
    const sums = dryRun ? await sumMonth(database, span) : await dropMonth(database, span, { nowMs, keep });
    pruned.push({ month: span.month.slice(0, 7), ...sums });
  }
  return { kind: 'pruned', months: pruned };
}

function spanOf(month: string): MonthOfRecords {
  // Midnight UTC is 09:00 of the same day in Seoul.
  const { startMs, endMs } = periodAt('monthly', Date.parse(month));
  return { month: isoDay(seoulDayAt(startMs)), startMs, endMs };
}

async function isVerified(database: Database): Promise<boolean> {
  return (await verifyLedger(database)).differences.length === 0;
}
