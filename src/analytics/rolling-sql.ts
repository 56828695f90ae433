import { minIdAt } from '../generations/partitions-sql.ts';
import type { Sql } from '../store/sql.ts';
import { dimensionColumns, histogramColumns, maxRequestMs, recordFacts, sumColumns } from './facts-sql.ts';

/** An arbitrary constant: one process rolls up at a time. */
const rollupLock = 7_236_482_620;

const hourMs = 3_600_000;
const dimensions = dimensionColumns.join(', ');
const histogramPairs = histogramColumns.flatMap((name) => [`${name}_at`, `${name}_n`]).join(', ');
const columns = `account_id, hour, ${dimensions}, ${sumColumns.join(', ')}, ${histogramPairs}`;
const groups = `account_id, hour, ${dimensions}`;
const sums = sumColumns.map((name) => `sum(${name})::bigint AS ${name}`).join(', ');
const noHistogram = (name: string): string =>
  `coalesce(h.${name}_at, '{}') AS ${name}_at, coalesce(h.${name}_n, '{}') AS ${name}_n`;

/** The insertion of rolled rows from `facts` (dimensions and sums) and `counts` (dimensions, kind, bucket, n). */
const insertRolled = `
histograms AS (
  SELECT ${groups},
    ${histogramColumns
      .flatMap((name, kind) => [
        `array_agg(bucket ORDER BY bucket) FILTER (WHERE kind = ${kind}) AS ${name}_at`,
        `array_agg(n ORDER BY bucket) FILTER (WHERE kind = ${kind}) AS ${name}_n`,
      ])
      .join(',\n    ')}
  FROM counts GROUP BY ${groups}
)
INSERT INTO usage_hour (${columns})
SELECT ${groups}, ${sumColumns.map((name) => `s.${name}`).join(', ')}, ${histogramColumns.map(noHistogram).join(', ')}
FROM (SELECT ${groups}, ${sums} FROM facts GROUP BY ${groups}) s LEFT JOIN histograms h USING (${groups})`;

/** From the records of the accounts $1 (all that used a key on these days, if null), of the hours from $2 to $3. */
const rollRecords = `
WITH records AS MATERIALIZED (
  SELECT g.* FROM (
    SELECT DISTINCT account_id FROM key_usage_day
    WHERE day >= ($2::timestamptz AT TIME ZONE 'Asia/Seoul')::date AND day <= (($3::timestamptz - interval '1 ms') AT TIME ZONE 'Asia/Seoul')::date
      AND ($1::bigint[] IS NULL OR account_id = ANY ($1::bigint[]))
  ) a JOIN LATERAL (
    SELECT * FROM generation WHERE account_id = a.account_id AND id >= $4::uuid AND id < $5::uuid
      AND settled_at >= $2::timestamptz AND settled_at < $3::timestamptz
  ) g ON true
),
facts AS MATERIALIZED (${recordFacts('records')}),
counts AS (
  SELECT ${groups}, kind, bucket, count(*) AS n
  FROM facts, LATERAL (VALUES ${histogramColumns.map((name, kind) => `(${kind}, ${name})`).join(', ')}) v (kind, bucket)
  WHERE bucket IS NOT NULL GROUP BY ${groups}, kind, bucket
),${insertRolled}`;

/** All accounts together, from their rows of the hours from $1 to $2. */
const rollTotals = `
WITH facts AS MATERIALIZED (
  SELECT 0::bigint AS account_id, hour, 0::bigint AS key_id, 0::bigint AS app_id, model, provider, status, error_type, finish_reason,
         ${sumColumns.join(', ')}, ${histogramPairs}
  FROM usage_hour WHERE account_id > 0 AND hour >= $1::timestamptz AND hour < $2::timestamptz
),
counts AS (
  SELECT ${groups}, kind, bucket, sum(n)::bigint AS n
  FROM facts, LATERAL (
    ${histogramColumns.map((name, kind) => `SELECT ${kind} AS kind, u.bucket, u.n FROM unnest(${name}_at, ${name}_n) u (bucket, n)`).join('\n    UNION ALL ')}
  ) v GROUP BY ${groups}, kind, bucket
),${insertRolled}`;

/** Half-open: [fromMs, toMs), both on the hour. */
export interface HourSpan {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The instant before which every hour is rolled up; null when none is. */
export async function readRolledUntil(sql: Sql): Promise<number | null> {
  const [row] = await sql.query<{ rolled_until: number }>('SELECT rolled_until FROM usage_rollup');
  return row?.rolled_until ?? null;
}

/**
 * The beginning of the first hour that may have records: that of the first Seoul day with usage whose records were not dropped. Null
 * when there is no usage.
 */
export async function firstHour(sql: Sql): Promise<number | null> {
  const [row] = await sql.query<{ start: number | null }>(
    `SELECT min(day)::timestamp AT TIME ZONE 'Asia/Seoul' AS start FROM key_usage_day
     WHERE day >= coalesce((SELECT max(month) + interval '1 month' FROM pruned_month), '-infinity')`,
  );
  return row?.start ?? null;
}

/** How long a statement of a rollup may take, which is more than a statement of a call. */
const rollTimeoutMs = 120_000;

/** False when another process is rolling up. Run in a transaction, which holds the lock. */
export async function lockRollup(sql: Sql): Promise<boolean> {
  await sql.query(`SET LOCAL statement_timeout = ${rollTimeoutMs}`);
  const [row] = await sql.query<{ locked: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS locked', [
    rollupLock,
  ]);
  return row?.locked === true;
}

/**
 * Computes the hours of a span from the records, in place of what is there. Run in a transaction
 * that has the lock.
 */
export async function rollSpan(sql: Sql, span: HourSpan): Promise<void> {
  await replaceRows(sql, span, null);
  await sql.query(
    `INSERT INTO usage_rollup (rolled_until) VALUES ($1)
     ON CONFLICT (id) DO UPDATE SET rolled_until = greatest(usage_rollup.rolled_until, excluded.rolled_until)`,
    [instant(span.toMs)],
  );
}

/**
 * Computes again up to `limit` rolled hours that got records after they had ended; returns how many
 * hours of accounts there were. Run in a transaction that has the lock.
 */
export async function rollStale(sql: Sql, limit: number): Promise<number> {
  const marks = await sql.query<{ account_id: bigint; hour: number }>(
    `WITH due AS (SELECT id FROM stale_hour WHERE hour < (SELECT rolled_until FROM usage_rollup) ORDER BY id LIMIT $1),
     gone AS (DELETE FROM stale_hour WHERE id IN (SELECT id FROM due) RETURNING account_id, hour)
     SELECT DISTINCT account_id, hour FROM gone`,
    [limit],
  );
  for (const [hour, ofHour] of Map.groupBy(marks, (mark) => mark.hour))
    await replaceRows(
      sql,
      { fromMs: hour, toMs: hour + hourMs },
      ofHour.map((mark) => mark.account_id),
    );
  return marks.length;
}

async function replaceRows(
  sql: Sql,
  { fromMs, toMs }: HourSpan,
  accounts: readonly bigint[] | null,
): Promise<void> {
  const span = [instant(fromMs), instant(toMs)];
  await sql.query(
    `DELETE FROM usage_hour WHERE hour >= $1 AND hour < $2 AND ($3::bigint[] IS NULL OR account_id = 0 OR account_id = ANY ($3::bigint[]))`,
    [...span, accounts],
  );
  await sql.query(rollRecords, [
    accounts,
    ...span,
    minIdAt(Math.max(0, fromMs - maxRequestMs)),
    minIdAt(toMs + hourMs),
  ]);
  await sql.query(rollTotals, span);
}

/** Days of accounts whose rollups differ from what their keys used, of closed days with records. */
export async function findDifferingDays(
  sql: Sql,
  beforeMs: number,
): Promise<readonly { readonly accountId: bigint; readonly fromMs: number }[]> {
  const rows = await sql.query<{ account_id: bigint; start: number }>(
    `WITH days AS (
       SELECT account_id, key_id, day, requests, cost FROM key_usage_day
       WHERE day >= coalesce((SELECT max(month) + interval '1 month' FROM pruned_month), '-infinity')
         AND day < ($1::timestamptz AT TIME ZONE 'Asia/Seoul')::date
     ), rolled AS (
       SELECT account_id, key_id, (hour AT TIME ZONE 'Asia/Seoul')::date AS day, sum(requests) AS requests, sum(cost) AS cost
       FROM usage_hour WHERE account_id > 0 AND hour < $1 GROUP BY 1, 2, 3
     )
     SELECT DISTINCT account_id, day::timestamp AT TIME ZONE 'Asia/Seoul' AS start FROM days LEFT JOIN rolled USING (account_id, key_id, day)
     WHERE days.requests IS DISTINCT FROM rolled.requests OR days.cost IS DISTINCT FROM rolled.cost
     ORDER BY start, account_id`,
    [instant(beforeMs)],
  );
  return rows.map((row) => ({ accountId: row.account_id, fromMs: row.start }));
}

/** Computes the days of accounts again; returns how many there were. Run in a transaction that has the lock. */
export async function rollDays(
  sql: Sql,
  days: readonly { readonly accountId: bigint; readonly fromMs: number }[],
): Promise<void> {
  for (const [fromMs, ofDay] of Map.groupBy(days, (day) => day.fromMs))
    await replaceRows(
      sql,
      { fromMs, toMs: fromMs + 24 * hourMs },
      ofDay.map((day) => day.accountId),
    );
}

/** A number above those of all transactions that have written anything so far. */
export async function nextTransaction(sql: Sql): Promise<bigint> {
  const [row] = await sql.query<{ id: string }>('SELECT pg_current_xact_id()::text AS id');
  return BigInt(row?.id ?? 0);
}

/** Every transaction with a lower number has ended. */
export async function oldestTransaction(sql: Sql): Promise<bigint> {
  const [row] = await sql.query<{ id: string }>('SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS id');
  return BigInt(row?.id ?? 0);
}

function instant(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
