import type { Database } from '../store/database.ts';
import type { Transactions } from '../store/sql.ts';
import type { AccountRow } from './accounts-sql.ts';
import { findAccount, findAccounts, insertAccount, listAccounts } from './accounts-sql.ts';

export type { AccountRow } from './accounts-sql.ts';

/** Creates an account with an empty balance; returns its id. */
export function createAccount(
  database: Transactions,
  account: { readonly name: string; readonly email: string | null; readonly createdAtMs: number },
): Promise<number> {
  return database.transaction((sql) => insertAccount(sql, account));
}

/** One account with its money, or null. */
export function readAccount(database: Database, accountId: number): Promise<AccountRow | null> {
  return findAccount(database, accountId);
}

/** These accounts with their money; one that does not exist is left out. */
export function readAccountsById(
  database: Database,
  accountIds: readonly number[],
): Promise<readonly AccountRow[]> {
  return findAccounts(database, accountIds);
}

/** Every account with its money, oldest first. */
export function readAccounts(database: Database): Promise<readonly AccountRow[]> {
  return listAccounts(database);
}
