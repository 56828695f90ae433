import { findInAnyAccount } from '../generations/any-account-sql.ts';
import { int8Array, int8ArrayOfNumbers } from '../store/binary-arrays.ts';
import { lotDigest, microseconds } from '../store/digests.ts';
import { column, number, placeIn, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';
import { type EntryKind, entryKindNumber, entryKinds } from './ledger-sql.ts';

const lockedBalances = recordOf({
  accountId: number('account_id'),
  credits: column<bigint>('credits'),
  usage: column<bigint>('usage'),
  lotApplied: column<bigint>('lot_applied'),
});

/** The balance row of an account, locked until the transaction ends. */
export type LockedBalance = RowOf<typeof lockedBalances>;

const lotColumns = {
  accountId: number('account_id'),
  id: number('id'),
  remaining: column<bigint>('remaining'),
  expiresAtMs: column<number | null>('expires_at'),
};
const lots = recordOf(lotColumns);
const grantedLots = recordOf({
  ...lotColumns,
  kind: placeIn(entryKinds, 'kind', 1),
  amount: column<bigint>('amount'),
  grantedAtMs: column<number>('granted_at'),
});

/** A lot that still has a remainder. */
export type OpenLot = RowOf<typeof lots>;
/** An open lot with what it was granted as, for its owner. */
export type GrantedLot = RowOf<typeof grantedLots>;

/** Locks an account's balance row; null when the account does not exist. */
export async function lockBalance(sql: Sql, accountId: number): Promise<LockedBalance | null> {
  return (await lockBalances(sql, [accountId]))[0] ?? null;
}

/**
 * Locks the balance rows of accounts in the order that every transaction uses; an account that does
 * not exist is left out.
 */
export function lockBalances(sql: Sql, accountIds: readonly number[]): Promise<readonly LockedBalance[]> {
  return lockedBalances.all(
    sql,
    `SELECT ${lockedBalances.columns} FROM account_balance WHERE account_id = ANY($1::bigint[]) ORDER BY account_id FOR UPDATE`,
    [int8ArrayOfNumbers(accountIds)],
  );
}

/**
 * Open lots of accounts; of each account in the order in which they are spent: first to expire
 * first, then the oldest.
 */
export function openLots(sql: Sql, accountIds: readonly number[]): Promise<readonly OpenLot[]> {
  return lots.all(
    sql,
    `SELECT ${lots.columns} FROM credit_lot WHERE account_id = ANY($1::bigint[]) AND remaining > 0 ORDER BY account_id, expires_at NULLS LAST, id`,
    [int8ArrayOfNumbers(accountIds)],
  );
}

/** The open lots of an account in the order in which they are spent, at most `limit`. */
export function listOpenLots(sql: Sql, accountId: number, limit: number): Promise<readonly GrantedLot[]> {
  return grantedLots.all(
    sql,
    `SELECT ${grantedLots.columns} FROM credit_lot
     WHERE account_id = $1 AND remaining > 0 ORDER BY expires_at NULLS LAST, id LIMIT $2`,
    [accountId, limit],
  );
}

/** A lot that expired in part or in whole. */
export interface ExpiredLot {
  readonly accountId: number;
  readonly id: number;
  readonly grantedAtMs: number;
  readonly expiresAtMs: number;
  /** What expired of it, less what was taken back; a caller counts it down. */
  left: bigint;
}

/** Lots of accounts that expired in part or in whole; of each account the first to expire first. */
export async function expiredLots(sql: Sql, accountIds: readonly number[]): Promise<readonly ExpiredLot[]> {
  const rows = await sql.query<{
    account_id: bigint;
    id: bigint;
    granted_at: number;
    expires_at: number;
    expired: bigint;
  }>(
    `SELECT c.account_id, c.id, c.granted_at, c.expires_at, -sum(l.amount)::bigint AS expired
     FROM ledger l JOIN credit_lot c ON c.account_id = l.account_id AND c.id = l.lot_id
     WHERE l.account_id = ANY($1::bigint[]) AND l.kind = ${entryKindNumber('expiry')}
     GROUP BY c.account_id, c.id HAVING sum(l.amount) < 0 ORDER BY c.account_id, c.expires_at, c.id`,
    [int8ArrayOfNumbers(accountIds)],
  );
  return rows.map((row) => ({
    accountId: Number(row.account_id),
    id: Number(row.id),
    grantedAtMs: row.granted_at,
    expiresAtMs: row.expires_at,
    left: row.expired,
  }));
}

/** Writes the new remainders of lots. */
export async function setRemainders(
  sql: Sql,
  changed: readonly Pick<OpenLot, 'accountId' | 'id' | 'remaining'>[],
): Promise<void> {
  await sql.query(
    `UPDATE credit_lot l SET remaining = u.remaining FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) u (account_id, id, remaining)
     WHERE l.account_id = ANY($1::bigint[]) AND l.account_id = u.account_id AND l.id = u.id`,
    [
      int8ArrayOfNumbers(changed.map((lot) => lot.accountId)),
      int8ArrayOfNumbers(changed.map((lot) => lot.id)),
      int8Array(changed.map((lot) => lot.remaining)),
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
