import {
  byteaArray,
  int4Array,
  int8Array,
  int8ArrayOfNumbers,
  textArray,
  timestampArray,
} from '../store/binary-arrays.ts';
import { type ChainedEntry, entryText, linkOf, microseconds } from '../store/digests.ts';
import { column, nullable, number, placeIn, type RowOf, recordOf, uuid } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';

/**
 * Kinds of ledger entries, in the order of their stored numbers (from 1). Credits are positive,
 * debits negative, an adjustment is either.
 */
export const entryKinds = ['topup', 'bonus', 'usage', 'expiry', 'refund', 'adjustment'] as const;
export type EntryKind = (typeof entryKinds)[number];

/** The stored number of a kind. */
export function entryKindNumber(kind: EntryKind): number {
  return entryKinds.indexOf(kind) + 1;
}

const entryColumns = {
  id: number('l.id'),
  accountId: number('l.account_id'),
  kind: placeIn(entryKinds, 'l.kind', 1),
  amountMicro: column<bigint>('l.amount'),
  /** 32 hex digits, null for entries that no generation caused. */
  generationUuid: nullable(uuid('generation_id')),
  memo: column<string | null>('memo'),
  createdAtMs: column<number>('created_at'),
};
const entryRows = recordOf(entryColumns);
const entriesOfActs = recordOf({
  ...entryColumns,
  refundOf: nullable(uuid('refund_of')),
  keyId: nullable(number('key_id')),
  expiresAtMs: column<number | null>('expires_at'),
});

/** One ledger entry as exported; the amount in micro-won. */
export type EntryRow = RowOf<typeof entryRows>;

/**
 * Up to `limit` entries after (`accountId`, `id`), in that order: a page of an export that never
 * has the whole ledger in memory. With `onlyAccount` only the entries of that account.
 */
export function listEntries(
  sql: Sql,
  page: {
    readonly after: { readonly accountId: number; readonly id: number };
    readonly onlyAccount: number | null;
    readonly span: { readonly fromMs: number | null; readonly toMs: number | null };
    readonly limit: number;
  },
): Promise<readonly EntryRow[]> {
  return entryRows.all(
    sql,
    `SELECT ${entryRows.columns} FROM ledger l
     WHERE (account_id, id) > ($1, $2) AND ($3::bigint IS NULL OR account_id = $3)
       AND ($5::float8 IS NULL OR created_at >= to_timestamp($5::float8 / 1000)) AND ($6::float8 IS NULL OR created_at < to_timestamp($6::float8 / 1000))
     ORDER BY account_id, l.id LIMIT $4`,
    [page.after.accountId, page.after.id, page.onlyAccount, page.limit, page.span.fromMs, page.span.toMs],
  );
}

/** What an act on credit wants, as its entry shows it. */
export interface WantedEntry {
  readonly accountId: number;
  readonly kind: EntryKind;
  /** Null matches any amount. */
  readonly amount: bigint | null;
  readonly memo: string | null;
  /** The expiry of the lot that it makes; null when that never expires, or there is none. */
  readonly expiresAtMs: number | null;
  /** The generation that it refunds, 32 hex digits. */
  readonly refundOf: string | null;
  /** The refund is given back to the limit of the key too. Absent: it is not. */
  readonly toKeyLimit?: boolean;
  readonly idempotencyKey: string | null;
}

/**
 * The entry that the idempotency key of an act already made, and whether the act wanted the same;
 * null when there is none.
 */
export async function findEarlierEntry(
  sql: Sql,
  { accountId, kind, amount, memo, expiresAtMs, refundOf, toKeyLimit = false, idempotencyKey }: WantedEntry,
): Promise<(EntryRow & { readonly isSame: boolean }) | null> {
  if (idempotencyKey === null) return null;
  const row = await entriesOfActs.first(
    sql,
    `SELECT ${entriesOfActs.columns} FROM ledger l LEFT JOIN credit_lot c ON c.account_id = l.account_id AND c.id = l.lot_id
     WHERE l.account_id = $1 AND idempotency_key = $2`,
    [accountId, idempotencyKey],
  );
  if (row === null) return null;
  const { refundOf: refunded, keyId, expiresAtMs: expiry, ...entry } = row;
  const isSame =
    row.kind === kind &&
    (amount === null || row.amountMicro === amount) &&
    row.memo === (memo?.toWellFormed() ?? null) &&
    expiry === expiresAtMs &&
    refunded === refundOf &&
    (keyId !== null) === toKeyLimit;
  return { ...entry, isSame };
}

/** How much of a generation's cost was refunded so far, micro-won. */
export async function refundedOf(sql: Sql, accountId: number, generationUuid: string): Promise<bigint> {
  const [row] = await sql.query<{ amount: bigint }>(
    'SELECT coalesce(sum(amount), 0)::bigint AS amount FROM ledger WHERE account_id = $1 AND refund_of = $2::uuid',
    [accountId, generationUuid],
  );
  return row?.amount ?? 0n;
}

/** An entry that no generation caused. */
export interface NewEntry {
  readonly accountId: number;
  readonly kind: EntryKind;
  readonly amountMicro: bigint;
  /** The lot that the entry made or emptied; null when it touches none. */
  readonly lotId: number | null;
  readonly idempotencyKey: string | null;
  readonly memo: string | null;
  /** The generation whose cost a refund returns, 32 hex digits. */
  readonly refundOf?: string | null;
  /** The key to whose limit a refund is given back. */
  readonly keyId?: number | null;
  /** The digest of the lot that the entry made. */
  readonly lotDigest?: bigint | null;
  readonly atMs: number;
}

/** The changes of an account's totals. */
export interface Move {
  readonly accountId: number;
  readonly credits: bigint;
  readonly usage: bigint;
  readonly lotApplied: bigint;
  /** The latest expiry of the credit that expires now; null when none expires. */
  readonly expiredUntilMs?: number | null;
}

/**
 * Changes the totals of accounts, each at most once, and appends the entries that explain the
 * changes. Returns the ids of the entries in the order of the accounts' moves. Every account with
 * an entry has a move. The balances are locked (`lockBalances`). The database checks that a balance
 * follows its totals and that nothing shrinks below zero.
 */
export async function post(
  sql: Sql,
  moves: readonly Move[],
  entries: readonly NewEntry[],
): Promise<readonly number[]> {
  const entriesOf = Map.groupBy(entries, (entry) => entry.accountId);
  const links = moves.map(({ accountId }) => {
    const own = entriesOf.get(accountId) ?? [];
    return own.map((entry, at) => ({ entry, rest: own.length - 1 - at }));
  });
  await sql.query(
    `UPDATE account_balance b
     SET balance = b.balance + m.credits - m.usage, credits = b.credits + m.credits, usage = b.usage + m.usage,
         lot_applied = b.lot_applied + m.lot_applied, entries = b.entries + m.entries, version = b.version + 1,
         chain = CASE m.entries WHEN 0 THEN b.chain ELSE sha256(b.chain || m.link) END,
         expired_until = greatest(b.expired_until, to_timestamp(m.expired_until::float8 / 1000))
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[], $7::bigint[])
          m (account_id, credits, usage, lot_applied, entries, link, expired_until)
     WHERE b.account_id = ANY($1::bigint[]) AND b.account_id = m.account_id`,
    [
      int8ArrayOfNumbers(moves.map((move) => move.accountId)),
      int8Array(moves.map((move) => move.credits)),
      int8Array(moves.map((move) => move.usage)),
      int8Array(moves.map((move) => move.lotApplied)),
      int8ArrayOfNumbers(links.map((link) => link.length)),
      byteaArray(
        links.map((link) => linkOf(link.map(({ entry, rest }) => entryText(chainedOf(entry), rest)))),
      ),
      int8ArrayOfNumbers(moves.map((move) => move.expiredUntilMs ?? null)),
    ],
  );
  if (entries.length === 0) return [];
  const rows = links.flat();
  const inserted = await sql.query<{ id: bigint }>(
    `INSERT INTO ledger (account_id, id, kind, amount, lot_id, idempotency_key, memo, refund_of, created_at, record_digest, link_rest,
       key_id)
     SELECT e.account_id, b.entries - e.link_rest, e.kind, e.amount, e.lot_id, e.idempotency_key, e.memo, e.refund_of::uuid,
            e.created_at, e.record_digest::bigint, e.link_rest, e.key_id
     FROM unnest($1::bigint[], $2::int[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::timestamptz[], $9::text[],
                 $10::int[], $11::bigint[])
          e (account_id, kind, amount, lot_id, idempotency_key, memo, refund_of, created_at, record_digest, link_rest, key_id)
     JOIN account_balance b ON b.account_id = e.account_id WHERE b.account_id = ANY($1::bigint[]) RETURNING id`,
    [
      int8ArrayOfNumbers(rows.map(({ entry }) => entry.accountId)),
      int4Array(rows.map(({ entry }) => entryKindNumber(entry.kind))),
      int8Array(rows.map(({ entry }) => entry.amountMicro)),
      int8ArrayOfNumbers(rows.map(({ entry }) => entry.lotId)),
      textArray(rows.map(({ entry }) => entry.idempotencyKey)),
      textArray(rows.map(({ entry }) => entry.memo)),
      textArray(rows.map(({ entry }) => entry.refundOf ?? null)),
      timestampArray(rows.map(({ entry }) => entry.atMs)),
      textArray(rows.map(({ entry }) => entry.lotDigest?.toString() ?? null)),
      int4Array(rows.map(({ rest }) => rest)),
      int8ArrayOfNumbers(rows.map(({ entry }) => entry.keyId ?? null)),
    ],
  );
  return inserted.map(({ id }) => Number(id));
}

function chainedOf(entry: NewEntry): ChainedEntry {
  return {
    accountId: entry.accountId,
    kind: entryKindNumber(entry.kind),
    amount: entry.amountMicro,
    generationUuid: null,
    keyId: entry.keyId ?? null,
    lotId: entry.lotId,
    idempotencyKey: entry.idempotencyKey,
    memo: entry.memo,
    createdUs: microseconds(entry.atMs),
    refundOf: entry.refundOf ?? null,
    recordDigest: entry.lotDigest ?? null,
  };
}
