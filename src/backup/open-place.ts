import type { BackupConfig } from '../config/config.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { type BackupPlace, folderPlace } from './backup-files.ts';
import { BackupKey } from './file-cipher.ts';
import type { S3Means } from './s3-client.ts';

/** The error of a configuration without a place. */
export const noPlace = 'no place for backups: set backup.directory or backup.s3 in naru.yaml';

/** Whether a configuration has a place for backups. */
export function hasPlace(backup: BackupConfig | null): backup is BackupConfig {
  return backup !== null && (backup.directory !== null || backup.s3 !== null);
}

/** The configured place; throws an `OperatorError` when there is none. */
export async function openPlace(backup: BackupConfig | null, means: S3Means): Promise<BackupPlace> {
  if (backup?.directory) return folderPlace(backup.directory);
  if (!backup?.s3) throw new OperatorError(noPlace);
  // The signatures are loaded by those who need them.
  const { s3Place } = await import('./s3-place.ts');
  return s3Place(backup.s3, means);
}

/** The configured key; null: backups are not encrypted. Throws as `BackupKey.of` does. */
export async function keyOf(backup: BackupConfig | null): Promise<BackupKey | null> {
  const key = backup?.encryptionKey ?? null;
  return key === null ? null : BackupKey.of(key.reveal());
}
