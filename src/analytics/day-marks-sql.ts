import type { Sql } from '../store/sql.ts';
import type { HourSpan, RowsOf } from './facts-sql.ts';
import { dayText } from './seoul-days.ts';

/**
 * Deletes the sums of the days that a span touches, of all rows or those of some accounts: their
 * hours are about to be replaced. Run in the transaction that replaces them.
 */
export async function forgetDays(
  sql: Sql,
  { fromMs, toMs }: HourSpan,
  rows: RowsOf,
  accounts: readonly bigint[] | null = null,
): Promise<void> {
  await sql.query(
    `DELETE FROM usage_day WHERE ${rows} AND day >= $1::date AND day <= $2::date
       AND ($3::bigint[] IS NULL OR account_id = ANY ($3::bigint[]))`,
    [dayText(fromMs), dayText(toMs - 1), accounts],
  );
}

/** Marks the days that a span touches as due. */
export async function markDue(sql: Sql, { fromMs, toMs }: HourSpan): Promise<void> {
  await sql.query(
    `INSERT INTO usage_day_check (day, is_due, checked_at)
     SELECT day::date, true, '-infinity'::timestamptz FROM generate_series($1::timestamp, $2::timestamp, interval '1 day') day
     ON CONFLICT (day) DO UPDATE SET is_due = true`,
    [dayText(fromMs), dayText(toMs - 1)],
  );
}

/** The beginnings of up to `limit` due days that ended before an instant, the latest first. */
export async function dueDays(sql: Sql, beforeMs: number, limit: number): Promise<readonly number[]> {
  const rows = await sql.query<{ start: number }>(
    `SELECT day::timestamp AT TIME ZONE 'Asia/Seoul' AS start FROM usage_day_check
     WHERE is_due AND day < $1::date ORDER BY day DESC LIMIT $2`,
    [dayText(beforeMs), limit],
  );
  return rows.map(({ start }) => start);
}

/** Marks a share of the days as due, those that were checked the longest ago. */
export async function markOldestDays(sql: Sql, share: number): Promise<void> {
  await sql.query(
    `UPDATE usage_day_check SET is_due = true WHERE day IN (
       SELECT day FROM usage_day_check WHERE NOT is_due ORDER BY checked_at, day
       LIMIT (SELECT ceil(count(*) * $1::float8)::bigint FROM usage_day_check)
     )`,
    [share],
  );
}

/** Notes that a day was checked and summed. */
export async function markChecked(sql: Sql, startMs: number, nowMs: number): Promise<void> {
  await sql.query('UPDATE usage_day_check SET is_due = false, checked_at = $2 WHERE day = $1::date', [
    dayText(startMs),
    new Date(nowMs).toISOString(),
  ]);
}
