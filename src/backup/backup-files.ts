import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { makeFolder } from '../store/make-folder.ts';

/** Where the files of one backup are: a folder, or a prefix of a bucket. */
export interface BackupFiles {
  /** For messages, such as `/backups/naru-backup-2026-11-24T03-00-00Z`. */
  readonly name: string;
  /** The names of the files that are complete; null when there is no such backup. */
  list(): Promise<readonly string[] | null>;
  /** Stores a file. It is complete and durable when this resolves, and not listed before that. */
  write(file: string, bytes: AsyncIterable<Buffer>): Promise<void>;
  /** The bytes of a file. Throws `MissingFile` when there is none. */
  read(file: string): AsyncIterable<Buffer>;
  remove(file: string): Promise<void>;
}

/** A place that holds many backups. */
export interface BackupPlace {
  /** For messages, such as `/backups` or `s3://bucket/naru`. */
  readonly name: string;
  /** The names of everything that looks like a backup, unfinished ones included, oldest first. */
  backups(): Promise<readonly string[]>;
  open(backup: string): BackupFiles;
  /** Removes a backup, its manifest first: a half-removed backup is an unfinished one. */
  remove(backup: string): Promise<void>;
}

/** There is no such file. */
export class MissingFile extends Error {}

/** The first file that is removed, and the last that is written. */
export const manifestName = 'manifest.json';

const backupName = /^naru-backup-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}Z$/;

/** Whether a place may hold a backup under this name. */
export function isBackupName(name: string): boolean {
  return backupName.test(name);
}

/** The name of the backup that is taken at an instant (ISO 8601). */
export function backupNameOf(takenAt: string): string {
  return `naru-backup-${takenAt.slice(0, 19).replaceAll(':', '-')}Z`;
}

/** The backup in one folder, which only its owner may enter. */
export function folderFiles(dir: string): BackupFiles {
  const pathOf = (file: string): string => join(dir, file);
  return {
    name: dir,
    async list() {
      try {
        return (await readdir(dir)).filter((name) => !name.endsWith('.new'));
      } catch (error) {
        if (isAbsent(error)) return null;
        throw error;
      }
    },
    async write(file, bytes) {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      const fresh = pathOf(`${file}.new`);
      await pipeline(bytes, createWriteStream(fresh, { mode: 0o600, flags: 'w', flush: true }));
      await rename(fresh, pathOf(file));
      const folder = await open(dir);
      await folder.sync().finally(() => folder.close());
    },
    async *read(file) {
      try {
        yield* createReadStream(pathOf(file)) as AsyncIterable<Buffer>;
      } catch (error) {
        throw isAbsent(error) ? new MissingFile(pathOf(file), { cause: error }) : error;
      }
    },
    remove: (file) => rm(pathOf(file), { force: true }),
  };
}

/** The backups in a folder of the configuration. */
export function folderPlace(dir: string): BackupPlace {
  return {
    name: dir,
    async backups() {
      makeFolder(dir, 0o700);
      const found = await readdir(dir, { withFileTypes: true });
      return found
        .filter((entry) => entry.isDirectory() && isBackupName(entry.name))
        .map(({ name }) => name)
        .toSorted();
    },
    open: (backup) => folderFiles(join(dir, backup)),
    async remove(backup) {
      await rm(join(dir, backup, manifestName), { force: true });
      await rm(join(dir, backup), { recursive: true, force: true });
    },
  };
}

function isAbsent(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR';
}
