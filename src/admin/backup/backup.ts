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
import { silentLog } from '../../log/log.ts';
import { flushNodes } from '../../nodes/flush.ts';
import { nodeDir } from '../../nodes/node-dir.ts';
import type { Database } from '../../store/database.ts';
import { migrate } from '../../store/migrate.ts';
import { openSnapshot } from '../../store/snapshot.ts';
import { isoOf, systemClock } from '../../time/clock.ts';
import { askServer, serverIsAway } from '../control-client.ts';
import { makeBackupFolder, type TableFile, writeManifest, writeTable } from './archive.ts';

/** What `naru backup` was told. */
export interface BackupOrder {
  /** The folder; null for a new one of its own. */
  readonly to: string | null;
  /** Nodes that cannot be asked are left out instead of failing. */
  readonly withoutNodes: boolean;
}

/** What `naru backup` made. */
export interface BackupDone {
  readonly dir: string;
  /** ISO 8601: everything that was durable then is in it. */
  readonly takenAt: string;
  readonly tables: number;
  readonly rows: number;
  /** The nodes that did not bring in what they had settled, in words. */
  readonly withoutNodes: readonly string[];
}

/** How long a server gets to bring into the database what it has settled. */
const settleWithinMs = 60_000;
/** How long every other node gets for the same. */
const flushWithinMs = 30_000;

/**
 * Copies one instant of the books into a folder, while the server runs or without one. Whatever was durable when this began is in
 * it: what only the journal held is brought into the database first.
 */
export async function backUp(
  places: CliPaths,
  { to, withoutNodes }: BackupOrder,
  version: string,
  proc: ProcessContext,
): Promise<BackupDone> {
  const settings = settingsOf(places, proc);
  const config = readConfig(settings, proc);
  const takenAt = isoOf(systemClock.now());
  const dir = resolve(proc.cwd, to ?? `naru-backup-${takenAt.slice(0, 19).replaceAll(':', '-')}`);
  await makeBackupFolder(dir);
  const isServed = await settleByServer(settings.dataDir);
  const lock =
    isServed || config.database.url === 'embedded'
      ? null
      : await holdAfterCommands(settings.dataDir, { pid: proc.pid, describe: 'a naru command' });
  try {
    const { database, close } = await openDatabaseBeside(config, settings.dataDir, proc);
    try {
      await migrate(database);
      if (!isServed) await settleLeftovers(database, settings.dataDir, config);
      const missing = await flushOthers(database, isServed ? [] : nodeIdsOf(settings.dataDir));
      if (missing.length > 0 && !withoutNodes)
        throw new OperatorError(
          `the backup would lack what these nodes acknowledged: ${missing.join('; ')}. Start them again, or pass --without-nodes`,
        );
      return await writeAll(database, dir, { takenAt, version, withoutNodes: missing });
    } finally {
      await close();
    }
  } finally {
    lock?.release();
  }
}

/** Has every node bring into the database what it has settled; those that did not, in words. */
async function flushOthers(database: Database, settled: readonly string[]): Promise<readonly string[]> {
  const { silent, lost } = await flushNodes(database, systemClock, {
    limitMs: flushWithinMs,
    settledHomes: settled,
  });
  return [
    ...silent.map(({ address }) => `${address} did not answer within ${flushWithinMs / 1000} s`),
    ...lost.map(
      ({ address, home, silentMs }) =>
        `${address} was last seen ${Math.round(silentMs / 1000)} s ago, and its journal is in the data directory whose node-id is ${home}`,
    ),
  ];
}

/** The names of a data directory and of those of its workers. */
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

/** Has the server bring everything that it has settled into the database; false when no server runs. */
async function settleByServer(dataDir: string): Promise<boolean> {
  try {
    await askServer(dataDir, { method: 'POST', path: '/settlements', limitMs: settleWithinMs });
    return true;
  } catch (error) {
    if (await serverIsAway(error, dataDir)) return false;
    throw error;
  }
}

/** What a server that was killed left in its journals is settled as its next start would do it. */
async function settleLeftovers(database: Database, dataDir: string, config: Config): Promise<void> {
  const quarantined: string[] = [];
  const error = (event: string): void => {
    // What the database refuses is in its quarantine, and so in the backup; damage of the journal is reported by the next start.
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
      'the journal has a settlement that the database refuses: start the server, and see its log',
    );
}
