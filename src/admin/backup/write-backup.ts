import { readdir } from 'node:fs/promises';
import { folderFiles } from '../../backup/backup-files.ts';
import type { BackupKey } from '../../backup/file-cipher.ts';
import { missingNodes } from '../../backup/run-backup.ts';
import { takeBackup } from '../../backup/take-backup.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import type { Database } from '../../store/database.ts';
import { makeFolder } from '../../store/make-folder.ts';
import { systemClock } from '../../time/clock.ts';
import { recordCommand } from '../record-command.ts';

/** A backup of an open database to a folder. */
export interface FolderBackup {
  /** Exists and is empty. */
  readonly dir: string;
  /** ISO 8601: what was durable at that time is in the database by now. */
  readonly takenAt: string;
  /** The version of Naru. */
  readonly version: string;
  /** Skip unreachable nodes instead of failing. */
  readonly withoutNodes: boolean;
  /** The node ids whose journals are settled. */
  readonly settledHomes: readonly string[];
  /** Null: the files are not encrypted. */
  readonly key: BackupKey | null;
  /** Who acts, for the audit log. */
  readonly by: string;
  /** Receives what is copied now. */
  readonly progress?: ((step: string) => void) | undefined;
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

/** Copies a snapshot of the database into a folder, and records the act. */
export async function writeBackup(database: Database, order: FolderBackup): Promise<BackupDone> {
  const { dir, takenAt, version, withoutNodes, settledHomes, key, by, progress } = order;
  const missing = await missingNodes(database, systemClock, settledHomes);
  if (missing.length > 0 && !withoutNodes)
    throw new OperatorError(
      `the backup would miss settlements of these nodes: ${missing.join('; ')}. Start them again, or pass --without-nodes`,
    );
  const sums = await takeBackup(database, {
    files: folderFiles(dir),
    takenAt,
    version,
    withoutNodes: missing,
    key,
    signal: new AbortController().signal,
    progress,
  });
  const done = { dir, takenAt, withoutNodes: missing, ...sums };
  await recordBackup(database, done, by);
  return done;
}

/**
 * Creates the folder of a backup, which must be new or empty. Private: its files hold key hashes
 * and e-mail addresses.
 */
export async function makeBackupFolder(dir: string): Promise<void> {
  makeFolder(dir, 0o700);
  if ((await readdir(dir)).length > 0)
    throw new OperatorError(`${dir} is not empty: choose a new or empty folder with --to`);
}

/** The console shows when the last backup was made. */
function recordBackup(
  database: Database,
  { takenAt, tables, rows, withoutNodes }: BackupDone,
  by: string,
): Promise<void> {
  const after = { taken_at: takenAt, tables, rows, without_nodes: withoutNodes.length };
  return recordCommand(database, by, { act: 'backup', after });
}
