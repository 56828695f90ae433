import { column, nullable, number, numeric, placeIn, type RowOf, recordOf, uuid } from '../store/record.ts';
import type { Sql, Transactions } from '../store/sql.ts';
import { type EntryKind, entryKindNumber, entryKinds } from './ledger-sql.ts';

const lines = recordOf({
  accountId: number('l.account_id'),
  accountName: column<string>('a.name'),
  /** `YYYY-MM-DD` in Seoul. */
  day: column<string>('l.day'),
  /** Null for the usage of a day. */
  createdAtMs: column<number | null>('l.created_at'),
  kind: placeIn(entryKinds, 'l.kind', 1),
  amountMicro: column<bigint>('l.amount'),
  /** Requests of the day; null for an entry. */
  requests: nullable(number('l.requests')),
  /** Null for the usage of a day. */
  entryId: nullable(number('l.id')),
  /** The generation that a refund returns, 32 hex digits. */
  refundOf: nullable(uuid('l.refund_of')),
  memo: column<string | null>('l.memo'),
});

/**
 * A line of the books of a month: an entry, or the usage of an account on a Seoul day. Amounts in
 * micro-won.
 */
export type MonthLine = RowOf<typeof lines>;

/** Whether all of these accounts exist. */
export async function accountsExist(sql: Sql, ids: readonly number[]): Promise<boolean> {
  const rows = await sql.query('SELECT FROM account WHERE id = ANY ($1::bigint[])', [ids]);
  return rows.length === new Set(ids).size;
}

/** Up to `limit` accounts after an id, in order. */
export async function accountsAfter(
  sql: Sql,
  {
    afterId,
    onlyAccount,
    limit,
  }: { readonly afterId: number; readonly onlyAccount: number | null; readonly limit: number },
): Promise<readonly number[]> {
  const rows = await sql.query<{ id: bigint }>(
    'SELECT id FROM account WHERE id > $1 AND ($2::bigint IS NULL OR id = $2) ORDER BY id LIMIT $3',
    [afterId, onlyAccount, limit],
  );
  return rows.map(({ id }) => Number(id));
}

/** Accounts, and Seoul days `YYYY-MM-DD` from `fromDay` to before `toDay`. */
export interface AccountDays {
  readonly accounts: readonly number[];
  readonly fromDay: string;
  readonly toDay: string;
}

/** The instants of the Seoul days from $2 to before $3. */
const inSpan = `created_at >= ($2::date::timestamp AT TIME ZONE 'Asia/Seoul') AND created_at < ($3::date::timestamp AT TIME ZONE 'Asia/Seoul')`;

/** The entries of the accounts $1 in the span, and their usage by day. */
const linesSql = `
  SELECT account_id, (created_at AT TIME ZONE 'Asia/Seoul')::date::text AS day, created_at, kind, amount, NULL::bigint AS requests, id, refund_of, memo, lot_id
  FROM ledger WHERE account_id = ANY ($1::bigint[]) AND kind <> 3 AND ${inSpan}
  UNION ALL
  SELECT account_id, day::text, NULL, 3, -sum(cost)::bigint, sum(requests)::bigint, NULL, NULL, NULL, NULL
  FROM key_usage_day WHERE account_id = ANY ($1::bigint[]) AND day >= $2::date AND day < $3::date
  GROUP BY account_id, day HAVING sum(cost) <> 0`;

/** The lines of accounts, in the order of account and time. */
export function monthLines(
  sql: Sql,
  { accounts, fromDay, toDay }: AccountDays,
): Promise<readonly MonthLine[]> {
  return lines.all(
    sql,
    `SELECT ${lines.columns} FROM (${linesSql}) l
     JOIN account a ON a.id = l.account_id ORDER BY l.account_id, l.day, l.id NULLS LAST`,
    [accounts, fromDay, toDay],
  );
}

const ofKind = (kind: EntryKind): string => `WHERE l.kind = ${entryKindNumber(kind)}`;
const sumOf = (filter: string) => numeric(`coalesce(sum(l.amount) FILTER (${filter}), 0)`);
const isOfBonus = `c.kind = ${entryKindNumber('bonus')}`;
const sums = recordOf({
  accountId: number('l.account_id'),
  accountName: column<string>('a.name'),
  businessNumber: column<string | null>('a.business_number'),
  /** `YYYY-MM` in Seoul. */
  month: column<string>('left(l.day, 7)'),
  topups: sumOf(ofKind('topup')),
  bonuses: sumOf(ofKind('bonus')),
  usage: sumOf(ofKind('usage')),
  expiredPaid: sumOf(`${ofKind('expiry')} AND NOT ${isOfBonus}`),
  expiredBonus: sumOf(`${ofKind('expiry')} AND ${isOfBonus}`),
  refunds: sumOf(ofKind('refund')),
  adjustments: sumOf(ofKind('adjustment')),
});

/** The entries of an account in a Seoul month by kind, signed as in the ledger; micro-won. */
export type MonthSums = RowOf<typeof sums>;

const moves = recordOf({
  accountId: number('l.account_id'),
  kind: placeIn(entryKinds, 'l.kind', 1),
  /** `YYYY-MM` in Seoul; null outside the span. */
  month: column<string | null>('l.month'),
  amount: numeric('sum(l.amount)'),
  lotId: nullable(number('l.lot_id')),
  lotKind: nullable(placeIn(entryKinds, 'c.kind', 1)),
  expiresAtMs: column<number | null>('c.expires_at'),
});

/** An entry that is no usage, or the usage of a month between two of them. */
export type LotMove = RowOf<typeof moves>;

/** Reads of one instant; `transaction` is part of it. */
export function atOneInstant<T>(
  database: Transactions,
  read: (sql: Sql & Transactions) => Promise<T>,
): Promise<T> {
  return database.transaction(async (sql) => {
    await sql.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    return read({ query: (text, values) => sql.query(text, values), transaction: (work) => work(sql) });
  });
}

/**
 * The sums of accounts by month, and all that ever moved the lots of those that have bonus credit,
 * in the order of the ledger; both at one instant.
 */
export function monthSums(
  database: Transactions,
  { accounts, fromDay, toDay }: AccountDays,
): Promise<{ readonly sums: readonly MonthSums[]; readonly moves: readonly LotMove[] }> {
  const values = [accounts, fromDay, toDay];
  return atOneInstant(database, async (sql) => {
    return {
      sums: await sums.all(
        sql,
        `SELECT ${sums.columns} FROM (${linesSql}) l JOIN account a ON a.id = l.account_id
         LEFT JOIN credit_lot c ON c.account_id = l.account_id AND c.id = l.lot_id
         GROUP BY l.account_id, a.name, a.business_number, left(l.day, 7) ORDER BY l.account_id, left(l.day, 7)`,
        values,
      ),
      moves: await moves.all(
        sql,
        `SELECT ${moves.columns} FROM (
           SELECT account_id, id, kind, amount, lot_id, count(*) FILTER (WHERE kind <> 3) OVER (PARTITION BY account_id ORDER BY id) AS turn,
             CASE WHEN ${inSpan} THEN to_char(created_at AT TIME ZONE 'Asia/Seoul', 'YYYY-MM') END AS month
           FROM ledger WHERE account_id = ANY ($1::bigint[]) AND account_id IN (
             SELECT account_id FROM credit_lot WHERE account_id = ANY ($1::bigint[]) AND kind = ${entryKindNumber('bonus')})) l
         LEFT JOIN credit_lot c ON c.account_id = l.account_id AND c.id = l.lot_id
         GROUP BY l.account_id, l.turn, l.kind, l.month, l.lot_id, c.kind, c.expires_at ORDER BY l.account_id, min(l.id)`,
        values,
      ),
    };
  });
}
