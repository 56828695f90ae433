import type { Sql } from '../../store/sql.ts';
import type { ListingFilter } from '../search-sql.ts';
import type { HourSpan } from './facts-sql.ts';
import { readRolledUntil } from './rolling-sql.ts';
import { isFailed } from './usage-facts-sql.ts';

/** The requests that were settled in one hour, of all accounts. */
export interface RequestHour {
  readonly startMs: number;
  readonly requests: number;
  /** Those that pass the filter. */
  readonly matching: number;
}

/** The hours with requests, and the instant before which all of them are known. */
export interface RequestHours {
  readonly hours: readonly RequestHour[];
  /** Null: none is. */
  readonly rolledUntilMs: number | null;
}

/** How many requests passed a filter in each hour of a span. */
export async function readRequestHours(
  sql: Sql,
  filter: ListingFilter,
  { fromMs, toMs }: HourSpan,
): Promise<RequestHours> {
  const rolledUntilMs = await readRolledUntil(sql);
  const rows = await sql.query<{ start: number; requests: bigint; matching: bigint | null }>(
    `SELECT hour AS start, sum(requests)::bigint AS requests, (sum(requests) FILTER (WHERE
       ($3::text IS NULL OR CASE $3 WHEN 'cancelled' THEN status = 499 WHEN 'failed' THEN ${isFailed}
          ELSE error_type = '' AND status < 400 END)
       AND ($4::int[] IS NULL OR status = ANY ($4)) AND ($5::text[] IS NULL OR error_type = ANY ($5))
       AND ($6::text[] IS NULL OR model = ANY ($6)) AND ($7::text[] IS NULL OR provider = ANY ($7))
       AND ($8::text[] IS NULL OR finish_reason = ANY ($8))))::bigint AS matching
     FROM usage_hour WHERE account_id = 0 AND hour >= to_timestamp($1::float8 / 1000) AND hour < to_timestamp($2::float8 / 1000)
     GROUP BY hour`,
    [
      fromMs,
      toMs,
      filter.outcome,
      filter.statuses,
      filter.errorTypes,
      filter.models,
      filter.providers,
      filter.finishReasons,
    ],
  );
  return {
    rolledUntilMs,
    hours: rows.map((row) => ({
      startMs: row.start,
      requests: Number(row.requests),
      matching: Number(row.matching ?? 0),
    })),
  };
}
