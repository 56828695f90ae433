import type { Database } from '../store/database.ts';
import type { WorkLimits } from '../store/placement/placement.ts';
import { findSchemaFaults } from '../store/schema-sql.ts';
import { begin, rollback, type Sql } from '../store/sql.ts';
import {
  type Anchor,
  checkNames,
  countRows,
  type Difference,
  findDifferencesOfAccounts,
  findDifferencesOfAll,
  firstOfEach,
  freezeView,
  lockVerification,
  type VerifyFollower,
  VerifySteps,
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
/** Not of accounts, and read by their checks. */
const tablesBesideAccounts = ['price_version'];

/**
 * Recomputes every balance and period total from its rows; no differences means that the ledger
 * agrees. `anchors`: the state of the chains when a backup was made, by account; the ledger must
 * contain them. Each part of the accounts is verified where it is, by an instant of its own. Throws
 * an `OperatorError` when a server of them does not respond.
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
export type VerificationBeside = VerifyFollower & Required<WorkLimits>;

/**
 * The same on a connection of the caller's, beside calls; `busy` when another process does it. The
 * limits are of other servers; the caller bounds the statements of its own connection.
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
  const placement = await database.place(sql);
  const steps = new VerifySteps(placement.parts, beside);
  const found: Difference[] = (await findSchemaFaults(sql)).map((fault) => ({
    check: schemaCheck,
    subject: 'database',
    expected: 'the schema of the migrations',
    found: fault,
  }));
  found.push(...(await findDifferencesOfAll(sql, steps)));
  const anchorsOf = Map.groupBy(anchors, ([accountId]) => placement.partOf(accountId));
  const rows = { accounts: 0, entries: 0, generations: 0 };
  const limits = beside === undefined ? {} : { limitMs: beside.limitMs, signal: beside.signal };
  await placement.eachPart(sql, { copied: tablesBesideAccounts, ...limits }, async (ofPart, part) => {
    const counts = await countRows(ofPart);
    rows.accounts += counts.accounts;
    rows.entries += counts.entries;
    rows.generations += counts.generations;
    const ofAccounts = { anchors: new Map(anchorsOf.get(part)), entries: counts.entries };
    found.push(...(await findDifferencesOfAccounts(ofPart, ofAccounts, steps)));
  });
  return { checks: [...checkNames, schemaCheck], differences: firstOfEach(found), ...rows };
}
