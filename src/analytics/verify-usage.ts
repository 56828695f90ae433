import type { Database } from '../store/database.ts';
import type { HourSpan } from './facts-sql.ts';
import { readRolledUntil, usedSpans } from './rolling-sql.ts';
import {
  checkDay,
  checkLedger,
  checkPruned,
  checkSpan,
  countDueHours,
  freezeUsage,
  readFrozenUntil,
  summedDays,
  type UsageDifference,
} from './usage-checks-sql.ts';

/** How many differences are reported. */
const maxDifferences = 400;

/** The result of `naru usage verify`. */
export interface UsageVerdict {
  /** The hours that were compared, half-open; null: none is rolled up. */
  readonly span: HourSpan | null;
  /**
   * Hours of accounts that the next rolling computes again, because they got records after it; they
   * are not compared.
   */
  readonly dueHours: number;
  /**
   * Months that ended before this instant were dropped by a version that kept nothing of their
   * hours; null: there are none.
   */
  readonly frozenUntilMs: number | null;
  readonly differences: readonly UsageDifference[];
}

/**
 * Compares every rolled hour with the records, with what dropped records left, and with the ledger.
 */
export function verifyUsage(database: Database): Promise<UsageVerdict> {
  return database.transaction(async (sql) => {
    await freezeUsage(sql);
    const frozenUntilMs = await readFrozenUntil(sql);
    const dueHours = await countDueHours(sql);
    const differences: UsageDifference[] = [...(await checkPruned(sql))];
    const toMs = await readRolledUntil(sql);
    const spans = toMs === null ? [] : await usedSpans(sql, { toMs });
    const [first] = spans;
    if (toMs === null || first === undefined) return { span: null, dueHours, frozenUntilMs, differences };
    const span = { fromMs: first.fromMs, toMs };
    differences.push(...(await checkLedger(sql, span)));
    for (const part of spans)
      if (differences.length < maxDifferences) differences.push(...(await checkSpan(sql, part)));
    for (const day of await summedDays(sql))
      if (differences.length < maxDifferences) differences.push(...(await checkDay(sql, day)));
    return { span, dueHours, frozenUntilMs, differences };
  });
}
