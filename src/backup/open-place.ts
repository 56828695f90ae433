import type { BackupConfig } from '../config/config.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { type BackupPlace, folderPlace } from './backup-files.ts';
import { BackupKey } from './file-cipher.ts';
import type { S3Means } from './s3-client.ts';

/** The error of a configuration without a place. */
export const noPlace = 'no place for backups: set backup.directory or backup.s3 in naru.yaml';

/** The configured place; throws an `OperatorError` when there is none. */
export async function openPlace(backup: BackupConfig | null, means: S3Means): Promise<BackupPlace> {
  const place = backup?.place ?? null;
  if (place === null) throw new OperatorError(noPlace);
  if (place.kind === 'folder') return folderPlace(place.directory);
  // The signatures are loaded by those who need them.
  const { s3Place } = await import('./s3-place.ts');
  return s3Place(place, means);
}

/** The configured key; null: backups are not encrypted. Throws as `BackupKey.of` does. */
export async function keyOf(backup: BackupConfig | null): Promise<BackupKey | null> {
  const key = backup?.encryptionKey ?? null;
  return key === null ? null : BackupKey.of(key.reveal());
}
