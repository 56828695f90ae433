import { column, nullable, number, placeIn, type RowOf, recordOf, uuid } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';
import { entryKinds } from './ledger-sql.ts';

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

/**
 * The lines of accounts on the Seoul days from `fromDay` to before `toDay`, in the order of account
 * and time.
 */
export function monthLines(
  sql: Sql,
  {
    accounts,
    fromDay,
    toDay,
  }: { readonly accounts: readonly number[]; readonly fromDay: string; readonly toDay: string },
): Promise<readonly MonthLine[]> {
  return lines.all(
    sql,
    `SELECT ${lines.columns} FROM (
       SELECT account_id, (created_at AT TIME ZONE 'Asia/Seoul')::date::text AS day, created_at, kind, amount, NULL::bigint AS requests, id, refund_of, memo
       FROM ledger WHERE account_id = ANY ($1::bigint[]) AND kind <> 3
         AND created_at >= ($2::date::timestamp AT TIME ZONE 'Asia/Seoul') AND created_at < ($3::date::timestamp AT TIME ZONE 'Asia/Seoul')
       UNION ALL
       SELECT account_id, day::text, NULL, 3, -sum(cost)::bigint, sum(requests)::bigint, NULL, NULL, NULL
       FROM key_usage_day WHERE account_id = ANY ($1::bigint[]) AND day >= $2::date AND day < $3::date
       GROUP BY account_id, day HAVING sum(cost) <> 0
     ) l JOIN account a ON a.id = l.account_id ORDER BY l.account_id, l.day, l.id NULLS LAST`,
    [accounts, fromDay, toDay],
  );
}
