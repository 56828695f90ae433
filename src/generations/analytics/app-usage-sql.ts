import type { Sql } from '../../store/sql.ts';
import { factsOf, type UsageQuery } from './usage-facts-sql.ts';
import { sumsSql, type UsageSums } from './usage-sql.ts';

/** The usage of one app, with that of the apps merged into it. */
export interface AppUsage extends UsageSums {
  /** 0: requests of no app. */
  readonly appId: number;
  /** The models with the highest cost first; at most `namedModels` of them. */
  readonly models: readonly string[];
  readonly modelCount: number;
}

const namedModels = 5;

/** The usage of every app with requests. */
export async function usageOfApps(sql: Sql, query: UsageQuery): Promise<readonly AppUsage[]> {
  const { text, values } = await factsOf(sql, query, { by: 'app' });
  return sql.query(
    `WITH facts AS MATERIALIZED (${text}),
     ranked AS (
       SELECT app_id, model, row_number() OVER (PARTITION BY app_id ORDER BY sum(cost) DESC, sum(requests) DESC, model) AS nth
       FROM facts WHERE model <> '' GROUP BY app_id, model
     ), models AS (
       SELECT app_id, count(*) AS model_count, array_agg(model ORDER BY nth) FILTER (WHERE nth <= ${namedModels}) AS models
       FROM ranked GROUP BY app_id
     ), sums AS (SELECT app_id::float8 AS "appId", ${sumsSql} FROM facts GROUP BY app_id)
     SELECT sums.*, coalesce(models, '{}') AS models, coalesce(model_count, 0)::int AS "modelCount" FROM sums LEFT JOIN models ON app_id = "appId"`,
    values,
  );
}

/**
 * The last Seoul day of each app's requests, as `YYYY-MM-DD`; those of merged apps count for their
 * target.
 */
export async function lastDaysOfApps(sql: Sql, query: UsageQuery): Promise<ReadonlyMap<number, string>> {
  const { text, values } = await factsOf(sql, query, { by: 'app' });
  const rows = await sql.query<{ app_id: bigint; day: string }>(
    `SELECT app_id, to_char(max(hour) AT TIME ZONE 'Asia/Seoul', 'YYYY-MM-DD') AS day FROM (${text}) f GROUP BY app_id`,
    values,
  );
  return new Map(rows.map((row) => [Number(row.app_id), row.day]));
}
