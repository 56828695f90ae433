import { existsSync, renameSync } from 'node:fs';
import { realpath, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type CliPaths, readConfig, settingsOf } from '../app/config-source.ts';
import { holdAfterCommands } from '../app/database.ts';
import type { ProcessContext } from '../app/process-context.ts';
import { checkBackup } from '../backup/archive.ts';
import { backupNameOf, folderFiles } from '../backup/backup-files.ts';
import { assertSpaceForRestore } from '../backup/free-space.ts';
import { keyOf } from '../backup/open-place.ts';
import { restoreBackup } from '../backup/restore-backup.ts';
import { withEmbedded } from '../backup/with-embedded.ts';
import type { Config } from '../config/config.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { packagedMajor } from '../postgres/binaries.ts';
import { clusterMajor } from '../postgres/cluster.ts';
import { clusterDirOf, switchCluster } from '../postgres/cluster-dir.ts';
import { commandHolder } from '../postgres/data-dir-lock.ts';
import { type EmbeddedOptions, type OtherCluster, startEmbedded } from '../postgres/embedded.ts';
import { syncDir } from '../store/sync-dir.ts';
import { isoOf, systemClock } from '../time/clock.ts';
import { assertConsistent } from './assert-consistent.ts';
import { nodeIdsOf, settleLeftovers } from './backup/settle-leftovers.ts';
import { makeBackupFolder, writeBackup } from './backup/write-backup.ts';
import { recordCommand } from './record-command.ts';

/** The outcome of `naru database upgrade`. */
export interface UpgradeDone {
  /** Major versions of PostgreSQL. */
  readonly from: number;
  readonly to: number;
  readonly rows: number;
  /** The folder of the backup. */
  readonly backup: string;
  /** The folder of the cluster before, which is kept as it was. */
  readonly before: string;
}

/**
 * Moves the embedded database to another major version of PostgreSQL, upwards or downwards; `to` is
 * null for that of this Naru. A backup is made, restored into a new cluster and verified; only then
 * the data directory changes to that cluster, in one step, so an interruption leaves everything as
 * it was. Throws an `OperatorError` when a server uses the data directory, the ledger has
 * differences, or there is no such version or too little space.
 */
export async function upgradeDatabase(
  paths: CliPaths,
  to: number | null,
  proc: ProcessContext,
): Promise<UpgradeDone> {
  const settings = settingsOf(paths, proc);
  const config = readConfig(settings, proc);
  if (config.database.url !== 'embedded')
    throw new OperatorError(
      'naru database upgrade is for the embedded database; upgrade the server of database.url with its own tools',
    );
  if (!existsSync(settings.dataDir)) throw noDatabase(settings.dataDir);
  const dataDir = await realpath(settings.dataDir);
  const lock = await holdAfterCommands(dataDir, commandHolder(proc.pid));
  try {
    return await move({ dataDir, config, to, proc });
  } finally {
    lock.release();
  }
}

interface Move {
  readonly dataDir: string;
  readonly config: Config;
  readonly to: number | null;
  readonly proc: ProcessContext;
}

async function move({ dataDir, config, to, proc }: Move): Promise<UpgradeDone> {
  const before = clusterDirOf(dataDir);
  const from = clusterMajor(before);
  if (from === null) throw noDatabase(dataDir);
  const major = to ?? packagedMajor();
  if (major === null)
    throw new OperatorError(
      'the platform package of PostgreSQL is not installed: name the version with --to',
    );
  if (major === from) throw new OperatorError(`the database is of PostgreSQL ${from} already`);
  const embedded: EmbeddedOptions = {
    dataDir,
    uid: proc.uid,
    env: proc.env,
    progress: (line) => proc.err(`naru: ${line}\n`),
  };
  const key = await keyOf(config.backup);
  const unfinished = { dir: join(dirname(before), 'postgres-unfinished'), major };
  await removeUnfinished(embedded, unfinished);
  // Before the backup: a version that this machine lacks shows here.
  await (await startEmbedded({ ...embedded, other: unfinished })).stop();

  const takenAt = isoOf(systemClock.now());
  const backup = join(dataDir, backupNameOf(takenAt));
  await withEmbedded(embedded, async (database) => {
    await settleLeftovers(database, dataDir, config);
    proc.progress?.('verifying the ledger');
    await assertConsistent(database, 'before the upgrade; nothing was changed');
    await makeBackupFolder(backup);
    const settledHomes = nodeIdsOf(dataDir);
    await writeBackup(database, {
      dir: backup,
      takenAt,
      version: proc.version,
      withoutNodes: false,
      settledHomes,
      key,
      by: proc.user,
      progress: proc.progress,
    });
  });
  const opened = await checkBackup(folderFiles(backup), key);
  await assertSpaceForRestore('the upgrade', dirname(before), opened.manifest.database_bytes);
  const rows = await withEmbedded({ ...embedded, other: unfinished }, async (database) => {
    const restored = await restoreBackup(database, opened, true, proc.progress);
    proc.progress?.('verifying the ledger');
    await assertConsistent(database, 'after the upgrade; nothing was changed');
    await recordCommand(database, proc.user, { act: 'database.upgrade', after: { from, to: major } });
    return restored;
  });
  const upgraded = freeName(dirname(before), major);
  renameSync(unfinished.dir, upgraded);
  syncDir(dirname(before));
  switchCluster(dataDir, upgraded);
  return { from, to: major, rows, backup, before };
}

/** What an upgrade left that was interrupted. A killed one may leave its server. */
async function removeUnfinished(embedded: EmbeddedOptions, unfinished: OtherCluster): Promise<void> {
  if (!existsSync(unfinished.dir)) return;
  if (clusterMajor(unfinished.dir) !== null)
    await (await startEmbedded({ ...embedded, other: unfinished })).stop();
  await rm(unfinished.dir, { recursive: true, force: true });
}

/** A name that no cluster has: one that was left by an upgrade may have this version. */
function freeName(dir: string, major: number): string {
  for (let n = 1; ; n += 1) {
    const name = join(dir, `postgres-${major}${n === 1 ? '' : `-${n}`}`);
    if (!existsSync(name)) return name;
  }
}

function noDatabase(dataDir: string): OperatorError {
  return new OperatorError(`${dataDir} has no database yet: naru up creates one`);
}
