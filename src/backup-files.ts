import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { z } from 'zod';
import { CliError } from './cli/shell.ts';
import { makeFolder } from './store/make-folder.ts';
import type { SequenceState, SnapshotPlan } from './store/snapshot.ts';

/** A table of a backup: its file is `<name>.copy.gz`. */
export interface TableFile {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: number;
  /** Of the rows as they are before compression, in hex. */
  readonly sha256: string;
}

/** What a backup is. Written last: a folder without it is not a backup. */
export interface Manifest {
  readonly format: 1;
  readonly naru: string;
  /** ISO 8601: everything that was durable then is in the backup. */
  readonly taken_at: string;
  readonly migrations: SnapshotPlan['migrations'];
  readonly partitions: SnapshotPlan['partitions'];
  readonly sequences: readonly SequenceState[];
  readonly tables: readonly TableFile[];
}

const manifestName = 'manifest.json';

const manifestForm: z.ZodType<Manifest> = z.object({
  format: z.literal(1),
  naru: z.string(),
  taken_at: z.string(),
  migrations: z.array(z.object({ name: z.string(), checksum: z.string() })),
  partitions: z.array(z.object({ name: z.string(), of: z.string(), bound: z.string() })),
  sequences: z.array(
    z.object({
      table: z.string(),
      column: z.string(),
      last: z
        .string()
        .regex(/^\d{1,18}$/)
        .nullable(),
    }),
  ),
  tables: z.array(
    z.object({ name: z.string(), columns: z.array(z.string()), rows: z.number(), sha256: z.string() }),
  ),
});

/** Makes the folder of a backup, which must be new or empty; its files hold hashes of keys and addresses of people. */
export async function makeBackupFolder(dir: string): Promise<void> {
  makeFolder(dir, 0o700);
  if ((await readdir(dir)).length > 0)
    throw new CliError(`${dir} is not empty: a backup wants a folder of its own`);
}

/** Writes the rows of a table to the disk; returns their checksum. */
export async function writeTable(dir: string, name: string, rows: Readable): Promise<string> {
  const hash = createHash('sha256');
  const hashed = new Transform({
    transform(chunk, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  const file = createWriteStream(fileOf(dir, name), { mode: 0o600, flags: 'wx', flush: true });
  await pipeline(rows, hashed, createGzip({ level: 4 }), file);
  return hash.digest('hex');
}

/** The rows of a table, and afterwards their checksum. */
export function readTable(
  dir: string,
  name: string,
): { readonly rows: AsyncIterable<Buffer>; readonly sha256: () => string } {
  const hash = createHash('sha256');
  const read = async function* (): AsyncGenerator<Buffer> {
    const file = createReadStream(fileOf(dir, name));
    const plain = createGunzip();
    file.on('error', (error) => plain.destroy(error));
    for await (const chunk of file.pipe(plain)) {
      hash.update(chunk);
      yield chunk;
    }
  };
  return { rows: read(), sha256: () => hash.digest('hex') };
}

/** Makes a folder with all its tables a backup. */
export async function writeManifest(dir: string, manifest: Manifest): Promise<void> {
  const fresh = join(dir, `${manifestName}.new`);
  await writeFile(fresh, `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600, flush: true });
  await rename(fresh, join(dir, manifestName));
  const folder = await open(dir);
  await folder.sync().finally(() => folder.close());
}

/** The manifest of a backup; throws a `CliError` when the folder is none, or was not finished. */
export async function readManifest(dir: string): Promise<Manifest> {
  const names = await readdir(dir).catch((error: { readonly code?: unknown }) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    throw error;
  });
  if (names === null) throw new CliError(`there is no folder ${dir}`);
  if (!names.includes(manifestName))
    throw new CliError(
      names.some((name) => name.endsWith('.copy.gz'))
        ? `${dir} is a backup that was not finished: it has no ${manifestName}`
        : `${dir} is no backup: it has no ${manifestName}`,
    );
  try {
    return manifestForm.parse(JSON.parse(await readFile(join(dir, manifestName), 'utf8')));
  } catch {
    // Said below.
  }
  throw new CliError(`${join(dir, manifestName)} cannot be read: it is damaged, or of a newer Naru`);
}

function fileOf(dir: string, table: string): string {
  return join(dir, `${table}.copy.gz`);
}
