import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { z } from 'zod';
import { OperatorError } from '../../errors/operator-error.ts';
import { makeFolder } from '../../store/make-folder.ts';
import type { SequenceState, SnapshotPlan } from '../../store/snapshot.ts';

/** A table of a backup: its file is `<name>.copy.gz`. */
export interface TableFile {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: number;
  /** Of the file, in hex. */
  readonly sha256: string;
}

/** The manifest of a backup. */
export interface Manifest {
  readonly format: 2;
  readonly naru: string;
  /** ISO 8601: everything durable at that time is in the backup. */
  readonly taken_at: string;
  /** Descriptions of the nodes whose latest settlements are missing. */
  readonly without_nodes: readonly string[];
  readonly migrations: SnapshotPlan['migrations'];
  readonly partitions: SnapshotPlan['partitions'];
  readonly sequences: readonly SequenceState[];
  readonly tables: readonly TableFile[];
}

const manifestName = 'manifest.json';
/**
 * The checksums of all files, as `sha256sum -c` reads them. Written last: a folder without it is
 * not a backup.
 */
const sumsName = 'SHA256SUMS';

const manifestForm: z.ZodType<Manifest> = z.object({
  format: z.literal(2),
  naru: z.string(),
  taken_at: z.string(),
  without_nodes: z.array(z.string()),
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

/**
 * Creates the folder of a backup, which must be new or empty. Private: its files hold key hashes
 * and e-mail addresses.
 */
export async function makeBackupFolder(dir: string): Promise<void> {
  makeFolder(dir, 0o700);
  if ((await readdir(dir)).length > 0)
    throw new OperatorError(`${dir} is not empty: choose a new or empty folder with --to`);
}

/** Writes the rows of a table to the disk; returns the checksum of the file. */
export async function writeTable(dir: string, name: string, rows: Readable): Promise<string> {
  const hash = createHash('sha256');
  const hashed = new Transform({
    transform(chunk, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  const file = createWriteStream(fileOf(dir, name), { mode: 0o600, flags: 'wx', flush: true });
  await pipeline(rows, createGzip({ level: 4 }), hashed, file);
  return hash.digest('hex');
}

/** The rows of a table. */
export async function* readTable(dir: string, name: string): AsyncGenerator<Buffer> {
  const file = createReadStream(fileOf(dir, name));
  const plain = createGunzip();
  file.on('error', (error) => plain.destroy(error));
  yield* file.pipe(plain);
}

/** Completes a backup: writes the manifest and the checksums. */
export async function writeManifest(dir: string, manifest: Manifest): Promise<void> {
  const text = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
  await writeFile(join(dir, manifestName), text, { mode: 0o600, flag: 'wx', flush: true });
  const fresh = join(dir, `${sumsName}.new`);
  await writeFile(fresh, sumsOf(manifest, text), { mode: 0o600, flush: true });
  await rename(fresh, join(dir, sumsName));
  const folder = await open(dir);
  await folder.sync().finally(() => folder.close());
}

/**
 * The manifest of a backup; throws an `OperatorError` when the folder is not a backup, is
 * unfinished, or fails its checksums.
 */
export async function readBackup(dir: string): Promise<Manifest> {
  const names = await readdir(dir).catch((error: { readonly code?: unknown }) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    throw error;
  });
  if (names === null) throw new OperatorError(`no folder ${dir}`);
  for (const name of [sumsName, manifestName])
    if (!names.includes(name))
      throw new OperatorError(
        names.some((each) => each.endsWith('.copy.gz'))
          ? `${dir} is an unfinished backup: ${name} is missing`
          : `${dir} is not a backup: ${name} is missing`,
      );
  const text = await readFile(join(dir, manifestName));
  const manifest = manifestOf(text);
  if (manifest === null)
    throw new OperatorError(
      `${join(dir, manifestName)} is unreadable: it is damaged or from another version of Naru`,
    );
  if (!sumsOf(manifest, text).equals(await readFile(join(dir, sumsName))))
    throw new OperatorError(
      `the checksums of ${dir} do not match its ${manifestName}: one of them is damaged; nothing was restored`,
    );
  for (const { name, sha256 } of manifest.tables)
    if ((await checksumOf(fileOf(dir, name))) !== sha256)
      throw new OperatorError(`${name}.copy.gz of ${dir} is damaged; nothing was restored`);
  return manifest;
}

/** The state of the ledger chain of each account at the time of the backup. */
export async function readAnchors(
  dir: string,
): Promise<ReadonlyMap<number, { readonly entries: bigint; readonly chain: Buffer }>> {
  const { tables } = await readBackup(dir);
  const columns = tables.find(({ name }) => name === 'account_balance')?.columns ?? [];
  const [id, entries, chain] = ['account_id', 'entries', 'chain'].map((name) => columns.indexOf(name));
  const anchors = new Map<number, { readonly entries: bigint; readonly chain: Buffer }>();
  for await (const line of createInterface({ input: Readable.from(readTable(dir, 'account_balance')) })) {
    const cells = line.split('\t');
    const cell = (at: number | undefined): string => cells[at ?? -1] ?? '';
    // Bytes are written as \\x and hex digits.
    anchors.set(Number(cell(id)), {
      entries: BigInt(cell(entries)),
      chain: Buffer.from(cell(chain).slice(3), 'hex'),
    });
  }
  return anchors;
}

function manifestOf(text: Buffer): Manifest | null {
  try {
    return manifestForm.parse(JSON.parse(text.toString('utf8')));
  } catch {
    return null;
  }
}

/** The checksums of the files that a manifest names, and of itself. */
function sumsOf(manifest: Manifest, text: Buffer): Buffer {
  const lines = manifest.tables.map(({ name, sha256 }) => `${sha256}  ${name}.copy.gz\n`);
  const own = createHash('sha256').update(text).digest('hex');
  return Buffer.from(`${lines.join('')}${own}  ${manifestName}\n`);
}

/** The checksum of a file in hex; null when it cannot be read as one. */
async function checksumOf(path: string): Promise<string | null> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk);
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (code === 'ENOENT' || code === 'EISDIR') return null;
    throw error;
  }
  return hash.digest('hex');
}

function fileOf(dir: string, table: string): string {
  return join(dir, `${table}.copy.gz`);
}
