import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { CliPaths } from '../../app/cli-options.ts';
import { readConfig, settingsOf } from '../../app/config-source.ts';
import { holdAfterCommands, openDatabaseBeside } from '../../app/database.ts';
import { settleJournal, workerDirs } from '../../app/journal-recovery.ts';
import type { ProcessContext } from '../../app/process-context.ts';
import { lockWorkerDir } from '../../app/workers/worker-dir.ts';
import type { Config } from '../../config/config.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import { recordAct } from '../../identity/audit-sql.ts';
import { silentLog } from '../../log/log.ts';
import { flushNodes } from '../../nodes/flush.ts';
import { nodeDir } from '../../nodes/node-dir.ts';
import { commandLine } from '../../operations/operator-service.ts';
import { commandHolder } from '../../postgres/data-dir-lock.ts';
import type { Database } from '../../store/database.ts';
import { migrate } from '../../store/migrate.ts';
import { openSnapshot } from '../../store/snapshot.ts';
import { isoOf, systemClock } from '../../time/clock.ts';
import { callServer, serverIsAway } from '../control-client.ts';
import { makeBackupFolder, type TableFile, writeManifest, writeTable } from './archive.ts';

/** The arguments of `naru backup`. */
export interface BackupOptions {
  /** The folder; null for a new one. */
  readonly to: string | null;
  /** Skip unreachable nodes instead of failing. */
  readonly withoutNodes: boolean;
}

/** The outcome of `naru backup`. */
export interface BackupDone {
  readonly dir: string;
  /** ISO 8601: everything durable at that time is in the backup. */
  readonly takenAt: string;
  readonly tables: number;
  readonly rows: number;
  /** Descriptions of the nodes whose latest settlements are missing. */
  readonly withoutNodes: readonly string[];
}

/** How long a server may take to write its settlements to the database. */
const settleWithinMs = 60_000;
/** The same for every other node. */
const flushWithinMs = 30_000;

/**
 * Copies a snapshot of the database into a folder, with or without a running server. It has
 * everything that was durable at the beginning: settlements that only the journal has are written
 * to the database first.
 */
export async function backUp(
  paths: CliPaths,
  { to, withoutNodes }: BackupOptions,
  version: string,
  proc: ProcessContext,
): Promise<BackupDone> {
  const settings = settingsOf(paths, proc);
  const config = readConfig(settings, proc);
  const takenAt = isoOf(systemClock.now());
  const dir = resolve(proc.cwd, to ?? `naru-backup-${takenAt.slice(0, 19).replaceAll(':', '-')}`);
  await makeBackupFolder(dir);
  const isServed = await settleByServer(settings.dataDir);
  const lock =
    isServed || config.database.url === 'embedded'
      ? null
      : await holdAfterCommands(settings.dataDir, commandHolder(proc.pid));
  try {
    const { database, close } = await openDatabaseBeside(config, settings.dataDir, proc);
    try {
      await migrate(database);
      if (!isServed) await settleLeftovers(database, settings.dataDir, config);
      const missing = await flushOthers(database, isServed ? [] : nodeIdsOf(settings.dataDir));
      if (missing.length > 0 && !withoutNodes)
        throw new OperatorError(
          `the backup would miss settlements of these nodes: ${missing.join('; ')}. Start them again, or pass --without-nodes`,
        );
      const done = await writeAll(database, dir, { takenAt, version, withoutNodes: missing });
      await recordBackup(database, done);
      return done;
    } finally {
      await close();
    }
  } finally {
    lock?.release();
  }
}

/** The console shows when the last backup was made. */
function recordBackup(
  database: Database,
  { takenAt, tables, rows, withoutNodes }: BackupDone,
): Promise<void> {
  const after = { taken_at: takenAt, tables, rows, without_nodes: withoutNodes.length };
  return database.transaction((sql) =>
    recordAct(sql, commandLine, { act: 'backup', after }, systemClock.now()),
  );
}

/**
 * Has every node write its settlements to the database; returns descriptions of those that did not.
 */
async function flushOthers(database: Database, settled: readonly string[]): Promise<readonly string[]> {
  const { silent, lost } = await flushNodes(database, systemClock, {
    limitMs: flushWithinMs,
    settledHomes: settled,
  });
  return [
    ...silent.map(({ address }) => `${address} did not respond within ${flushWithinMs / 1000} s`),
    ...lost.map(
      ({ address, home, silentMs }) =>
        `${address} was last seen ${Math.round(silentMs / 1000)} s ago; its journal is in the data directory whose node-id is ${home}`,
    ),
  ];
}

/** The node ids of a data directory and of its workers. */
function nodeIdsOf(dataDir: string): readonly string[] {
  return [dataDir, ...workerDirs(dataDir)]
    .filter((dir) => existsSync(join(dir, 'node-id')))
    .map((dir) => nodeDir(dir));
}

async function writeAll(
  database: Database,
  dir: string,
  {
    takenAt,
    version,
    withoutNodes,
  }: { readonly takenAt: string; readonly version: string; readonly withoutNodes: readonly string[] },
): Promise<BackupDone> {
  const snapshot = await openSnapshot(database.address);
  try {
    const tables: TableFile[] = [];
    for (const { name, columns } of snapshot.plan.tables) {
      const rows = snapshot.rowsOf(name);
      const sha256 = await writeTable(dir, name, rows);
      tables.push({ name, columns, rows: rows.rows, sha256 });
    }
    const sequences = await snapshot.sequences();
    const { migrations, partitions } = snapshot.plan;
    await writeManifest(dir, {
      format: 2,
      naru: version,
      taken_at: takenAt,
      without_nodes: withoutNodes,
      migrations,
      partitions,
      sequences,
      tables,
    });
    const rows = tables.reduce((sum, table) => sum + table.rows, 0);
    return { dir, takenAt, tables: tables.length, rows, withoutNodes };
  } finally {
    await snapshot.close();
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

/** Settles the journals of a killed server as its next start would. */
async function settleLeftovers(database: Database, dataDir: string, config: Config): Promise<void> {
  const quarantined: string[] = [];
  const error = (event: string): void => {
    // Rejected settlements are in the quarantine and so in the backup; the next start reports
    // journal damage.
    if (event === 'quarantine_not_stored') quarantined.push(event);
  };
  const parts = { database, config, log: { ...silentLog, error } };
  await settleJournal(dataDir, parts);
  for (const home of workerDirs(dataDir)) {
    const lock = await lockWorkerDir(home);
    await settleJournal(home, parts).finally(() => lock.release());
  }
  if (quarantined.length > 0)
    throw new OperatorError(
      'the journal has a settlement that the database rejects: start the server and see its log',
    );
}
