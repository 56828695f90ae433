import { resolve } from 'node:path';
import { askServer, serverIsAway } from './ask-server.ts';
import { makeBackupFolder, type TableFile, writeManifest, writeTable } from './backup-files.ts';
import type { BackupDone } from './cli/backup.ts';
import { CliError, type Places } from './cli/shell.ts';
import type { Config } from './config/config.ts';
import { settleJournalOf, workerHomes } from './leftover-journals.ts';
import { silentLog } from './log/log.ts';
import { holdAfterCommands, openDatabaseBeside } from './open-database.ts';
import { readConfig, settingsOf } from './settings.ts';
import type { Database } from './store/database.ts';
import { migrate } from './store/migrate.ts';
import { openSnapshot } from './store/snapshot.ts';
import type { Surroundings } from './surroundings.ts';
import { isoOf, systemClock } from './time/clock.ts';
import { holdHome } from './worker-home.ts';

/** How long a server gets to bring into the database what it has settled. */
const settleWithinMs = 60_000;

/**
 * Copies one instant of the books into a folder, while the server runs or without one. Whatever was durable when this began is in
 * it: what only the journal held is brought into the database first.
 */
export async function backUp(
  places: Places,
  to: string | null,
  version: string,
  around: Surroundings,
): Promise<BackupDone> {
  const settings = settingsOf(places, around);
  const config = readConfig(settings, around);
  const takenAt = isoOf(systemClock.now());
  const dir = resolve(around.cwd, to ?? `naru-backup-${takenAt.slice(0, 19).replaceAll(':', '-')}`);
  await makeBackupFolder(dir);
  const isServed = await settleByServer(settings.dataDir);
  const lock =
    isServed || config.database.url === 'embedded'
      ? null
      : await holdAfterCommands(settings.dataDir, { pid: around.pid, describe: 'a naru command' });
  try {
    const { database, close } = await openDatabaseBeside(config, settings.dataDir, around);
    try {
      await migrate(database);
      if (!isServed) await settleLeftovers(database, settings.dataDir, config);
      return await writeAll(database, dir, takenAt, version);
    } finally {
      await close();
    }
  } finally {
    lock?.release();
  }
}

async function writeAll(
  database: Database,
  dir: string,
  takenAt: string,
  version: string,
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
      format: 1,
      naru: version,
      taken_at: takenAt,
      migrations,
      partitions,
      sequences,
      tables,
    });
    return { dir, takenAt, tables: tables.length, rows: tables.reduce((sum, table) => sum + table.rows, 0) };
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
    // Damage of the journal itself is told by the next start.
    if (event !== 'journal') quarantined.push(event);
  };
  const parts = { database, ack: config.settlement.ack, log: { ...silentLog, error } };
  await settleJournalOf(dataDir, parts);
  for (const home of workerHomes(dataDir)) {
    const lock = await holdHome(home);
    await settleJournalOf(home, parts).finally(() => lock.release());
  }
  if (quarantined.length > 0)
    throw new CliError(
      'the journal has a settlement that the database refuses: start the server, and see its log',
    );
}
