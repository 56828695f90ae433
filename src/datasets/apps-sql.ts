import type { Sql } from '../store/sql.ts';

/** An app in one period (spec:api/18). */
export interface AppRow {
  readonly rank: number;
  readonly appId: number;
  readonly appName: string;
  /** An integer of up to 30 digits. */
  readonly totalTokens: string | null;
  readonly totalRequests: number | null;
  readonly url: string | null;
  readonly description: string | null;
  readonly category: string | null;
  readonly subcategory: string | null;
  /** Null, and not 0, when the source states none. */
  readonly growthPct: number | null;
}

/** One period of the app ranking. Days count from 1970-01-01. */
export interface AppPeriod {
  readonly startDay: number;
  readonly endDay: number;
  readonly asOfMs: number;
  readonly syncedAtMs: number;
  /** By rank, from 1, without gaps. */
  readonly rows: readonly AppRow[];
}

interface RawRow {
  start_day: number;
  end_day: number;
  as_of: number;
  synced_at: number;
  rank: number;
  app_id: bigint;
  app_name: string;
  total_tokens: string | null;
  total_requests: bigint | null;
  url: string | null;
  description: string | null;
  category: string | null;
  subcategory: string | null;
  growth_pct: number | null;
}

/**
 * The latest period that ends on or before a day, or the latest of all; null when there is none
 * (spec:api/18.2).
 */
export async function readAppPeriod(sql: Sql, throughDay: number | null): Promise<AppPeriod | null> {
  // One statement, so that a period that is being replaced is seen as it was before or as it is
  // after.
  const rows = await sql.query<RawRow>(
    `SELECT p.start_date - date '1970-01-01' AS start_day, p.end_date - date '1970-01-01' AS end_day, p.as_of, p.synced_at,
            r.rank, r.app_id, r.app_name, r.total_tokens, r.total_requests, r.url, r.description, r.category, r.subcategory, r.growth_pct
     FROM app_ranking_period p JOIN app_ranking r ON r.end_date = p.end_date
     WHERE p.end_date = (SELECT max(end_date) FROM app_ranking_period
                         WHERE $1::int IS NULL OR end_date <= date '1970-01-01' + $1::int)
     ORDER BY r.rank`,
    [throughDay],
  );
  const [first] = rows;
  if (first === undefined) return null;
  const { start_day: startDay, end_day: endDay, as_of: asOfMs, synced_at: syncedAtMs } = first;
  return { startDay, endDay, asOfMs, syncedAtMs, rows: rows.map(appRow) };
}

/** The first and the last day of a period. */
export type PeriodDays = Pick<AppPeriod, 'startDay' | 'endDay'>;

/** The latest periods, the latest first. */
export async function readAppPeriodDays(sql: Sql, limit: number): Promise<readonly PeriodDays[]> {
  const rows = await sql.query<{ start_day: number; end_day: number }>(
    `SELECT start_date - date '1970-01-01' AS start_day, end_date - date '1970-01-01' AS end_day
     FROM app_ranking_period ORDER BY end_date DESC LIMIT $1`,
    [limit],
  );
  return rows.map(({ start_day: startDay, end_day: endDay }) => ({ startDay, endDay }));
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

function appRow(raw: RawRow): AppRow {
  return {
    rank: raw.rank,
    appId: Number(raw.app_id),
    appName: raw.app_name,
    totalTokens: raw.total_tokens,
    totalRequests: raw.total_requests === null ? null : Number(raw.total_requests),
    url: raw.url,
    description: raw.description,
    category: raw.category,
    subcategory: raw.subcategory,
    growthPct: raw.growth_pct,
  };
}
