import { column, nullable, number, numeric, placeIn, type RowOf, recordOf, uuid } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';
import { isoDay } from '../time/period.ts';
import { type EntryKind, entryKindNumber, entryKinds } from './ledger-sql.ts';

/** The place of a day's usage among its entries: behind them all. */
const usagePlace = 2n ** 63n - 1n;

const ledgerLines = recordOf({
  /** The Seoul day, `YYYY-MM-DD`. */
  day: column<string>('day'),
  /** The entry's id; null for the usage of a day. */
  entryId: nullable(number(`nullif(place, ${usagePlace})`)),
  kind: placeIn(entryKinds, 'kind', 1),
  amountMicro: column<bigint>('amount'),
  /** The balance after this line. The usage of a day is the last line of its day. */
  balanceMicro: numeric('balance'),
  /** Requests of the day; null for an entry. */
  requests: nullable(number('requests')),
  /** The generation that a refund returns, 32 hex digits. */
  refundOf: nullable(uuid('refund_of')),
  /** Null for the usage of a day. */
  createdAtMs: column<number | null>('created_at'),
});

/**
 * One line of an account's transactions: an entry, or all usage of a Seoul day. Amounts in
 * micro-won.
 */
export type LedgerLine = RowOf<typeof ledgerLines>;

/** A place in the lines, which are newest first. */
export interface LinePlace {
  readonly day: string;
  /** The entry's id; null: the usage of the day. */
  readonly entryId: number | null;
}

/** What is shown of the lines: half-open Seoul days, and kinds. */
export interface LineFilter {
  readonly accountId: number;
  readonly fromDay: number | null;
  readonly toDay: number | null;
  readonly kind: EntryKind | null;
}

/** Every line of the account `$1`. */
const lines = `
       SELECT (created_at AT TIME ZONE 'Asia/Seoul')::date AS day, id AS place, kind, amount, NULL::bigint AS requests,
              refund_of, created_at
       FROM ledger WHERE account_id = $1 AND kind <> 3
       UNION ALL
       SELECT day, ${usagePlace}, 3, -sum(cost)::bigint, sum(requests)::bigint, NULL, NULL
       FROM key_usage_day WHERE account_id = $1 GROUP BY day HAVING sum(cost) <> 0`;

/** What the total usage of an account is made of; micro-won. */
export interface UsageParts {
  /** What requests cost. */
  readonly used: bigint;
  /** Credit that expired, less what late usage took back. */
  readonly expired: bigint;
  /** What adjustments deducted. */
  readonly deducted: bigint;
}

/** The parts of a total usage, which they add up to (spec:money/3.11). */
export async function readUsageParts(sql: Sql, accountId: number, usage: bigint): Promise<UsageParts> {
  const [row] = await sql.query<{ expired: bigint; deducted: bigint }>(
    `SELECT coalesce(-sum(amount) FILTER (WHERE kind = ${entryKindNumber('expiry')}), 0)::bigint AS expired,
       coalesce(-sum(amount) FILTER (WHERE kind = ${entryKindNumber('adjustment')} AND amount < 0), 0)::bigint AS deducted
     FROM ledger WHERE account_id = $1 AND kind <> 3`,
    [accountId],
  );
  const { expired, deducted } = row ?? { expired: 0n, deducted: 0n };
  return { used: usage - expired - deducted, expired, deducted };
}

const dayBalances = recordOf({
  /** `YYYY-MM-DD`. */
  day: column<string>('day'),
  balanceMicro: numeric('balance'),
  /** Top-ups and bonus credit. */
  grantedMicro: numeric('granted'),
});

/** The balance at the end of a Seoul day on which it changed, and what was granted on that day. */
export type DayBalance = RowOf<typeof dayBalances>;

/**
 * The days from `fromDay` up to `toDay` on which the balance changed, oldest first, and before them
 * the last such day before `fromDay`.
 */
export function listDayBalances(
  sql: Sql,
  { accountId, fromDay, toDay }: { accountId: number; fromDay: number; toDay: number },
  limit: number,
): Promise<readonly DayBalance[]> {
  return dayBalances.all(
    sql,
    `WITH line AS (${lines}),
     day_sum AS (
       SELECT day, sum(amount) AS change, coalesce(sum(amount) FILTER (WHERE kind IN (1, 2)), 0) AS granted
       FROM line GROUP BY day),
     running AS (SELECT day, granted, sum(change) OVER (ORDER BY day) AS balance FROM day_sum)
     SELECT ${dayBalances.columns} FROM running
     WHERE day < $3::date AND day >= coalesce((SELECT max(day) FROM running WHERE day < $2::date), $2::date)
     ORDER BY day LIMIT $4`,
    [accountId, isoDay(fromDay), isoDay(toDay), limit],
  );
}

/**
 * Up to `limit` lines, newest first, that come before `before`. An account has a line a day and a
 * few entries, so the sums run over all of them; the usage of a day is the sum of its keys, which
 * the ledger agrees with.
 */
export function listLines(
  sql: Sql,
  { accountId, fromDay, toDay, kind }: LineFilter,
  before: LinePlace | null,
  limit: number,
): Promise<readonly LedgerLine[]> {
  return ledgerLines.all(
    sql,
    `WITH line AS (${lines}),
     running AS (SELECT *, sum(amount) OVER (ORDER BY day, place) AS balance FROM line)
     SELECT ${ledgerLines.columns} FROM running
     WHERE ($2::date IS NULL OR day >= $2) AND ($3::date IS NULL OR day < $3) AND ($4::smallint IS NULL OR kind = $4)
       AND ($5::date IS NULL OR (day, place) < ($5, $6::bigint))
     ORDER BY day DESC, place DESC LIMIT $7`,
    [
      accountId,
      fromDay === null ? null : isoDay(fromDay),
      toDay === null ? null : isoDay(toDay),
      kind === null ? null : entryKindNumber(kind),
      before?.day ?? null,
      before === null ? null : (before.entryId ?? usagePlace),
      limit,
    ],
  );
}
