import type { Database } from '../store/database.ts';
import { begin, rollback, type Sql } from '../store/sql.ts';
import { type EntryRow, listEntries } from './ledger-sql.ts';
import {
  type Anchor,
  checkNames,
  countRows,
  type Difference,
  findDifferences,
  freezeView,
  lockVerification,
  type VerifyProgress,
} from './verification-sql.ts';

export type { EntryRow } from './ledger-sql.ts';
export type { Anchor, VerifyProgress } from './verification-sql.ts';

const pageSize = 5_000;

/** Every entry in the order of account, then id; at most one page of them in memory. */
export async function* exportEntries(
  database: Database,
  onlyAccount: number | null,
): AsyncGenerator<EntryRow> {
  let after = { accountId: -1, id: 0 };
  for (;;) {
    const page = await listEntries(database, { after, onlyAccount, limit: pageSize });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    after = { accountId: last.accountId, id: last.id };
  }
}

/** The result of `naru ledger verify`. */
export interface Verdict {
  readonly checks: readonly string[];
  readonly differences: readonly Difference[];
  readonly accounts: number;
  readonly entries: number;
  readonly generations: number;
}

/**
 * Recomputes every balance and period total from its rows; no differences means that the ledger
 * agrees. `anchors`: the state of the chains when a backup was made, by account; the ledger must
 * contain them.
 */
export function verifyLedger(database: Database, anchors?: ReadonlyMap<number, Anchor>): Promise<Verdict> {
  return database.transaction(async (sql) => {
    await freezeView(sql);
    const differences = await findDifferences(sql, anchors);
    return { checks: checkNames, differences, ...(await countRows(sql)) };
  });
}

/**
 * The same on a connection of the caller's, beside calls; `busy` when another process does it.
 * `report` is called as it goes on; what it throws ends it.
 */
export async function verifyLedgerOn(
  sql: Sql,
  report: (progress: VerifyProgress) => void,
): Promise<Verdict | 'busy'> {
  await begin(sql);
  try {
    await freezeView(sql);
    if (!(await lockVerification(sql))) return 'busy';
    const differences = await findDifferences(sql, new Map(), report);
    return { checks: checkNames, differences, ...(await countRows(sql)) };
  } finally {
    await rollback(sql);
  }
}
