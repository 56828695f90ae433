import { column, nullable, number, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';

const apps = recordOf({
  rank: column<number>('r.rank'),
  appId: number('r.app_id'),
  appName: column<string>('r.app_name'),
  /** An integer of up to 30 digits. */
  totalTokens: column<string | null>('r.total_tokens'),
  totalRequests: nullable(number('r.total_requests')),
  url: column<string | null>('r.url'),
  description: column<string | null>('r.description'),
  category: column<string | null>('r.category'),
  subcategory: column<string | null>('r.subcategory'),
  /** Null, and not 0, when the source states none. */
  growthPct: column<number | null>('r.growth_pct'),
});

/** An app in one period (spec:api/18). */
export type AppRow = RowOf<typeof apps>;

/** One period of the app ranking. Days count from 1970-01-01. */
export interface AppPeriod {
  readonly startDay: number;
  readonly endDay: number;
  readonly asOfMs: number;
  readonly syncedAtMs: number;
  /** By rank, from 1, without gaps. */
  readonly rows: readonly AppRow[];
}

/**
 * The latest period that ends on or before a day, or the latest of all; null when there is none
 * (spec:api/18.2).
 */
export async function readAppPeriod(sql: Sql, throughDay: number | null): Promise<AppPeriod | null> {
  // One statement, so that a period that is being replaced is seen as it was before or as it is
  // after.
  const rows = await sql.query<Omit<AppPeriod, 'rows'>>(
    `SELECT p.start_date - date '1970-01-01' AS "startDay", p.end_date - date '1970-01-01' AS "endDay", p.as_of AS "asOfMs", p.synced_at AS "syncedAtMs",
            ${apps.columns}
     FROM app_ranking_period p JOIN app_ranking r ON r.end_date = p.end_date
     WHERE p.end_date = (SELECT max(end_date) FROM app_ranking_period
                         WHERE $1::int IS NULL OR end_date <= date '1970-01-01' + $1::int)
     ORDER BY r.rank`,
    [throughDay],
  );
  const [first] = rows;
  if (first === undefined) return null;
  const { startDay, endDay, asOfMs, syncedAtMs } = first;
  return { startDay, endDay, asOfMs, syncedAtMs, rows: rows.map((row) => apps.of(row)) };
}

/** The first and the last day of a period. */
export type PeriodDays = Pick<AppPeriod, 'startDay' | 'endDay'>;

/** The latest periods, the latest first. */
export function readAppPeriodDays(sql: Sql, limit: number): Promise<readonly PeriodDays[]> {
  return sql.query(
    `SELECT start_date - date '1970-01-01' AS "startDay", end_date - date '1970-01-01' AS "endDay"
     FROM app_ranking_period ORDER BY end_date DESC LIMIT $1`,
    [limit],
  );
}

/** Whether any period is stored. */
export async function hasAppPeriods(sql: Sql): Promise<boolean> {
  const rows = await sql.query<{ one: number }>('SELECT 1 AS one FROM app_ranking_period LIMIT 1');
  return rows.length > 0;
}

/** Stores a period in place of the one with the same end. Call it in a transaction. */
export async function replaceAppPeriod(sql: Sql, period: AppPeriod): Promise<void> {
  const { startDay, endDay, asOfMs, syncedAtMs, rows } = period;
  await sql.query("DELETE FROM app_ranking WHERE end_date = date '1970-01-01' + $1::int", [endDay]);
  await sql.query(
    `INSERT INTO app_ranking_period (end_date, start_date, as_of, synced_at)
     VALUES (date '1970-01-01' + $1::int, date '1970-01-01' + $2::int, to_timestamp($3::float8 / 1000), to_timestamp($4::float8 / 1000))
     ON CONFLICT (end_date) DO UPDATE SET start_date = excluded.start_date, as_of = excluded.as_of, synced_at = excluded.synced_at`,
    [endDay, startDay, asOfMs, syncedAtMs],
  );
  await sql.query(
    `INSERT INTO app_ranking (end_date, rank, app_id, app_name, total_tokens, total_requests, url, description, category, subcategory, growth_pct)
     SELECT date '1970-01-01' + $1::int, u.* FROM unnest($2::int[], $3::bigint[], $4::text[], $5::numeric[], $6::bigint[], $7::text[],
       $8::text[], $9::text[], $10::text[], $11::float8[]) u`,
    [
      endDay,
      rows.map((row) => row.rank),
      rows.map((row) => row.appId),
      rows.map((row) => row.appName),
      rows.map((row) => row.totalTokens),
      rows.map((row) => row.totalRequests),
      rows.map((row) => row.url),
      rows.map((row) => row.description),
      rows.map((row) => row.category),
      rows.map((row) => row.subcategory),
      rows.map((row) => row.growthPct),
    ],
  );
}
