import type { BackupConfig } from '../config/config.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { type BackupPlace, folderPlace } from './backup-files.ts';
import { BackupKey } from './file-cipher.ts';

/** The configured place; throws an `OperatorError` when there is none. */
export function openPlace(backup: BackupConfig | null): BackupPlace {
  if (backup === null || backup.place === null)
    throw new OperatorError('no place for backups: set backup.directory in naru.yaml');
  return folderPlace(backup.place.directory);
}

/** The configured key; null: backups are not encrypted. */
export function keyOf(backup: BackupConfig | null): BackupKey | null {
  const key = backup?.encryptionKey ?? null;
  return key === null ? null : new BackupKey(key.reveal());
}
