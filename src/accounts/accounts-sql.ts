import { column, number, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';

/** The members of a balance. */
export const balanceColumns = {
  accountId: number('account_id'),
  credits: column<bigint>('credits'),
  usage: column<bigint>('usage'),
  /** Grows with every change of the row. */
  version: column<bigint>('version'),
};
const balances = recordOf(balanceColumns);

/** The money of one account as the database has it, in micro-won. */
export type BalanceRow = RowOf<typeof balances>;

/** Accounts of `selectAccount`. */
export const accounts = recordOf({
  accountId: number('a.id'),
  name: column<string>('a.name'),
  email: column<string | null>('a.email'),
  /** Of a Korean company, ten digits. */
  businessNumber: column<string | null>('a.business_number'),
  createdAtMs: column<number>('a.created_at'),
  /** When an operator suspended it; null: it is not suspended. */
  suspendedAtMs: column<number | null>('a.suspended_at'),
  suspendReason: column<string | null>('a.suspend_reason'),
  /** When an operator closed it; null: it is open. */
  closedAtMs: column<number | null>('a.closed_at'),
  credits: column<bigint>('b.credits'),
  usage: column<bigint>('b.usage'),
  version: column<bigint>('b.version'),
});

/** One account for the operator. */
export type AccountRow = RowOf<typeof accounts>;

export const selectAccount = `
SELECT ${accounts.columns} FROM account a JOIN account_balance b ON b.account_id = a.id`;

/** Creates an account with an empty balance and returns its id. */
export async function insertAccount(
  sql: Sql,
  account: { readonly name: string; readonly email: string | null; readonly createdAtMs: number },
): Promise<number> {
  const [row] = await sql.query<{ id: bigint }>(
    'INSERT INTO account (name, email, created_at) VALUES ($1, $2, to_timestamp($3::float8 / 1000)) RETURNING id',
    [account.name, account.email, account.createdAtMs],
  );
  if (row === undefined) throw new Error('INSERT INTO account returned no row');
  await sql.query('INSERT INTO account_balance (account_id) VALUES ($1)', [row.id]);
  return Number(row.id);
}

/** One account, or null. */
export function findAccount(sql: Sql, accountId: number): Promise<AccountRow | null> {
  return accounts.first(sql, `${selectAccount} WHERE a.id = $1`, [accountId]);
}

/** These accounts; one that does not exist is left out. */
export function findAccounts(sql: Sql, accountIds: readonly number[]): Promise<readonly AccountRow[]> {
  return accounts.all(sql, `${selectAccount} WHERE a.id = ANY($1::bigint[])`, [accountIds]);
}

/** Every account, oldest first. */
export function listAccounts(sql: Sql): Promise<readonly AccountRow[]> {
  return accounts.all(sql, `${selectAccount} ORDER BY a.id`);
}

/**
 * Locks an account until the transaction ends; keys are created one at a time with this lock too.
 */
export async function lockAccount(
  sql: Sql,
  accountId: number,
): Promise<{ readonly suspendedAtMs: number | null; readonly closedAtMs: number | null } | null> {
  const [row] = await sql.query<{ suspended_at: number | null; closed_at: number | null }>(
    'SELECT suspended_at, closed_at FROM account WHERE id = $1 FOR NO KEY UPDATE',
    [accountId],
  );
  return row === undefined ? null : { suspendedAtMs: row.suspended_at, closedAtMs: row.closed_at };
}

/** Closes an account, or opens it again (`atMs` null). */
export async function setClosed(sql: Sql, accountId: number, atMs: number | null): Promise<void> {
  await sql.query('UPDATE account SET closed_at = to_timestamp($2::float8 / 1000) WHERE id = $1', [
    accountId,
    atMs,
  ]);
}

/** Renames an account; false when there is none. */
export async function setName(sql: Sql, accountId: number, name: string): Promise<boolean> {
  const rows = await sql.query('UPDATE account SET name = $2 WHERE id = $1 RETURNING id', [accountId, name]);
  return rows.length > 0;
}

/** Whether an account is closed. Until the transaction ends nobody closes it. */
export async function isClosed(sql: Sql, accountId: number): Promise<boolean> {
  const [row] = await sql.query<{ closed: boolean }>(
    'SELECT closed_at IS NOT NULL AS closed FROM account WHERE id = $1 FOR SHARE',
    [accountId],
  );
  return row?.closed === true;
}

/** Suspends an account, or lifts its suspension (`atMs` null). */
export async function setSuspended(
  sql: Sql,
  accountId: number,
  { atMs, reason }: { readonly atMs: number | null; readonly reason: string | null },
): Promise<void> {
  await sql.query(
    'UPDATE account SET suspended_at = to_timestamp($2::float8 / 1000), suspend_reason = $3 WHERE id = $1',
    [accountId, atMs, reason],
  );
}

/** Revokes every key of an account; returns the ids of those that were not revoked before. */
export async function revokeKeysOf(sql: Sql, accountId: number, atMs: number): Promise<readonly number[]> {
  const rows = await sql.query<{ id: bigint }>(
    `UPDATE api_key SET revoked_at = to_timestamp($2::float8 / 1000),
       updated_at = greatest(created_at, updated_at, to_timestamp($2::float8 / 1000))
     WHERE account_id = $1 AND revoked_at IS NULL RETURNING id`,
    [accountId, atMs],
  );
  return rows.map(({ id }) => Number(id));
}

/** Sets the business number of an account, or removes it; returns the one before, undefined without the account. */
export async function setBusinessNumber(
  sql: Sql,
  accountId: number,
  businessNumber: string | null,
): Promise<string | null | undefined> {
  const [row] = await sql.query<{ before: string | null }>(
    `UPDATE account a SET business_number = $2 FROM (SELECT business_number FROM account WHERE id = $1 FOR NO KEY UPDATE) o
     WHERE a.id = $1 RETURNING o.business_number AS before`,
    [accountId, businessNumber],
  );
  return row?.before;
}

/** The ids of the keys of an account that are not revoked. */
export async function findLiveKeyIds(sql: Sql, accountId: number): Promise<readonly number[]> {
  const rows = await sql.query<{ id: bigint }>(
    'SELECT id FROM api_key WHERE account_id = $1 AND revoked_at IS NULL',
    [accountId],
  );
  return rows.map(({ id }) => Number(id));
}

/** An arbitrary constant: the advisory lock for creating the first account. */
const firstAccountLock = 7_236_482_622;

/**
 * The oldest two accounts, with a lock until the transaction ends: of several nodes that start at
 * once on an empty database one creates the first account; the others wait and find it.
 */
export async function lockFirstAccounts(
  sql: Sql,
): Promise<readonly { readonly id: number; readonly name: string }[]> {
  await sql.query('SELECT pg_advisory_xact_lock($1)', [firstAccountLock]);
  const rows = await sql.query<{ id: bigint; name: string }>(
    'SELECT id, name FROM account ORDER BY id LIMIT 2',
  );
  return rows.map(({ id, name }) => ({ id: Number(id), name }));
}

/** The money of several accounts; one that does not exist is left out. */
export function findBalances(sql: Sql, accountIds: readonly number[]): Promise<readonly BalanceRow[]> {
  return balances.all(
    sql,
    `SELECT ${balances.columns} FROM account_balance WHERE account_id = ANY($1::bigint[])`,
    [accountIds],
  );
}
