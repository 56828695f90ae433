import type { Database } from '../store/database.ts';
import { readAhead } from '../store/read-ahead.ts';
import type { Sql } from '../store/sql.ts';
import { type EntryRow, listEntries } from './ledger-sql.ts';

export type { EntryRow } from './ledger-sql.ts';

const pageSize = 5_000;

/**
 * Every entry in the order of account, then id; at most two pages of them in memory, of each server
 * that has accounts.
 */
export async function* exportEntries(
  database: Database,
  onlyAccount: number | null,
): AsyncGenerator<EntryRow> {
  const read = (sql: Sql): AsyncGenerator<EntryRow> =>
    readAhead(pageSize, (last: EntryRow | null) =>
      listEntries(sql, { after: last ?? { accountId: -1, id: 0 }, onlyAccount, limit: pageSize }),
    );
  if (onlyAccount !== null) return yield* read(database);
  const placement = await database.place();
  yield* placement.merge(read, (a, b) => a.accountId - b.accountId || a.id - b.id);
}
