import type { Database } from '../store/database.ts';
import { findSchemaFaults } from '../store/schema-sql.ts';
import { eachShard, type ShardLimits } from '../store/shard-views.ts';
import { readShards } from '../store/shards.ts';
import { begin, rollback, type Sql } from '../store/sql.ts';
import {
  type Anchor,
  checkNames,
  countRows,
  type Difference,
  findDifferences,
  findDifferencesOfAccounts,
  findDifferencesOfAll,
  firstOfEach,
  freezeView,
  lockVerification,
  stepsOfVerification,
  type VerifyProgress,
} from './verification-sql.ts';

/** The result of `naru ledger verify`. */
export interface Verdict {
  readonly checks: readonly string[];
  readonly differences: readonly Difference[];
  readonly accounts: number;
  readonly entries: number;
  readonly generations: number;
}

const schemaCheck = 'the database has the tables, constraints, indexes and triggers of the schema';
/** Of the coordinator, and read by the checks of accounts. */
const tablesBesideAccounts = ['price_version'];

/**
 * Recomputes every balance and period total from its rows; no differences means that the ledger
 * agrees. `anchors`: the state of the chains when a backup was made, by account; the ledger must
 * contain them. Where accounts are distributed, each shard is verified at its server, by an instant
 * of its own. Throws an `OperatorError` when one of these servers does not respond.
 */
export function verifyLedger(
  database: Database,
  anchors: ReadonlyMap<number, Anchor> = new Map(),
): Promise<Verdict> {
  return database.transaction(async (sql) => {
    await freezeView(sql);
    return verifyIn(database, sql, anchors);
  });
}

/** A verification beside calls. */
export interface VerificationBeside extends Required<ShardLimits> {
  /** Called as it goes on. */
  readonly report: (progress: VerifyProgress) => void;
}

/**
 * The same on a connection of the caller's, beside calls; `busy` when another process does it. The
 * limits are of the servers with shards; the caller bounds the statements of its own connection.
 */
export async function verifyLedgerOn(
  database: Database,
  sql: Sql,
  beside: VerificationBeside,
): Promise<Verdict | 'busy'> {
  await begin(sql);
  try {
    await freezeView(sql);
    if (!(await lockVerification(sql))) return 'busy';
    return await verifyIn(database, sql, new Map(), beside);
  } finally {
    await rollback(sql);
  }
}

async function verifyIn(
  database: Database,
  sql: Sql,
  anchors: ReadonlyMap<number, Anchor>,
  beside?: VerificationBeside,
): Promise<Verdict> {
  const report =
    beside === undefined
      ? undefined
      : (progress: VerifyProgress): void => {
          beside.signal.throwIfAborted();
          beside.report(progress);
        };
  const shards = await readShards(sql);
  const faults = (await findSchemaFaults(sql)).map((found) => ({
    check: schemaCheck,
    subject: 'database',
    expected: 'the schema of the migrations',
    found,
  }));
  const allChecks = [...checkNames, schemaCheck];
  if (shards.count === 1) {
    const differences = [...faults, ...(await findDifferences(sql, anchors, report))];
    return { checks: allChecks, differences, ...(await countRows(sql)) };
  }
  const steps = stepsOfVerification.all + shards.count * stepsOfVerification.accounts;
  let done = 0;
  const next = (check: string): void => {
    report?.({ check, share: done / steps });
    done += 1;
  };
  const anchorsOf = Map.groupBy(anchors, ([accountId]) => shards.of(accountId));
  const found: Difference[] = [...faults, ...(await findDifferencesOfAll(sql, next))];
  const rows = { accounts: 0, entries: 0, generations: 0 };
  const isBesideCalls = report !== undefined;
  const { limitMs = null, signal } = beside ?? {};
  const options = { copied: tablesBesideAccounts, limitMs, ...(signal === undefined ? {} : { signal }) };
  await eachShard(database, options, async (ofShard, shard) => {
    const own = new Map(anchorsOf.get(shard));
    found.push(...(await findDifferencesOfAccounts(ofShard, { anchors: own, next, isBesideCalls })));
    const counts = await countRows(ofShard);
    rows.accounts += counts.accounts;
    rows.entries += counts.entries;
    rows.generations += counts.generations;
  });
  return { checks: allChecks, differences: firstOfEach(found), ...rows };
}
