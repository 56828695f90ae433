import type { Sql } from '../store/sql.ts';

/** What the source published for a period. Days count from 1970-01-01. */
export interface Period<Row, About = null> {
  readonly startDay: number;
  readonly endDay: number;
  readonly asOfMs: number;
  readonly syncedAtMs: number;
  readonly rows: readonly Row[];
  /** What is published beside the rows. */
  readonly about: About;
}

/** The first and the last day of a period. */
export type PeriodDays = Pick<Period<unknown>, 'startDay' | 'endDay'>;

/** A dataset, or one series of it. */
export interface PeriodKey {
  readonly dataset: string;
  readonly series: string;
}

const days = `start_date - date '1970-01-01' AS "startDay", end_date - date '1970-01-01' AS "endDay"`;

/**
 * The periods that end between two days, both included, in order; and the latest of all, to know how
 * far the series has been read.
 */
export async function readPeriods<Row>(
  sql: Sql,
  { dataset, series }: PeriodKey,
  fromDay: number,
  toDay: number,
): Promise<{ readonly periods: readonly Period<Row>[]; readonly latest: Period<Row> | null }> {
  const rows = await sql.query<StoredPeriod>(
    `SELECT ${days}, as_of AS "asOfMs", synced_at AS "syncedAtMs", content, about FROM dataset_period
     WHERE dataset = $1 AND series = $2 AND (end_date BETWEEN date '1970-01-01' + $3::int AND date '1970-01-01' + $4::int
       OR end_date = (SELECT max(end_date) FROM dataset_period WHERE dataset = $1 AND series = $2)) ORDER BY end_date`,
    [dataset, series, fromDay, toDay],
  );
  const periods = rows.map((row) => periodOf<Row, null>(row));
  return {
    periods: periods.filter(({ endDay }) => endDay >= fromDay && endDay <= toDay),
    latest: periods.at(-1) ?? null,
  };
}

/** The latest period that ends on or before a day, or of all; null when there is none. */
export async function readLatestPeriod<Row, About = null>(
  sql: Sql,
  { dataset, series }: PeriodKey,
  throughDay: number | null,
): Promise<Period<Row, About> | null> {
  const [row] = await sql.query<StoredPeriod>(
    `SELECT ${days}, as_of AS "asOfMs", synced_at AS "syncedAtMs", content, about FROM dataset_period
     WHERE dataset = $1 AND series = $2 AND ($3::int IS NULL OR end_date <= date '1970-01-01' + $3::int)
     ORDER BY end_date DESC LIMIT 1`,
    [dataset, series, throughDay],
  );
  return row === undefined ? null : periodOf(row);
}

/** The days of the latest periods, the latest first. */
export function readPeriodDays(
  sql: Sql,
  { dataset, series }: PeriodKey,
  limit: number,
): Promise<readonly PeriodDays[]> {
  return sql.query<PeriodDays>(
    `SELECT ${days} FROM dataset_period WHERE dataset = $1 AND series = $2 ORDER BY end_date DESC LIMIT $3`,
    [dataset, series, limit],
  );
}

/** How many rows each dataset has; one without rows is absent. */
export async function countRows(sql: Sql): Promise<ReadonlyMap<string, number>> {
  const rows = await sql.query<{ dataset: string; rows: bigint }>(
    'SELECT dataset, sum(rows)::bigint AS rows FROM dataset_period GROUP BY dataset',
  );
  return new Map(rows.map((row) => [row.dataset, Number(row.rows)]));
}

/** Whether any row of a dataset is stored. */
export async function hasRows(sql: Sql, dataset: string): Promise<boolean> {
  const rows = await sql.query(
    'SELECT 1 AS one FROM dataset_period WHERE dataset = $1 AND rows > 0 LIMIT 1',
    [dataset],
  );
  return rows.length > 0;
}

/**
 * Stores each period in place of the one with the same end. A period without rows keeps what is
 * stored: it only states how far the series has been read, until a later one does.
 */
export async function writePeriods(
  sql: Sql,
  { dataset, series }: PeriodKey,
  periods: readonly Period<unknown, unknown>[],
): Promise<void> {
  await sql.query(
    `INSERT INTO dataset_period AS p (dataset, series, start_date, end_date, as_of, synced_at, rows, content, about)
     SELECT $1, $2, date '1970-01-01' + u.start_day, date '1970-01-01' + u.end_day, to_timestamp(u.as_of / 1000),
            to_timestamp(u.synced_at / 1000), u.rows, u.content, u.about
     FROM unnest($3::int[], $4::int[], $5::float8[], $6::float8[], $7::int[], $8::text[], $9::text[])
       u (start_day, end_day, as_of, synced_at, rows, content, about)
     ON CONFLICT (dataset, series, end_date) DO UPDATE
     SET start_date = excluded.start_date, as_of = excluded.as_of, synced_at = excluded.synced_at, about = excluded.about,
         rows = CASE excluded.rows WHEN 0 THEN p.rows ELSE excluded.rows END,
         content = CASE excluded.rows WHEN 0 THEN p.content ELSE excluded.content END`,
    [
      dataset,
      series,
      periods.map((one) => one.startDay),
      periods.map((one) => one.endDay),
      periods.map((one) => one.asOfMs),
      periods.map((one) => one.syncedAtMs),
      periods.map((one) => one.rows.length),
      periods.map((one) => JSON.stringify(one.rows)),
      periods.map((one) => JSON.stringify(one.about)),
    ],
  );
  await sql.query(
    `DELETE FROM dataset_period p WHERE dataset = $1 AND series = $2 AND rows = 0
     AND EXISTS (SELECT 1 FROM dataset_period l WHERE l.dataset = $1 AND l.series = $2 AND l.end_date > p.end_date)`,
    [dataset, series],
  );
}

/** Deletes the periods of a dataset. */
export async function deletePeriods(sql: Sql, dataset: string): Promise<void> {
  await sql.query('DELETE FROM dataset_period WHERE dataset = $1', [dataset]);
}

interface StoredPeriod extends PeriodDays {
  readonly asOfMs: number;
  readonly syncedAtMs: number;
  readonly content: string;
  readonly about: string;
}

function periodOf<Row, About>({ content, about, ...period }: StoredPeriod): Period<Row, About> {
  return { ...period, rows: JSON.parse(content) as readonly Row[], about: JSON.parse(about) as About };
}
