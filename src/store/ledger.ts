import type { Sql } from './sql.ts';

/** Kinds of ledger entries, in the order of their stored numbers (from 1). Credits are positive, debits negative, an adjustment is either. */
export const entryKinds = ['topup', 'bonus', 'usage', 'expiry', 'refund', 'adjustment'] as const;
export type EntryKind = (typeof entryKinds)[number];

/** The stored number of a kind. */
export function entryKindNumber(kind: EntryKind): number {
  return entryKinds.indexOf(kind) + 1;
}

/** One ledger entry as exported; the amount in micro-won. */
export interface EntryRow {
  readonly id: number;
  readonly accountId: number;
  readonly kind: EntryKind;
  readonly amountMicro: bigint;
  /** 32 hex digits, null for entries that no generation caused. */
  readonly generationUuid: string | null;
  readonly memo: string | null;
  readonly createdAtMs: number;
}

interface RawEntry {
  id: bigint;
  account_id: bigint;
  kind: number;
  amount: bigint;
  generation_id: string | null;
  memo: string | null;
  created_at: number;
}

/**
 * Up to `limit` entries after (`accountId`, `id`), in that order: a page of an export that never holds the whole ledger. With
 * `onlyAccount` the others are left out.
 */
export async function listEntries(
  sql: Sql,
  page: {
    readonly after: { readonly accountId: number; readonly id: number };
    readonly onlyAccount: number | null;
    readonly limit: number;
  },
): Promise<readonly EntryRow[]> {
  const rows = await sql.query<RawEntry>(
    `SELECT id, account_id, kind, amount, generation_id, memo, created_at FROM ledger
     WHERE (account_id, id) > ($1, $2) AND ($3::bigint IS NULL OR account_id = $3) ORDER BY account_id, id LIMIT $4`,
    [page.after.accountId, page.after.id, page.onlyAccount, page.limit],
  );
  return rows.map(entryOf);
}

/** The entry that an idempotency key of this account already made, or null; `refundOf` is the generation that it gave back. */
export async function findEntryByIdempotencyKey(
  sql: Sql,
  accountId: number,
  key: string,
): Promise<(EntryRow & { readonly refundOf: string | null }) | null> {
  const [row] = await sql.query<RawEntry & { refund_of: string | null }>(
    'SELECT id, account_id, kind, amount, generation_id, memo, created_at, refund_of FROM ledger WHERE account_id = $1 AND idempotency_key = $2',
    [accountId, key],
  );
  return row === undefined ? null : { ...entryOf(row), refundOf: row.refund_of?.replaceAll('-', '') ?? null };
}

/** How much of a generation's cost was given back so far, micro-won. */
export async function refundedOf(sql: Sql, accountId: number, generationUuid: string): Promise<bigint> {
  const [row] = await sql.query<{ amount: bigint }>(
    'SELECT coalesce(sum(amount), 0)::bigint AS amount FROM ledger WHERE account_id = $1 AND refund_of = $2::uuid',
    [accountId, generationUuid],
  );
  return row?.amount ?? 0n;
}

/** Appends an entry and returns its id. */
export async function insertEntry(
  sql: Sql,
  entry: {
    readonly accountId: number;
    readonly kind: EntryKind;
    readonly amountMicro: bigint;
    /** The lot that the entry made or emptied; null when it touches none. */
    readonly lotId: number | null;
    readonly idempotencyKey: string | null;
    readonly memo: string | null;
    /** The generation whose cost a refund gives back. */
    readonly refundOf?: string | null;
    readonly atMs: number;
  },
): Promise<number> {
  const [row] = await sql.query<{ id: bigint }>(
    `INSERT INTO ledger (account_id, kind, amount, lot_id, idempotency_key, memo, created_at, refund_of)
     VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7::float8 / 1000), $8) RETURNING id`,
    [
      entry.accountId,
      entryKindNumber(entry.kind),
      entry.amountMicro,
      entry.lotId,
      entry.idempotencyKey,
      entry.memo,
      entry.atMs,
      entry.refundOf ?? null,
    ],
  );
  if (row === undefined) throw new Error('INSERT INTO ledger returned no row');
  return Number(row.id);
}

function entryOf(row: RawEntry): EntryRow {
  return {
    id: Number(row.id),
    accountId: Number(row.account_id),
    kind: entryKinds[row.kind - 1] ?? 'usage',
    amountMicro: row.amount,
    generationUuid: row.generation_id?.replaceAll('-', '') ?? null,
    memo: row.memo,
    createdAtMs: row.created_at,
  };
}
