import type { Sql } from '../store/sql.ts';

/** The tokens of a model on a day, or in the week that begins on it. Days count from 1970-01-01. */
export interface ModelRow {
  readonly day: number;
  /** `other` is the sum of every model without a row of its own. */
  readonly model: string;
  /** Up to 30 digits. */
  readonly totalTokens: bigint;
}

/** How far a series has been read. */
export interface SeriesProgress {
  readonly throughDay: number;
  readonly asOfMs: number;
}

/** A part of a series. */
export interface ModelSeries extends SeriesProgress {
  readonly rows: readonly ModelRow[];
}

/**
 * The rows of a series between two days, both included, and how far it has been read; null when it
 * never was.
 */
export async function readModelSeries(
  sql: Sql,
  series: string,
  fromDay: number,
  toDay: number,
): Promise<ModelSeries | null> {
  const rows = await sql.query<{
    through: number;
    as_of: number;
    day: number | null;
    model: string | null;
    total_tokens: string | null;
  }>(
    `SELECT s.through - date '1970-01-01' AS through, s.as_of, r.date - date '1970-01-01' AS day, r.model, r.total_tokens
     FROM model_ranking_series s LEFT JOIN model_ranking r ON r.series = s.series
       AND r.date BETWEEN date '1970-01-01' + $2::int AND date '1970-01-01' + $3::int
     WHERE s.series = $1`,
    [series, fromDay, toDay],
  );
  const [first] = rows;
  if (first === undefined) return null;
  const found = rows.flatMap(({ day, model, total_tokens: tokens }) =>
    day === null || model === null || tokens === null ? [] : [{ day, model, totalTokens: BigInt(tokens) }],
  );
  return { throughDay: first.through, asOfMs: first.as_of, rows: found };
}

/** How far a series has been read; null when it never was. */
export async function readSeriesProgress(sql: Sql, series: string): Promise<SeriesProgress | null> {
  const [row] = await sql.query<{ through: number; as_of: number }>(
    "SELECT through - date '1970-01-01' AS through, as_of FROM model_ranking_series WHERE series = $1",
    [series],
  );
  return row === undefined ? null : { throughDay: row.through, asOfMs: row.as_of };
}

/** Whether any series was read. */
export async function hasModelRows(sql: Sql): Promise<boolean> {
  const rows = await sql.query<{ one: number }>('SELECT 1 AS one FROM model_ranking LIMIT 1');
  return rows.length > 0;
}

/**
 * Stores the dates that `rows` has in the place of what was there, and how far the series has been
 * read. In a transaction.
 */
export async function writeModelSeries(
  sql: Sql,
  series: string,
  part: ModelSeries & { readonly syncedAtMs: number },
): Promise<void> {
  const { rows, throughDay, asOfMs, syncedAtMs } = part;
  const days = [...new Set(rows.map((row) => row.day))];
  await sql.query(
    "DELETE FROM model_ranking WHERE series = $1 AND date IN (SELECT date '1970-01-01' + d FROM unnest($2::int[]) d)",
    [series, days],
  );
  await sql.query(
    `INSERT INTO model_ranking (series, date, model, total_tokens)
     SELECT $1, date '1970-01-01' + u.day, u.model, u.tokens FROM unnest($2::int[], $3::text[], $4::numeric[]) u (day, model, tokens)`,
    [
      series,
      rows.map((row) => row.day),
      rows.map((row) => row.model),
      rows.map((row) => String(row.totalTokens)),
    ],
  );
  await sql.query(
    `INSERT INTO model_ranking_series (series, through, as_of, synced_at)
     VALUES ($1, date '1970-01-01' + $2::int, to_timestamp($3::float8 / 1000), to_timestamp($4::float8 / 1000))
     ON CONFLICT (series) DO UPDATE SET through = excluded.through, as_of = excluded.as_of, synced_at = excluded.synced_at`,
    [series, throughDay, asOfMs, syncedAtMs],
  );
}
