import { column, number, numeric, placeIn, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';
import { type EntryKind, entryKinds } from './ledger-sql.ts';

/** How old credit is, in days since it was granted; the last group has no end. */
export const creditAges = [30, 90, 180, 365, null] as const;
export type CreditAge = (typeof creditAges)[number];

/** Credit that is not spent, of one kind, age and time to its expiry; micro-won. */
export interface OutstandingGroup {
  readonly kind: EntryKind;
  /** Granted at most so many days ago, and more than the age before. */
  readonly age: CreditAge;
  /** Expires within so many days, and not within fewer; null: later, or never. */
  readonly expiresWithin: 1 | 7 | 30 | null;
  readonly amount: bigint;
  readonly lots: number;
}

/** What customers have not spent, and what they owe. */
export interface Liability {
  readonly groups: readonly OutstandingGroup[];
  /** The sum of negative balances, positive. */
  readonly debt: bigint;
}

const issuedMonths = recordOf({
  /** `YYYY-MM` */
  month: column<string>("to_char(granted_at AT TIME ZONE 'Asia/Seoul', 'YYYY-MM')"),
  kind: placeIn(entryKinds, 'kind', 1),
  amount: numeric('sum(amount)'),
});

/** Credit of one kind that was granted in a month of Seoul. */
export type IssuedMonth = RowOf<typeof issuedMonths>;

const expiringLots = recordOf({
  accountId: number('o.account_id'),
  accountName: column<string>('a.name'),
  kind: placeIn(entryKinds, 'o.kind', 1),
  amount: numeric('o.amount'),
  expiresAtMs: column<number>('o.expires_at'),
});

/** Credit that expires soon. */
export type ExpiringLot = RowOf<typeof expiringLots>;

/**
 * The open lots less the usage that they were not charged with yet, in the order of spending. So
 * the sum over an account is its balance, or zero when that is negative. $1 is the present.
 */
const outstanding = `outstanding AS (
  SELECT id, account_id, kind, expires_at, to_timestamp($1::float8 / 1000) - granted_at AS age, amount FROM (
    SELECT l.id, l.account_id, l.kind, l.expires_at, l.granted_at,
      greatest(0, least(l.remaining, sum(l.remaining) OVER (PARTITION BY l.account_id ORDER BY l.expires_at NULLS LAST, l.id)
        - (b.usage - b.lot_applied))) AS amount
    FROM credit_lot l JOIN account_balance b ON b.account_id = l.account_id WHERE l.remaining > 0) lot
  WHERE amount > 0)`;

/** What is outstanding at an instant, in groups. */
export async function readLiability(sql: Sql, nowMs: number): Promise<Liability> {
  const rows = await sql.query<{
    debt: string;
    kind: number | null;
    age: number | null;
    expires_within: number | null;
    amount: string;
    lots: bigint;
  }>(
    `WITH ${outstanding}
     SELECT owed.debt::text AS debt, part.* FROM
       (SELECT coalesce(sum(-balance) FILTER (WHERE balance < 0), 0) AS debt FROM account_balance) owed
     LEFT JOIN (
       SELECT kind,
         CASE ${creditAges.map((days) => (days === null ? 'ELSE NULL' : `WHEN age <= interval '${days} days' THEN ${days}`)).join(' ')} END AS age,
         CASE ${[1, 7, 30].map((days) => `WHEN expires_at <= to_timestamp($1::float8 / 1000) + interval '${days} days' THEN ${days}`).join(' ')} END AS expires_within,
         sum(amount)::text AS amount, count(*) AS lots
       FROM outstanding GROUP BY 1, 2, 3) part ON true`,
    [nowMs],
  );
  return {
    debt: BigInt(rows[0]?.debt ?? 0),
    groups: rows.flatMap((row) =>
      row.kind === null
        ? []
        : [
            {
              kind: kindOf(row.kind),
              age: creditAges.find((age) => age === row.age) ?? null,
              expiresWithin: ([1, 7, 30] as const).find((days) => days === row.expires_within) ?? null,
              amount: BigInt(row.amount),
              lots: Number(row.lots),
            },
          ],
    ),
  };
}

/** What was granted as a top-up or a bonus since an instant, by month. */
export function readIssuedMonths(sql: Sql, sinceMs: number): Promise<readonly IssuedMonth[]> {
  return issuedMonths.all(
    sql,
    `SELECT ${issuedMonths.columns}
     FROM credit_lot WHERE granted_at >= to_timestamp($1::float8 / 1000) AND kind IN (1, 2) GROUP BY 1, 2 ORDER BY 1 DESC, 2`,
    [sinceMs],
  );
}

/** The credit that expires first, within 30 days: `limit` lots after `offset`. */
export function readExpiringLots(
  sql: Sql,
  nowMs: number,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<readonly ExpiringLot[]> {
  return expiringLots.all(
    sql,
    `WITH ${outstanding}
     SELECT ${expiringLots.columns}
     FROM outstanding o JOIN account a ON a.id = o.account_id
     WHERE o.expires_at <= to_timestamp($1::float8 / 1000) + interval '30 days'
     ORDER BY o.expires_at, o.id LIMIT $2 OFFSET $3`,
    [nowMs, limit, offset],
  );
}

function kindOf(number: number): EntryKind {
  return entryKinds[number - 1] ?? 'topup';
}
