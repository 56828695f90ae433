import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type CliPaths, readConfig, settingsOf } from '../../app/config-source.ts';
import { openDatabaseBeside } from '../../app/database.ts';
import type { ProcessContext } from '../../app/process-context.ts';
import { assertEncrypted, checkBackup, readAnchors } from '../../backup/archive.ts';
import { type BackupFiles, folderFiles, isBackupName } from '../../backup/backup-files.ts';
import { countTables } from '../../backup/manifest.ts';
import { hasPlace, keyOf, openPlace } from '../../backup/open-place.ts';
import { restoreBackup } from '../../backup/restore-backup.ts';
import type { Config } from '../../config/config.ts';
import { verifyLedger } from '../../ledger/verification.ts';
import { systemClock } from '../../time/clock.ts';
import { migrateForCommand } from '../migrate-for-command.ts';
import { recordCommand } from '../record-command.ts';

/** The outcome of `naru restore`. */
export interface RestoreDone {
  readonly takenAt: string;
  readonly tables: number;
  readonly rows: number;
  /** Differences that `naru ledger verify` finds in the restored ledger. */
  readonly differences: number;
}

/** The arguments of `naru restore`. */
export interface RestoreOptions {
  /** A folder, or the name of a backup in the configured place. */
  readonly from: string;
  readonly continues: boolean;
  /** Restore a backup that is not encrypted although the configuration has a key. */
  readonly isUnencryptedAllowed: boolean;
}

/**
 * Restores a backup into an empty database, all or nothing, then verifies the ledger. Throws as
 * `restoreBackup` does.
 */
export async function restore(
  paths: CliPaths,
  { from, continues, isUnencryptedAllowed }: RestoreOptions,
  proc: ProcessContext,
): Promise<RestoreDone> {
  const settings = settingsOf(paths, proc);
  const config = readConfig(settings, proc);
  const key = await keyOf(config.backup);
  proc.progress?.('reading the backup');
  const backup = await checkBackup(await findBackup(config, from, proc.cwd), key);
  if (!isUnencryptedAllowed) assertEncrypted(backup);
  const { database, close } = await openDatabaseBeside(config, settings.dataDir, proc);
  try {
    await migrateForCommand(database);
    const rows = await restoreBackup(database, backup, continues, proc.progress);
    proc.progress?.('verifying the ledger');
    const { differences } = await verifyLedger(database);
    const { taken_at: takenAt, tables } = backup.manifest;
    await recordCommand(database, proc.user, { act: 'restore', after: { taken_at: takenAt, rows } });
    return { takenAt, tables: countTables(tables), rows, differences: differences.length };
  } finally {
    await close();
  }
}

/**
 * The files of a backup that an operator names: a folder, or else a backup in the configured place.
 */
async function findBackup({ backup }: Config, named: string, cwd: string): Promise<BackupFiles> {
  const dir = resolve(cwd, named);
  if (!isBackupName(named) || existsSync(dir) || !hasPlace(backup)) return folderFiles(dir);
  const means = { clock: systemClock, signal: new AbortController().signal };
  return (await openPlace(backup, means)).open(named);
}

/** The heads of the ledger's chains in a backup that an operator names. */
export async function readAnchorsOf(
  paths: CliPaths,
  named: string,
  proc: ProcessContext,
): ReturnType<typeof readAnchors> {
  const config = readConfig(settingsOf(paths, proc), proc);
  return readAnchors(await findBackup(config, named, proc.cwd), await keyOf(config.backup));
}
