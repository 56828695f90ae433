import { type EntryKind, entryKindNumber } from './ledger.ts';
import type { Sql } from './sql.ts';

/** The balance row of an account, locked until the transaction ends. */
export interface LockedBalance {
  readonly credits: bigint;
  readonly usage: bigint;
  readonly lotApplied: bigint;
}

/** A lot that still has a remainder. */
export interface OpenLot {
  readonly id: number;
  readonly remaining: bigint;
  readonly expiresAtMs: number | null;
}

/** Locks an account's balance row; null when there is no such account. */
export async function lockBalance(sql: Sql, accountId: number): Promise<LockedBalance | null> {
  const [row] = await sql.query<{ credits: bigint; usage: bigint; lot_applied: bigint }>(
    'SELECT credits, usage, lot_applied FROM account_balance WHERE account_id = $1 FOR UPDATE',
    [accountId],
  );
  return row === undefined ? null : { credits: row.credits, usage: row.usage, lotApplied: row.lot_applied };
}

/** Open lots in the order in which they are spent: first to expire first, then the oldest. */
export async function openLots(sql: Sql, accountId: number): Promise<readonly OpenLot[]> {
  const rows = await sql.query<{ id: bigint; remaining: bigint; expires_at: number | null }>(
    'SELECT id, remaining, expires_at FROM credit_lot WHERE account_id = $1 AND remaining > 0 ORDER BY expires_at NULLS LAST, id',
    [accountId],
  );
  return rows.map((row) => ({ id: Number(row.id), remaining: row.remaining, expiresAtMs: row.expires_at }));
}

/** Writes the new remainders of lots. */
export async function setRemainders(
  sql: Sql,
  accountId: number,
  lots: readonly { readonly id: number; readonly remaining: bigint }[],
): Promise<void> {
  await sql.query(
    `UPDATE credit_lot l SET remaining = u.remaining FROM unnest($2::bigint[], $3::bigint[]) u (id, remaining)
     WHERE l.account_id = $1 AND l.id = u.id`,
    [accountId, lots.map((lot) => lot.id), lots.map((lot) => lot.remaining)],
  );
}

/** Moves an account's totals; the database checks that the balance follows and that nothing shrinks below zero. */
export async function moveTotals(
  sql: Sql,
  accountId: number,
  by: {
    readonly credits: bigint;
    readonly usage: bigint;
    readonly lotApplied: bigint;
    readonly entries: number;
  },
): Promise<void> {
  await sql.query(
    `UPDATE account_balance SET balance = balance + $2 - $3, credits = credits + $2, usage = usage + $3,
            lot_applied = lot_applied + $4, entries = entries + $5, version = version + 1 WHERE account_id = $1`,
    [accountId, by.credits, by.usage, by.lotApplied, by.entries],
  );
}

/** Who paid for a generation and how much, micro-won; null when there is none. */
export async function findCost(
  sql: Sql,
  generationUuid: string,
): Promise<{ readonly accountId: number; readonly cost: bigint } | null> {
  const [row] = await sql.query<{ account_id: bigint; cost: bigint }>(
    'SELECT account_id, cost FROM generation WHERE id = $1::uuid',
    [generationUuid],
  );
  return row === undefined ? null : { accountId: Number(row.account_id), cost: row.cost };
}

/** Stores a lot and returns its id. */
export async function insertLot(
  sql: Sql,
  lot: {
    readonly accountId: number;
    readonly kind: EntryKind;
    readonly amountMicro: bigint;
    readonly expiresAtMs: number | null;
    readonly atMs: number;
  },
): Promise<number> {
  const [row] = await sql.query<{ id: bigint }>(
    `INSERT INTO credit_lot (account_id, kind, amount, remaining, expires_at, granted_at)
     VALUES ($1, $2, $3, $3, to_timestamp($4::float8 / 1000), to_timestamp($5::float8 / 1000)) RETURNING id`,
    [lot.accountId, entryKindNumber(lot.kind), lot.amountMicro, lot.expiresAtMs, lot.atMs],
  );
  if (row === undefined) throw new Error('INSERT INTO credit_lot returned no row');
  return Number(row.id);
}

/** Accounts that have a lot with a remainder past its expiry at `atMs`, at most `limit` of them. */
export async function accountsWithDueLots(sql: Sql, atMs: number, limit: number): Promise<readonly number[]> {
  const rows = await sql.query<{ account_id: bigint }>(
    `SELECT DISTINCT account_id FROM credit_lot
     WHERE remaining > 0 AND expires_at IS NOT NULL AND expires_at <= to_timestamp($1::float8 / 1000) ORDER BY account_id LIMIT $2`,
    [atMs, limit],
  );
  return rows.map((row) => Number(row.account_id));
}
