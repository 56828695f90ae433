import { createHash } from 'node:crypto';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { OperatorError } from '../errors/operator-error.ts';
import { type BackupFiles, MissingFile, manifestName } from './backup-files.ts';
import { type BackupKey, decrypt, encrypt } from './file-cipher.ts';
import {
  assertAuthentic,
  digestOf,
  fileOf,
  type Manifest,
  manifestText,
  type NewManifest,
  parseManifest,
  type TableFile,
  type TablePart,
} from './manifest.ts';

/** The checksums of all files, as `sha256sum -c` reads them. */
const sumsName = 'SHA256SUMS';

/** What a table's file is written with. */
export interface TableOptions {
  /** Null: the file is not encrypted. */
  readonly key: BackupKey | null;
  readonly signal: AbortSignal;
}

/** Writes the rows of a table; returns the size and the checksum of its file. */
export async function writeTable(
  files: BackupFiles,
  { rows, ...table }: TablePart & { readonly rows: Readable },
  { key, signal }: TableOptions,
): Promise<Pick<TableFile, 'bytes' | 'sha256'>> {
  const hash = createHash('sha256');
  let bytes = 0;
  const zipped = createGzip({ level: 4 });
  const zipping = pipeline(rows, zipped, { signal });
  const sealed = key === null ? zipped : encrypt(zipped, key);
  const writing = files.write(
    fileOf(table, key !== null),
    (async function* () {
      for await (const chunk of sealed as AsyncIterable<Buffer>) {
        hash.update(chunk);
        bytes += chunk.length;
        yield chunk;
      }
    })(),
  );
  // Either failure ends the other; the writer has the cause of both.
  const [read, written] = await Promise.allSettled([zipping, writing]);
  if (written.status === 'rejected') throw written.reason;
  if (read.status === 'rejected') throw read.reason;
  return { bytes, sha256: hash.digest('hex') };
}

/** Completes a backup: writes the checksums of its files, then the manifest. */
export async function writeManifest(
  files: BackupFiles,
  manifest: NewManifest,
  key: BackupKey | null,
): Promise<void> {
  const text = manifestText(manifest, key);
  await files.write(sumsName, bytesOf(sumsOf(parseManifest(text, manifestName), text)));
  await files.write(manifestName, bytesOf(text));
}

/** A complete backup, opened for reading. */
export interface OpenBackup {
  readonly files: BackupFiles;
  readonly manifest: Manifest;
  readonly key: BackupKey | null;
}

/**
 * The manifest of a backup, without a look at its files. Its checksum is checked, but not that its
 * writer has the key. Throws an `OperatorError` when it is not a backup, unfinished or damaged.
 */
export async function readManifest(files: BackupFiles): Promise<Manifest> {
  return (await manifestOf(files)).manifest;
}

/**
 * Opens a backup. Throws an `OperatorError` when it is not a backup, is unfinished, has a damaged
 * manifest, or was not encrypted with this key.
 */
export async function openBackup(files: BackupFiles, key: BackupKey | null): Promise<OpenBackup> {
  const { manifest, text } = await manifestOf(files);
  assertAuthentic(manifest, text, { key, name: files.name });
  const sums = await textOf(files, sumsName);
  if (sumsOf(manifest, text) !== sums)
    throw new OperatorError(
      `the checksums of ${files.name} do not match its ${manifestName}: one of them is damaged; nothing was restored`,
    );
  return { files, manifest, key };
}

/** Throws an `OperatorError` for a backup without encryption although there is a key. */
export function assertEncrypted({ files, manifest, key }: OpenBackup): void {
  if (key !== null && manifest.encryption === null)
    throw new OperatorError(
      `${files.name} is not encrypted although backup.encryption_key is set: anyone who can write there may have made it`,
    );
}

/** As `openBackup`, and reads every file: throws an `OperatorError` when one is damaged. */
export async function checkBackup(files: BackupFiles, key: BackupKey | null): Promise<OpenBackup> {
  const backup = await openBackup(files, key);
  for (const table of backup.manifest.tables) for await (const _ of checkedBytes(backup, table));
  return backup;
}

/** The rows of a table. Throws an `OperatorError` when its file is damaged, at the end at the latest. */
export async function* readTable(backup: OpenBackup, table: TableFile): AsyncGenerator<Buffer> {
  const { manifest, files, key } = backup;
  const stored = checkedBytes(backup, table);
  const name = `${fileOf(table, manifest.encryption !== null)} of ${files.name}`;
  const zipped = manifest.encryption === null || key === null ? stored : decrypt(stored, key, name);
  const plain = createGunzip();
  const unzipping = pipeline(Readable.from(zipped), plain);
  // The reader of `plain` receives the error.
  unzipping.catch(() => {});
  try {
    for await (const chunk of plain) yield chunk as Buffer;
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    throw typeof code === 'string' && code.startsWith('Z_') ? damaged(backup, table) : error;
  }
}

/** The state of the ledger chain of each account at the time of the backup. */
export async function readAnchors(
  files: BackupFiles,
  key: BackupKey | null,
): Promise<ReadonlyMap<number, { readonly entries: bigint; readonly chain: Buffer }>> {
  const backup = await checkBackup(files, key);
  const anchors = new Map<number, { readonly entries: bigint; readonly chain: Buffer }>();
  for (const table of backup.manifest.tables.filter(({ name }) => name === 'account_balance')) {
    const [id, entries, chain] = ['account_id', 'entries', 'chain'].map((name) =>
      table.columns.indexOf(name),
    );
    for await (const line of createInterface({ input: Readable.from(readTable(backup, table)) })) {
      const cells = line.split('\t');
      const cell = (at: number | undefined): string => cells[at ?? -1] ?? '';
      // Bytes are written as \\x and hex digits.
      anchors.set(Number(cell(id)), {
        entries: BigInt(cell(entries)),
        chain: Buffer.from(cell(chain).slice(3), 'hex'),
      });
    }
  }
  return anchors;
}

/** The error of a table whose file is not what was written. */
export function damaged({ files, manifest }: OpenBackup, table: TablePart): OperatorError {
  return new OperatorError(
    `${fileOf(table, manifest.encryption !== null)} of ${files.name} is damaged; nothing was restored`,
  );
}

async function manifestOf(
  files: BackupFiles,
): Promise<{ readonly manifest: Manifest; readonly text: string }> {
  const names = await files.list();
  if (names === null) throw new OperatorError(`no folder ${files.name}`);
  for (const name of [sumsName, manifestName])
    if (!names.includes(name))
      throw new OperatorError(
        names.some((each) => each.includes('.copy.gz'))
          ? `${files.name} is an unfinished backup: ${name} is missing`
          : `${files.name} is not a backup: ${name} is missing`,
      );
  const text = await textOf(files, manifestName);
  return { manifest: parseManifest(text, `${files.name}/${manifestName}`), text };
}

/** The bytes of a table's file; throws at the end when they are not those that were written. */
async function* checkedBytes(backup: OpenBackup, table: TableFile): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of backup.files.read(fileOf(table, backup.manifest.encryption !== null))) {
      hash.update(chunk);
      yield chunk;
    }
  } catch (error) {
    throw error instanceof MissingFile ? damaged(backup, table) : error;
  }
  if (hash.digest('hex') !== table.sha256) throw damaged(backup, table);
}

/** The checksums of the files that a manifest names, and of itself. */
function sumsOf(manifest: Manifest, text: string): string {
  const lines = manifest.tables.map(
    (table) => `${table.sha256}  ${fileOf(table, manifest.encryption !== null)}\n`,
  );
  return `${lines.join('')}${digestOf(text)}  ${manifestName}\n`;
}

/** The text of a file; empty when it is not UTF-8, so that equal texts have equal bytes. */
async function textOf(files: BackupFiles, name: string): Promise<string> {
  const bytes = Buffer.concat(await Array.fromAsync(files.read(name)));
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return '';
  }
}

async function* bytesOf(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}
