import { listGenerations } from '../generations/generations-sql.ts';
import { type EntryRow, listEntries } from '../ledger/ledger-sql.ts';
import type { Database } from '../store/database.ts';
import type { GenerationRow } from '../store/generation-row.ts';
import { readAhead } from '../store/read-ahead.ts';
import type { Sql } from '../store/sql.ts';

const entriesOfPage = 5_000;
const recordsOfPage = 2_000;
const beforeAll = { accountId: -1, id: 0, uuid: '00000000-0000-0000-0000-000000000000' };

/** Half-open, in epoch milliseconds; null: no bound. */
export interface ExportSpan {
  readonly fromMs: number | null;
  readonly toMs: number | null;
}
const always: ExportSpan = { fromMs: null, toMs: null };

/**
 * Every entry of the ledger in the order of account, then id; at most two pages of them in memory, of
 * each server that has accounts.
 */
export function exportEntries(
  database: Database,
  onlyAccount: number | null,
  span = always,
): AsyncGenerator<EntryRow> {
  return exported(
    database,
    onlyAccount,
    (sql) =>
      readAhead(entriesOfPage, (last: EntryRow | null) =>
        listEntries(sql, { after: last ?? beforeAll, onlyAccount, span, limit: entriesOfPage }),
      ),
    (a, b) => a.accountId - b.accountId || a.id - b.id,
  );
}

/** Every record in the order of account, then time; as many of them in memory. */
export function exportGenerations(
  database: Database,
  onlyAccount: number | null,
  span = always,
): AsyncGenerator<GenerationRow> {
  return exported(
    database,
    onlyAccount,
    (sql) =>
      readAhead(recordsOfPage, (last: GenerationRow | null) =>
        listGenerations(sql, { after: last ?? beforeAll, onlyAccount, span, limit: recordsOfPage }),
      ),
    (a, b) => a.accountId - b.accountId || (a.uuid < b.uuid ? -1 : Number(a.uuid > b.uuid)),
  );
}

async function* exported<T>(
  database: Database,
  onlyAccount: number | null,
  read: (sql: Sql) => AsyncGenerator<T>,
  compare: (a: T, b: T) => number,
): AsyncGenerator<T> {
  if (onlyAccount !== null) return yield* read(database);
  const placement = await database.place();
  yield* placement.merge(read, compare);
}
