import { findInAnyAccount } from '../generations/any-account-sql.ts';
import { int8Array, int8ArrayOfNumbers } from '../store/binary-arrays.ts';
import { lotDigest, microseconds } from '../store/digests.ts';
import type { Sql } from '../store/sql.ts';
import { type EntryKind, entryKindNumber, entryKinds } from './ledger-sql.ts';

/** The balance row of an account, locked until the transaction ends. */
export interface LockedBalance {
  readonly accountId: number;
  readonly credits: bigint;
  readonly usage: bigint;
  readonly lotApplied: bigint;
}

/** A lot that still has a remainder. */
export interface OpenLot {
  readonly accountId: number;
  readonly id: number;
  readonly remaining: bigint;
  readonly expiresAtMs: number | null;
}

/** Locks an account's balance row; null when the account does not exist. */
export async function lockBalance(sql: Sql, accountId: number): Promise<LockedBalance | null> {
  return (await lockBalances(sql, [accountId]))[0] ?? null;
}

/**
 * Locks the balance rows of accounts in the order that every transaction uses; an account that does
 * not exist is left out.
 */
export async function lockBalances(
  sql: Sql,
  accountIds: readonly number[],
): Promise<readonly LockedBalance[]> {
  const rows = await sql.query<{ account_id: bigint; credits: bigint; usage: bigint; lot_applied: bigint }>(
    'SELECT account_id, credits, usage, lot_applied FROM account_balance WHERE account_id = ANY($1::bigint[]) ORDER BY account_id FOR UPDATE',
    [int8ArrayOfNumbers(accountIds)],
  );
  return rows.map((row) => ({
    accountId: Number(row.account_id),
    credits: row.credits,
    usage: row.usage,
    lotApplied: row.lot_applied,
  }));
}

/**
 * Open lots of accounts; of each account in the order in which they are spent: first to expire
 * first, then the oldest.
 */
export async function openLots(sql: Sql, accountIds: readonly number[]): Promise<readonly OpenLot[]> {
  const rows = await sql.query<{
    account_id: bigint;
    id: bigint;
    remaining: bigint;
    expires_at: number | null;
  }>(
    'SELECT account_id, id, remaining, expires_at FROM credit_lot WHERE account_id = ANY($1::bigint[]) AND remaining > 0 ORDER BY account_id, expires_at NULLS LAST, id',
    [int8ArrayOfNumbers(accountIds)],
  );
  return rows.map((row) => ({
    accountId: Number(row.account_id),
    id: Number(row.id),
    remaining: row.remaining,
    expiresAtMs: row.expires_at,
  }));
}

/** An open lot with what it was granted as, for its owner. */
export interface GrantedLot extends OpenLot {
  readonly kind: EntryKind;
  readonly amount: bigint;
  readonly grantedAtMs: number;
}

/** The open lots of an account in the order in which they are spent, at most `limit`. */
export async function listOpenLots(
  sql: Sql,
  accountId: number,
  limit: number,
): Promise<readonly GrantedLot[]> {
  const rows = await sql.query<{
    id: bigint;
    kind: number;
    amount: bigint;
    remaining: bigint;
    expires_at: number | null;
    granted_at: number;
  }>(
    `SELECT id, kind, amount, remaining, expires_at, granted_at FROM credit_lot
     WHERE account_id = $1 AND remaining > 0 ORDER BY expires_at NULLS LAST, id LIMIT $2`,
    [accountId, limit],
  );
  return rows.map((row) => ({
    accountId,
    id: Number(row.id),
    kind: entryKinds[row.kind - 1] ?? 'topup',
    amount: row.amount,
    remaining: row.remaining,
    expiresAtMs: row.expires_at,
    grantedAtMs: row.granted_at,
  }));
}

/** Writes the new remainders of lots. */
export async function setRemainders(
  sql: Sql,
  lots: readonly Pick<OpenLot, 'accountId' | 'id' | 'remaining'>[],
): Promise<void> {
  await sql.query(
    `UPDATE credit_lot l SET remaining = u.remaining FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) u (account_id, id, remaining)
     WHERE l.account_id = ANY($1::bigint[]) AND l.account_id = u.account_id AND l.id = u.id`,
    [
      int8ArrayOfNumbers(lots.map((lot) => lot.accountId)),
      int8ArrayOfNumbers(lots.map((lot) => lot.id)),
      int8Array(lots.map((lot) => lot.remaining)),
    ],
  );
}

/** The account that paid for a generation and the cost, micro-won; null when there is none. */
export async function findCost(
  sql: Sql,
  generationUuid: string,
): Promise<{ readonly accountId: number; readonly cost: bigint } | null> {
  return findInAnyAccount(sql, generationUuid, async (accounts) => {
    const [row] = await sql.query<{ account_id: bigint; cost: bigint }>(
      'SELECT account_id, cost FROM generation WHERE account_id = ANY ($2::bigint[]) AND id = $1::uuid',
      [generationUuid, accounts],
    );
    return row === undefined ? null : { accountId: Number(row.account_id), cost: row.cost };
  });
}

/** Stores a lot; returns its id and its digest. */
export async function insertLot(
  sql: Sql,
  lot: {
    readonly accountId: number;
    readonly kind: EntryKind;
    readonly amountMicro: bigint;
    readonly expiresAtMs: number | null;
    readonly atMs: number;
  },
): Promise<{ readonly lotId: number; readonly lotDigest: bigint }> {
  const [row] = await sql.query<{ id: bigint }>(
    `INSERT INTO credit_lot (account_id, kind, amount, remaining, expires_at, granted_at)
     VALUES ($1, $2, $3, $3, to_timestamp($4::float8 / 1000), to_timestamp($5::float8 / 1000)) RETURNING id`,
    [lot.accountId, entryKindNumber(lot.kind), lot.amountMicro, lot.expiresAtMs, lot.atMs],
  );
  if (row === undefined) throw new Error('INSERT INTO credit_lot returned no row');
  const lotId = Number(row.id);
  const digest = lotDigest({
    accountId: lot.accountId,
    id: lotId,
    kind: entryKindNumber(lot.kind),
    amount: lot.amountMicro,
    expiresUs: lot.expiresAtMs === null ? null : microseconds(lot.expiresAtMs),
    grantedUs: microseconds(lot.atMs),
  });
  return { lotId, lotDigest: digest };
}

/**
 * The time of the database, and whether a lot with a remainder is past its expiry at `atMs`; null
 * for that time.
 */
export async function lotsDue(
  sql: Sql,
  atMs: number | null,
): Promise<{ readonly nowMs: number; readonly isDue: boolean }> {
  const [row] = await sql.query<{ now: number; is_due: boolean }>(
    `SELECT floor(extract(epoch FROM statement_timestamp()) * 1000)::float8 AS now, EXISTS (
       SELECT 1 FROM credit_lot WHERE remaining > 0 AND expires_at IS NOT NULL
       AND expires_at <= coalesce(to_timestamp($1::float8 / 1000), statement_timestamp())) AS is_due`,
    [atMs],
  );
  if (row === undefined) throw new Error('the database does not know the time');
  return { nowMs: row.now, isDue: row.is_due };
}

/**
 * Accounts above `after` that have a lot with a remainder past its expiry at `atMs`, in order, at
 * most `limit` of them.
 */
export async function accountsWithDueLots(
  sql: Sql,
  atMs: number,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<readonly number[]> {
  const rows = await sql.query<{ account_id: bigint }>(
    `SELECT DISTINCT account_id FROM credit_lot
     WHERE remaining > 0 AND expires_at IS NOT NULL AND expires_at <= to_timestamp($1::float8 / 1000) AND account_id > $3
     ORDER BY account_id LIMIT $2`,
    [atMs, limit, after],
  );
  return rows.map((row) => Number(row.account_id));
}

/**
 * The time of the database, and the accounts with a lot that is past its expiry, of a cluster some of
 * whose servers are away: those of the others. The statement runs in each shard.
 */
export async function dueWhereReached(
  sql: Sql,
): Promise<{ readonly nowMs: number; readonly accountIds: readonly number[] }> {
  const rows = await sql.query<{ now: number; found: string }>(
    `SELECT floor(extract(epoch FROM statement_timestamp()) * 1000)::float8 AS now, result AS found
     FROM run_command_on_shards('credit_lot', $$
       SELECT coalesce(json_agg(DISTINCT account_id), '[]') FROM %s
       WHERE remaining > 0 AND expires_at <= statement_timestamp()$$)
     WHERE success`,
  );
  return {
    nowMs: rows[0]?.now ?? 0,
    accountIds: rows.flatMap(({ found }) => JSON.parse(found) as number[]).toSorted((a, b) => a - b),
  };
}
