import type { Sql } from '../store/sql.ts';
import { maxClockSkewMs } from '../time/clock.ts';

/** The state of a dataset's daily sync. */
export interface SyncState {
  /** The Seoul day whose sync is done, since 1970-01-01; null before the first. */
  readonly doneDay: number | null;
  /** Failures since the last success. */
  readonly failures: number;
  readonly retryAtMs: number | null;
  /** When the last sync succeeded; null: never. */
  readonly syncedAtMs: number | null;
}

/**
 * Gives `holder` the lease of the source until `untilMs`, unless it renews the lease; returns when
 * the last request was made, if ever. Null while another process has the lease. The lease of a dead
 * process expires; one that ends later than a new one would is of a clock that was wrong.
 */
export async function leaseSource(
  sql: Sql,
  holder: string,
  nowMs: number,
  untilMs: number,
): Promise<{ readonly requestedAtMs: number | null } | null> {
  const [row] = await sql.query<{ asked_at: number | null }>(
    `UPDATE dataset_source SET holder = $1, held_until = to_timestamp($3::float8 / 1000)
     WHERE holder IS NULL OR holder = $1 OR held_until < to_timestamp($2::float8 / 1000)
       OR held_until > to_timestamp($3::float8 / 1000) + interval '${maxClockSkewMs} milliseconds' RETURNING asked_at`,
    [holder, nowMs, untilMs],
  );
  return row === undefined ? null : { requestedAtMs: row.asked_at };
}

/** Releases the lease of the source. */
export async function releaseSource(sql: Sql, holder: string): Promise<void> {
  await sql.query('UPDATE dataset_source SET holder = NULL, held_until = NULL WHERE holder = $1', [holder]);
}

/**
 * Counts one request to the source on a UTC day and renews the lease until `untilMs`. `spent`: the
 * day's `most` are used; `lost`: another process has the lease now.
 */
export async function countRequest(
  sql: Sql,
  holder: string,
  count: {
    readonly utcDay: number;
    readonly max: number;
    readonly nowMs: number;
    readonly untilMs: number;
  },
): Promise<'counted' | 'spent' | 'lost'> {
  const { utcDay, max, nowMs, untilMs } = count;
  const rows = await sql.query<{ id: number }>(
    `UPDATE dataset_source SET held_until = to_timestamp($4::float8 / 1000), day = date '1970-01-01' + $2::int,
            requests = CASE WHEN day = date '1970-01-01' + $2::int THEN requests + 1 ELSE 1 END,
            asked_at = to_timestamp($5::float8 / 1000)
     WHERE holder = $1 AND (day IS DISTINCT FROM date '1970-01-01' + $2::int OR requests < $3) RETURNING id`,
    [holder, utcDay, max, untilMs, nowMs],
  );
  if (rows.length > 0) return 'counted';
  return (await hasLease(sql, holder)) ? 'spent' : 'lost';
}

/**
 * Whether `holder` still has the lease; inside a transaction it cannot be taken over before the
 * end.
 */
export async function hasLease(sql: Sql, holder: string): Promise<boolean> {
  const rows = await sql.query<{ id: number }>('SELECT id FROM dataset_source WHERE holder = $1 FOR UPDATE', [
    holder,
  ]);
  return rows.length > 0;
}

/** The state of a dataset's sync. */
export async function readSyncState(sql: Sql, dataset: string): Promise<SyncState> {
  const [state] = await sql.query<SyncState>(
    `SELECT done_day - date '1970-01-01' AS "doneDay", failures, retry_at AS "retryAtMs", synced_at AS "syncedAtMs"
     FROM dataset_sync WHERE dataset = $1`,
    [dataset],
  );
  return state ?? { doneDay: null, failures: 0, retryAtMs: null, syncedAtMs: null };
}

/** Records that the sync of a Seoul day is done. */
export async function noteSynced(sql: Sql, dataset: string, seoulDay: number, atMs: number): Promise<void> {
  await sql.query(
    `INSERT INTO dataset_sync (dataset, done_day, synced_at)
     VALUES ($1, date '1970-01-01' + $2::int, to_timestamp($3::float8 / 1000))
     ON CONFLICT (dataset) DO UPDATE SET done_day = excluded.done_day, synced_at = excluded.synced_at, failures = 0, retry_at = NULL`,
    [dataset, seoulDay, atMs],
  );
}

/** Records a failure and when to retry. */
export async function noteFailure(
  sql: Sql,
  dataset: string,
  failures: number,
  retryAtMs: number,
): Promise<void> {
  await sql.query(
    `INSERT INTO dataset_sync (dataset, failures, retry_at) VALUES ($1, $2, to_timestamp($3::float8 / 1000))
     ON CONFLICT (dataset) DO UPDATE SET failures = excluded.failures, retry_at = excluded.retry_at`,
    [dataset, failures, retryAtMs],
  );
}

/** The source as it is now. */
export interface SourceState {
  /** The UTC day of the counted requests, since 1970-01-01. */
  readonly day: number | null;
  readonly requests: number;
  readonly requestedAtMs: number | null;
  /** Until when a process has the lease; null: none has. */
  readonly heldUntilMs: number | null;
}

/** Reads the state of the source. */
export async function readSource(sql: Sql): Promise<SourceState> {
  const [state] = await sql.query<SourceState>(
    `SELECT day - date '1970-01-01' AS day, requests, asked_at AS "requestedAtMs", held_until AS "heldUntilMs"
     FROM dataset_source`,
  );
  return state ?? { day: null, requests: 0, requestedAtMs: null, heldUntilMs: null };
}
