import type { Database } from '../store/database.ts';
import { eachShard } from '../store/shard-views.ts';
import { readShards } from '../store/shards.ts';
import type { Sql } from '../store/sql.ts';
import { type HourSpan, ofAccounts, ofTotals } from './facts-sql.ts';
import { holdRollups, readRolledUntil, usedSpans } from './rolling-sql.ts';
import {
  checkDay,
  checkHours,
  checkLedger,
  checkPruned,
  checkTotals,
  countDueHours,
  freezeUsage,
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
  readonly differences: readonly UsageDifference[];
}

/**
 * Compares every rolled hour with the records, with what dropped records left, and with the ledger.
 * Where accounts are distributed, those of each shard are compared at its server, by an instant of
 * its own; nothing is rolled up meanwhile.
 */
export function verifyUsage(database: Database): Promise<UsageVerdict> {
  return database.transaction(async (sql) => {
    const isDistributed = (await readShards(database)).count > 1;
    await (isDistributed ? holdRollups(sql) : freezeUsage(sql));
    const dueHours = await countDueHours(sql);
    const toMs = await readRolledUntil(sql);
    const spans = toMs === null ? [] : await usedSpans(sql, { toMs });
    const [first] = spans;
    const span = toMs === null || first === undefined ? null : { fromMs: first.fromMs, toMs };
    const differences: UsageDifference[] = [];
    const isFull = (): boolean => differences.length >= maxDifferences;
    const checkAccounts = async (ofShard: Sql): Promise<void> => {
      differences.push(...(await checkPruned(ofShard)));
      if (span === null) return;
      differences.push(...(await checkLedger(ofShard, span)));
      for (const part of spans) if (!isFull()) differences.push(...(await checkHours(ofShard, part)));
      for (const day of await summedDays(ofShard, ofAccounts))
        if (!isFull()) differences.push(...(await checkDay(ofShard, day)));
    };
    await (isDistributed ? eachShard(database, {}, checkAccounts) : checkAccounts(sql));
    for (const part of spans) if (!isFull()) differences.push(...(await checkTotals(sql, part)));
    for (const day of await summedDays(sql, ofTotals))
      if (!isFull()) differences.push(...(await checkDay(sql, day)));
    return { span, dueHours, differences };
  });
}
