import type { Sql } from '../store/sql.ts';
import { utcDayAt } from './days.ts';

/** The state of a dataset's daily sync. */
export interface SyncState {
  /** The Seoul day whose sync is done, since 1970-01-01; null before the first. */
  readonly doneDay: number | null;
  /** Failures since the last success, and the reason of the last one. */
  readonly failures: number;
  readonly fault: string | null;
  /** When the job may take it again, after a failure or while it is synced; null: at once. */
  readonly retryAtMs: number | null;
  /** When the last sync succeeded; null: never. */
  readonly syncedAtMs: number | null;
}

/** A request that is to wait for longer was put off by a clock that was wrong. */
const maxWaitMs = 60_000;

/**
 * Counts one request to the source, of any process, and returns when it may be sent; null when those
 * of the UTC day are used up.
 */
export async function countRequest(
  sql: Sql,
  { spacingMs, requestsPerDay }: { readonly spacingMs: number; readonly requestsPerDay: number },
  nowMs: number,
): Promise<number | null> {
  const [row] = await sql.query<{ atMs: number }>(
    `UPDATE dataset_source s SET day = t.today, requests = CASE WHEN day = t.today THEN requests + 1 ELSE 1 END,
            asked_at = CASE WHEN asked_at + t.spacing BETWEEN t.now AND t.now + interval '${maxWaitMs} milliseconds'
                       THEN asked_at + t.spacing ELSE t.now END
     FROM (SELECT date '1970-01-01' + $1::int AS today, to_timestamp($2::float8 / 1000) AS now,
                  $3::int * interval '1 millisecond' AS spacing) t
     WHERE day IS DISTINCT FROM t.today OR requests < $4 RETURNING asked_at AS "atMs"`,
    [utcDayAt(nowMs), nowMs, spacingMs, requestsPerDay],
  );
  return row?.atMs ?? null;
}

/** The state of a dataset's sync. */
export async function readSyncState(sql: Sql, dataset: string): Promise<SyncState> {
  const [state] = await sql.query<SyncState>(
    `SELECT done_day - date '1970-01-01' AS "doneDay", failures, fault, retry_at AS "retryAtMs", synced_at AS "syncedAtMs"
     FROM dataset_sync WHERE dataset = $1`,
    [dataset],
  );
  return state ?? { doneDay: null, failures: 0, fault: null, retryAtMs: null, syncedAtMs: null };
}

/**
 * Takes a dataset that is due for a sync; returns whether it was. No other process takes it before
 * `untilMs`, when the sync has failed for certain.
 */
export async function takeSync(
  sql: Sql,
  dataset: string,
  untilMs: number,
  isDue: (state: SyncState) => boolean,
): Promise<boolean> {
  await sql.query('INSERT INTO dataset_sync (dataset) VALUES ($1) ON CONFLICT DO NOTHING', [dataset]);
  await sql.query('SELECT 1 FROM dataset_sync WHERE dataset = $1 FOR UPDATE', [dataset]);
  if (!isDue(await readSyncState(sql, dataset))) return false;
  await retryAt(sql, dataset, untilMs);
  return true;
}

/** Sets when the job may take a dataset again; null: at once. */
export async function retryAt(sql: Sql, dataset: string, atMs: number | null): Promise<void> {
  const sets = 'UPDATE dataset_sync SET retry_at = to_timestamp($2::float8 / 1000) WHERE dataset = $1';
  await sql.query(sets, [dataset, atMs]);
}

/** Makes datasets due, whatever was done today. */
export async function requestSync(sql: Sql, datasets: readonly string[]): Promise<void> {
  await sql.query(
    `INSERT INTO dataset_sync (dataset) SELECT unnest($1::text[])
     ON CONFLICT (dataset) DO UPDATE SET done_day = NULL, retry_at = NULL`,
    [datasets],
  );
}

/** Records that the sync of a Seoul day is done. */
export async function noteSynced(sql: Sql, dataset: string, seoulDay: number, atMs: number): Promise<void> {
  await sql.query(
    `INSERT INTO dataset_sync (dataset, done_day, synced_at)
     VALUES ($1, date '1970-01-01' + $2::int, to_timestamp($3::float8 / 1000))
     ON CONFLICT (dataset) DO UPDATE SET done_day = excluded.done_day, synced_at = excluded.synced_at, failures = 0, fault = NULL, retry_at = NULL`,
    [dataset, seoulDay, atMs],
  );
}

/** Records a failure and when to retry. */
export async function noteFailure(
  sql: Sql,
  dataset: string,
  { failures, fault, retryAtMs }: Pick<SyncState, 'failures' | 'fault' | 'retryAtMs'>,
): Promise<void> {
  await sql.query(
    `UPDATE dataset_sync SET failures = $2, fault = $3, retry_at = to_timestamp($4::float8 / 1000) WHERE dataset = $1`,
    [dataset, failures, fault, retryAtMs],
  );
}

/** The source as it is now. */
export interface SourceState {
  /** The UTC day of the counted requests, since 1970-01-01. */
  readonly day: number | null;
  readonly requests: number;
  readonly requestedAtMs: number | null;
}

/** Reads the state of the source. */
export async function readSource(sql: Sql): Promise<SourceState> {
  const [state] = await sql.query<SourceState>(
    `SELECT day - date '1970-01-01' AS day, requests, asked_at AS "requestedAtMs" FROM dataset_source`,
  );
  return state ?? { day: null, requests: 0, requestedAtMs: null };
}
