import { resolve } from 'node:path';
import { type CliPaths, readConfig, settingsOf } from '../../app/config-source.ts';
import { holdAfterCommands, openDatabaseBeside } from '../../app/database.ts';
import type { ProcessContext } from '../../app/process-context.ts';
import { readManifest } from '../../backup/archive.ts';
import { type BackupFiles, backupNameOf } from '../../backup/backup-files.ts';
import { hasPlace, keyOf, noPlace, openPlace } from '../../backup/open-place.ts';
import { type BackupMade, type RunFailed, runBackup } from '../../backup/run-backup.ts';
import { type DrillDone, runDrill } from '../../backup/run-drill.ts';
import { type RunRow, readRuns } from '../../backup/runs-sql.ts';
import type { Config } from '../../config/config.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import { silentLog } from '../../log/log.ts';
import { commandHolder } from '../../postgres/data-dir-lock.ts';
import type { Database } from '../../store/database.ts';
import { DatabaseClock } from '../../store/database-clock.ts';
import { isoOf, systemClock } from '../../time/clock.ts';
import { callServer, serverIsAway } from '../control-client.ts';
import { migrateForCommand } from '../migrate-for-command.ts';
import { nodeIdsOf, settleLeftovers } from './settle-leftovers.ts';
import { type BackupDone, makeBackupFolder, writeBackup } from './write-backup.ts';

/** The arguments of `naru backup`. */
export interface BackupOptions {
  /** The folder; null for a new one. */
  readonly to: string | null;
  /** Skip unreachable nodes instead of failing. */
  readonly withoutNodes: boolean;
}

/** A backup in the configured place. */
export interface ListedBackup {
  readonly name: string;
  /** Null, as the following, when the manifest is missing or damaged. */
  readonly bytes: number | null;
  readonly rows: number | null;
  /** The version of Naru that made it. */
  readonly naru: string | null;
  /** `none`, or the key by its id. */
  readonly encryption: string | null;
  /** Why it cannot be restored; null: its manifest is good. */
  readonly fault: string | null;
}

/** How long a server may take to write its settlements to the database. */
const settleWithinMs = 60_000;
const maxListedRuns = 100;

/**
 * Copies a snapshot of the database into a folder, with or without a running server. It has
 * everything that was durable at the beginning: settlements that only the journal has are written
 * to the database first.
 */
export async function backUp(
  paths: CliPaths,
  { to, withoutNodes }: BackupOptions,
  proc: ProcessContext,
): Promise<BackupDone> {
  const settings = settingsOf(paths, proc);
  const config = readConfig(settings, proc);
  const beganMs = systemClock.monotonic();
  proc.progress?.('writing settlements to the database');
  const dir = resolve(proc.cwd, to ?? backupNameOf(isoOf(systemClock.now())));
  await makeBackupFolder(dir);
  const { version, progress } = proc;
  return withSettledDatabase(settings.dataDir, config, proc, async (database, settledHomes) => {
    const clock = await DatabaseClock.open(database, systemClock);
    // What is settled since is in the backup, too.
    const takenAt = isoOf(clock.now() - Math.ceil(clock.monotonic() - beganMs));
    const key = await keyOf(config.backup);
    return writeBackup(database, {
      dir,
      takenAt,
      version,
      withoutNodes,
      settledHomes,
      key,
      progress,
      by: proc.user,
    });
  });
}

/** `naru backup run`: makes a backup in the configured place now, as the schedule does. */
export async function backUpNow(paths: CliPaths, proc: ProcessContext): Promise<BackupMade> {
  const settings = settingsOf(paths, proc);
  const config = readConfig(settings, proc);
  const { backup } = config;
  if (backup === null) throw new OperatorError(noPlace);
  proc.progress?.('writing settlements to the database');
  const done = await withSettledDatabase(settings.dataDir, config, proc, async (database, settledHomes) =>
    runBackup({
      backup,
      database,
      clock: await DatabaseClock.open(database, systemClock),
      log: silentLog,
      version: proc.version,
      actor: { kind: 'cli', name: proc.user },
      settledHomes,
      signal: new AbortController().signal,
      progress: proc.progress,
    }),
  );
  return assertDone(done, 'backup');
}

/** `naru backup drill`: restores and verifies the newest backup now. */
export async function drillNow(paths: CliPaths, proc: ProcessContext): Promise<DrillDone> {
  const settings = settingsOf(paths, proc);
  const config = readConfig(settings, proc);
  const { backup } = config;
  if (!hasPlace(backup)) throw new OperatorError(noPlace);
  proc.progress?.('restoring and verifying the newest backup');
  const { database, close } = await openDatabaseBeside(config, settings.dataDir, proc);
  try {
    await migrateForCommand(database);
    const { dataDir } = settings;
    const { uid, env } = proc;
    const clock = await DatabaseClock.open(database, systemClock);
    const parts = { backup, database, clock, signal: new AbortController().signal };
    const done = await runDrill(parts, { dataDir, uid, env });
    if (done === 'nothing')
      throw new OperatorError(
        'there is no backup of this database with the schema of this version: run naru backup run first',
      );
    return assertDone(done, 'drill');
  } finally {
    await close();
  }
}

/** The result of a run that succeeded; throws an `OperatorError` for any other. */
function assertDone<T extends { readonly kind: string }>(
  done: T | RunFailed | 'busy',
  what: 'backup' | 'drill',
): T {
  if (done === 'busy')
    throw new OperatorError('another process makes a backup or a drill; try again in a few minutes');
  if ('error' in done) throw new OperatorError(`the ${what} failed: ${done.error}`);
  return done;
}

/** `naru backup list`: what the configured place holds, the oldest first. */
export async function listBackups(paths: CliPaths, proc: ProcessContext): Promise<readonly ListedBackup[]> {
  const { backup } = readConfig(settingsOf(paths, proc), proc);
  const place = await openPlace(backup, { clock: systemClock, signal: new AbortController().signal });
  const listed: ListedBackup[] = [];
  for (const name of await place.backups()) listed.push(await listedBackup(place.open(name), name));
  return listed;
}

async function listedBackup(files: BackupFiles, name: string): Promise<ListedBackup> {
  try {
    const { tables, naru, encryption } = await readManifest(files);
    const sum = (of: (table: (typeof tables)[number]) => number): number =>
      tables.reduce((all, table) => all + of(table), 0);
    return {
      name,
      bytes: sum(({ bytes }) => bytes),
      rows: sum(({ rows }) => rows),
      naru,
      encryption: encryption === null ? 'none' : `key ${encryption.recipient}`,
      fault: null,
    };
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return { name, bytes: null, rows: null, naru: null, encryption: null, fault: error.message };
  }
}

/** `naru backup runs`: what the schedule did, newest first. */
export async function listRuns(paths: CliPaths, proc: ProcessContext): Promise<readonly RunRow[]> {
  const settings = settingsOf(paths, proc);
  const config = readConfig(settings, proc);
  const { database, close } = await openDatabaseBeside(config, settings.dataDir, proc);
  try {
    await migrateForCommand(database);
    return await readRuns(database, maxListedRuns);
  } finally {
    await close();
  }
}

/**
 * Opens the database beside a server, or as the only process, when everything that was settled here
 * is in it. `work` receives the node ids whose journals are settled.
 */
async function withSettledDatabase<T>(
  dataDir: string,
  config: Config,
  proc: ProcessContext,
  work: (database: Database, settledHomes: readonly string[]) => Promise<T>,
): Promise<T> {
  const isServed = await settleByServer(dataDir);
  const lock =
    isServed || config.database.url === 'embedded'
      ? null
      : await holdAfterCommands(dataDir, commandHolder(proc.pid));
  try {
    const { database, close } = await openDatabaseBeside(config, dataDir, proc);
    try {
      await migrateForCommand(database);
      if (!isServed) await settleLeftovers(database, dataDir, config);
      return await work(database, isServed ? [] : nodeIdsOf(dataDir));
    } finally {
      await close();
    }
  } finally {
    lock?.release();
  }
}

/** Has the server write its settlements to the database; false when no server is running. */
async function settleByServer(dataDir: string): Promise<boolean> {
  try {
    await callServer(dataDir, { method: 'POST', path: '/settlements', limitMs: settleWithinMs });
    return true;
  } catch (error) {
    if (await serverIsAway(error, dataDir)) return false;
    throw error;
  }
}
