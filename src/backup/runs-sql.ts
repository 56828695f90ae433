import { readCreation } from '../store/database-identity.ts';
import { column, nullable, number, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';
import type { RunHistory } from './schedule.ts';

/** The kinds of runs: a backup, and a drill that restores the newest one and verifies its ledger. */
export const runKinds = ['backup', 'drill'] as const;
export type RunKind = (typeof runKinds)[number];

const runs = recordOf({
  id: number('id'),
  kind: column<RunKind>('kind'),
  place: column<string>('place'),
  backup: column<string>('backup'),
  startedAtMs: column<number>('started_at'),
  /** Null: it runs, or its process ended. */
  endedAtMs: column<number | null>('ended_at'),
  bytes: nullable(number('bytes')),
  rows: nullable(number('rows')),
  /** Null: it succeeded, or has not ended. */
  error: column<string | null>('error'),
});

/** A run as the database has it. */
export type RunRow = RowOf<typeof runs>;

/** What the runs of one kind add up to. */
export interface RunSummary extends RunHistory {
  /** Of the last good run. */
  readonly bytes: number;
  /** All failed runs. */
  readonly failures: number;
  /** When the database was created, in epoch milliseconds. */
  readonly sinceMs: number;
  /** Of the last failed run. */
  readonly lastError: string | null;
}

const maxErrorLength = 2_000;
/** An arbitrary constant: one process makes a backup or a drill at a time. */
const backupLock = 7_236_482_627;

/** Takes the lock of backups until the connection closes; false while another process has it. */
export async function lockBackups(sql: Sql): Promise<boolean> {
  const [row] = await sql.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
    backupLock,
  ]);
  return row?.locked === true;
}

/** Records that a run began; returns its number. */
export async function insertRun(
  sql: Sql,
  run: Pick<RunRow, 'kind' | 'place' | 'backup' | 'startedAtMs'>,
): Promise<number> {
  const [row] = await sql.query<{ id: bigint }>(
    `INSERT INTO backup_run (kind, place, backup, started_at)
     VALUES ($1, $2, $3, to_timestamp($4::float8 / 1000)) RETURNING id`,
    [run.kind, run.place, run.backup, run.startedAtMs],
  );
  return Number(row?.id);
}

/** Records how a run ended. */
export async function endRun(
  sql: Sql,
  id: number,
  ended: Pick<RunRow, 'bytes' | 'rows' | 'error'> & { readonly endedAtMs: number },
): Promise<void> {
  await sql.query(
    'UPDATE backup_run SET ended_at = to_timestamp($2::float8 / 1000), bytes = $3, rows = $4, error = $5 WHERE id = $1',
    [id, ended.endedAtMs, ended.bytes, ended.rows, ended.error?.slice(0, maxErrorLength) ?? null],
  );
}

/** Ends the runs whose processes ended; the caller has the lock. */
export async function endInterruptedRuns(sql: Sql, nowMs: number): Promise<void> {
  await sql.query(
    `UPDATE backup_run SET ended_at = to_timestamp($1::float8 / 1000), error = 'the process ended before the run'
     WHERE ended_at IS NULL`,
    [nowMs],
  );
}

/** The runs, newest first. */
export function readRuns(sql: Sql, limit: number): Promise<readonly RunRow[]> {
  return runs.all(sql, `SELECT ${runs.columns} FROM backup_run ORDER BY id DESC LIMIT $1`, [limit]);
}

/** What the runs of each kind add up to. */
export async function readRunSummaries(sql: Sql): Promise<Readonly<Record<RunKind, RunSummary>>> {
  const rows = await sql.query<{
    kind: RunKind;
    good_at: number | null;
    bytes: bigint | null;
    failures: bigint;
    failed_since: bigint;
    failed_at: number | null;
    last_error: string | null;
  }>(
    `WITH good AS (
       SELECT DISTINCT ON (kind) kind, id, started_at, bytes FROM backup_run
       WHERE ended_at IS NOT NULL AND error IS NULL ORDER BY kind, id DESC)
     SELECT k.kind, good.started_at AS good_at, good.bytes,
            count(r.id) FILTER (WHERE r.error IS NOT NULL) AS failures,
            count(r.id) FILTER (WHERE r.error IS NOT NULL AND r.id > coalesce(good.id, 0)) AS failed_since,
            (array_agg(r.ended_at ORDER BY r.id DESC) FILTER (WHERE r.error IS NOT NULL))[1] AS failed_at,
            (array_agg(r.error ORDER BY r.id DESC) FILTER (WHERE r.error IS NOT NULL))[1] AS last_error
     FROM unnest($1::text[]) AS k(kind) LEFT JOIN good ON good.kind = k.kind LEFT JOIN backup_run r ON r.kind = k.kind
     GROUP BY k.kind, good.id, good.started_at, good.bytes`,
    [[...runKinds]],
  );
  const sinceMs = await readCreation(sql);
  const summaryOf = (kind: RunKind): RunSummary => {
    const row = rows.find((one) => one.kind === kind);
    return {
      goodAtMs: row?.good_at ?? null,
      sinceMs,
      bytes: Number(row?.bytes ?? 0),
      failures: Number(row?.failures ?? 0),
      failedSince: Number(row?.failed_since ?? 0),
      failedAtMs: row?.failed_at ?? null,
      lastError: row?.last_error ?? null,
    };
  };
  return { backup: summaryOf('backup'), drill: summaryOf('drill') };
}
