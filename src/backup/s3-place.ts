import type { S3Config } from '../config/config.ts';
import { type BackupFiles, type BackupPlace, isBackupName, manifestName } from './backup-files.ts';
import { S3Client, type S3Means } from './s3-client.ts';

/** The backups in a bucket, below the configured prefix: an object for each file. */
export function s3Place(config: S3Config, means: S3Means): BackupPlace {
  const client = new S3Client(config, means);
  const root = `${config.prefix}/`;
  const open = (backup: string): BackupFiles => {
    const keyOf = (file: string): string => `${root}${backup}/${file}`;
    return {
      name: `${client.name}/${root}${backup}`,
      async list() {
        const names = await client.list(keyOf(''));
        return names.length === 0 ? null : names;
      },
      write: (file, bytes) => client.write(keyOf(file), bytes),
      read: (file) => client.read(keyOf(file)),
      remove: (file) => client.remove(keyOf(file)),
    };
  };
  return {
    name: `${client.name}/${config.prefix}`,
    async backups() {
      const names = await client.list(root);
      return names
        .filter((name) => name.endsWith('/'))
        .map((name) => name.slice(0, -1))
        .filter(isBackupName)
        .toSorted();
    },
    open,
    async remove(backup) {
      const files = open(backup);
      await files.remove(manifestName);
      for (const file of (await files.list()) ?? []) await files.remove(file);
    },
  };
}
