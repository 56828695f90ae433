import type { Sql } from '../store/sql.ts';

/** The money of one account as the database has it, in micro-won. */
export interface BalanceRow {
  readonly accountId: number;
  readonly credits: bigint;
  readonly usage: bigint;
  /** Grows with every change of the row. */
  readonly version: bigint;
}

/** One account for the operator. */
export interface AccountRow extends BalanceRow {
  readonly name: string;
  readonly email: string | null;
  readonly createdAtMs: number;
  /** When an operator suspended it; null: it is not suspended. */
  readonly suspendedAtMs: number | null;
  readonly suspendReason: string | null;
}

/** The same as the database returns it. */
export interface RawBalance {
  account_id: bigint;
  credits: bigint;
  usage: bigint;
  version: bigint;
}
/** An account as the database returns it. */
export interface RawAccount extends RawBalance {
  name: string;
  email: string | null;
  created_at: number;
  suspended_at: number | null;
  suspend_reason: string | null;
}

/** The columns of `RawAccount`. */
export const selectAccount = `
SELECT a.id AS account_id, a.name, a.email, a.created_at, a.suspended_at, a.suspend_reason, b.credits, b.usage, b.version
FROM account a JOIN account_balance b ON b.account_id = a.id`;

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
export async function findAccount(sql: Sql, accountId: number): Promise<AccountRow | null> {
  const [row] = await sql.query<RawAccount>(`${selectAccount} WHERE a.id = $1`, [accountId]);
  return row === undefined ? null : accountOf(row);
}

/** These accounts; one that does not exist is left out. */
export async function findAccounts(sql: Sql, accountIds: readonly number[]): Promise<readonly AccountRow[]> {
  const rows = await sql.query<RawAccount>(`${selectAccount} WHERE a.id = ANY($1::bigint[])`, [accountIds]);
  return rows.map(accountOf);
}

/** Every account, oldest first. */
export async function listAccounts(sql: Sql): Promise<readonly AccountRow[]> {
  return (await sql.query<RawAccount>(`${selectAccount} ORDER BY a.id`)).map(accountOf);
}

/**
 * Locks an account until the transaction ends; keys are created one at a time with this lock too.
 */
export async function lockAccount(
  sql: Sql,
  accountId: number,
): Promise<{ readonly suspendedAtMs: number | null } | null> {
  const [row] = await sql.query<{ suspended_at: number | null }>(
    'SELECT suspended_at FROM account WHERE id = $1 FOR NO KEY UPDATE',
    [accountId],
  );
  return row === undefined ? null : { suspendedAtMs: row.suspended_at };
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
export async function findBalances(sql: Sql, accountIds: readonly number[]): Promise<readonly BalanceRow[]> {
  const rows = await sql.query<RawBalance>(
    'SELECT account_id, credits, usage, version FROM account_balance WHERE account_id = ANY($1::bigint[])',
    [accountIds],
  );
  return rows.map(balanceOf);
}

/** A raw row of account_balance, as `findBalances` and a settlement return it. */
export function balanceOf(row: RawBalance): BalanceRow {
  return { accountId: Number(row.account_id), credits: row.credits, usage: row.usage, version: row.version };
}

/** A raw row of an account. */
export function accountOf(row: RawAccount): AccountRow {
  return {
    ...balanceOf(row),
    name: row.name,
    email: row.email,
    createdAtMs: row.created_at,
    suspendedAtMs: row.suspended_at,
    suspendReason: row.suspend_reason,
  };
}
