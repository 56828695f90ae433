import type { BackupConfig } from '../config/config.ts';
import { OperatorError } from '../errors/operator-error.ts';
import type { Actor } from '../identity/audit.ts';
import { recordAct } from '../identity/audit-sql.ts';
import { describeError, type Log } from '../log/log.ts';
import { flushNodes } from '../nodes/flush.ts';
import { disconnect } from '../store/connection.ts';
import type { Database } from '../store/database.ts';
import { readDatabaseId } from '../store/database-identity.ts';
import { sqlOver } from '../store/sql.ts';
import { type Clock, isoOf } from '../time/clock.ts';
import { type BackupPlace, backupNameOf } from './backup-files.ts';
import { keyOf, openPlace } from './open-place.ts';
import { markName, markOf, removeExpired, removeUnfinished } from './retention.ts';
import { endInterruptedRuns, endRun, insertRun, lockBackups, type RunKind } from './runs-sql.ts';
import { type BackupSums, takeBackup } from './take-backup.ts';

/** What a run needs. */
export interface RunParts {
  readonly backup: BackupConfig;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** The version of Naru. */
  readonly version: string;
  readonly actor: Actor;
  /** The node ids whose journals the caller has settled. */
  readonly settledHomes: readonly string[];
  readonly signal: AbortSignal;
  /** The pause before a call of S3 is repeated, instead of the default. */
  readonly retryMs?: number;
  /** Receives what is copied now. */
  readonly progress?: ((step: string) => void) | undefined;
}

/** A backup in its place. */
export interface BackupMade extends BackupSums {
  readonly kind: 'made';
  readonly name: string;
  readonly place: string;
  readonly takenAt: string;
  /** Descriptions of the nodes whose latest settlements are missing. */
  readonly withoutNodes: readonly string[];
  /** The names of earlier backups that were removed. */
  readonly removed: readonly string[];
}

/** A run that failed, as the database records it. */
export interface RunFailed {
  readonly kind: 'failed';
  readonly error: string;
}

/** How long every other node may take to write its settlements to the database. */
const flushWithinMs = 30_000;
/** The lock needs a connection that is idle for as long as the run takes. */
const lockStatementMs = 86_400_000;

/**
 * Makes a backup in the configured place, records the run, and removes what is no longer kept.
 * `busy`: another process makes one. Throws only when the database cannot be used.
 */
export async function runBackup(parts: RunParts): Promise<BackupMade | RunFailed | 'busy'> {
  const place = await openPlace(parts.backup, parts);
  const takenAt = isoOf(parts.clock.now());
  const name = backupNameOf(takenAt);
  const run = { kind: 'backup' as const, place: place.name, backup: name };
  return withLock(parts.database, () => recorded(parts, run, () => make(parts, place, { name, takenAt })));
}

/** Makes the backup and removes what is no longer kept. */
async function make(
  parts: RunParts,
  place: BackupPlace,
  { name, takenAt }: { readonly name: string; readonly takenAt: string },
): Promise<BackupMade> {
  const { backup, database, clock, log, version, actor, signal, progress } = parts;
  const databaseId = await readDatabaseId(database);
  const unfinished = await removeUnfinished(place, databaseId);
  if (unfinished.length > 0) log.warn('unfinished_backups_removed', { names: unfinished.join(', ') });
  const withoutNodes = await missingNodes(database, clock, parts.settledHomes);
  const files = place.open(name);
  let sums: BackupSums;
  try {
    await files.write(markName, markOf(databaseId));
    const key = await keyOf(backup);
    sums = await takeBackup(database, { files, takenAt, version, withoutNodes, key, signal, progress });
  } catch (error) {
    // What stays is removed by the next run.
    await place.remove(name).catch(() => {});
    throw error;
  }
  await files.remove(markName);
  const after = {
    taken_at: takenAt,
    tables: sums.tables,
    rows: sums.rows,
    without_nodes: withoutNodes.length,
  };
  await database.transaction((sql) => recordAct(sql, actor, { act: 'backup', after }, clock.now()));
  const removed = await removeExpired(place, databaseId, { keep: backup.keep, nowMs: clock.now() }).catch(
    (error: unknown) => {
      log.warn('old_backups_not_removed', { place: place.name, detail: describeError(error) });
      return [];
    },
  );
  return { kind: 'made', name, place: place.name, takenAt, withoutNodes, removed, ...sums };
}

/** Does the work while no other process makes a backup or a drill; else `busy`. */
export async function withLock<T>(database: Database, work: () => Promise<T>): Promise<T | 'busy'> {
  const client = await database.connect(lockStatementMs);
  try {
    return (await lockBackups(sqlOver(client))) ? await work() : 'busy';
  } finally {
    await disconnect(client);
  }
}

/**
 * Does the work of one run, and records it with its result; the caller has the lock. A failure is
 * recorded and returned.
 */
export async function recorded<T extends { readonly bytes: number; readonly rows: number }>(
  { database, clock, signal }: Pick<RunParts, 'database' | 'clock' | 'signal'>,
  run: { readonly kind: RunKind; readonly place: string; readonly backup: string },
  work: () => Promise<T>,
): Promise<T | RunFailed> {
  await database.transaction((sql) => endInterruptedRuns(sql, clock.now()));
  const id = await database.transaction((sql) => insertRun(sql, { ...run, startedAtMs: clock.now() }));
  const outcome = await work().catch((error: unknown): RunFailed => {
    return { kind: 'failed', error: reasonOf(signal.aborted ? signal.reason : error) };
  });
  const result =
    'error' in outcome
      ? { bytes: null, rows: null, error: outcome.error }
      : { bytes: outcome.bytes, rows: outcome.rows, error: null };
  await database.transaction((sql) => endRun(sql, id, { endedAtMs: clock.now(), ...result }));
  return outcome;
}

/**
 * Has every node write its settlements to the database; returns descriptions of those that did not.
 */
export async function missingNodes(
  database: Database,
  clock: Clock,
  settledHomes: readonly string[],
): Promise<readonly string[]> {
  const { silent, lost } = await flushNodes(database, clock, { limitMs: flushWithinMs, settledHomes });
  return [
    ...silent.map(({ address }) => `${address} did not respond within ${flushWithinMs / 1000} s`),
    ...lost.map(
      ({ address, home, silentMs }) =>
        `${address} was last seen ${Math.round(silentMs / 1000)} s ago; its journal is in the data directory whose node-id is ${home}`,
    ),
  ];
}

/** What the record of a failed run says. */
function reasonOf(error: unknown): string {
  if (error instanceof OperatorError) return error.message;
  const { message, code } = error as { readonly message?: unknown; readonly code?: unknown };
  const text = typeof message === 'string' && message !== '' ? message : String(error);
  return typeof code === 'string' && !text.includes(code) ? `${text} (${code})` : text;
}
