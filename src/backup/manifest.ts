import { createHash } from 'node:crypto';
import { z } from 'zod';
import { OperatorError } from '../errors/operator-error.ts';
import type { SequenceState, SnapshotPlan } from '../store/snapshot.ts';
import type { BackupKey } from './file-cipher.ts';

/** A table of a backup, or the rows of it that one server of a cluster had. */
export interface TableFile {
  readonly name: string;
  /** Absent: the file has the whole table. Counted from 1. */
  readonly part?: number | undefined;
  readonly columns: readonly string[];
  readonly rows: number;
  /** Of its file. */
  readonly bytes: number;
  /** Of its file, in hex. */
  readonly sha256: string;
}

/** The manifest of a backup. */
export interface Manifest {
  readonly format: 1;
  readonly naru: string;
  /** ISO 8601: everything durable at that time is in the backup. */
  readonly taken_at: string;
  /** The identity of the database. */
  readonly database: string;
  /** What the database occupied on its disk. */
  readonly database_bytes: number;
  /** Descriptions of the nodes whose latest settlements are missing. */
  readonly without_nodes: readonly string[];
  readonly migrations: SnapshotPlan['migrations'];
  readonly partitions: SnapshotPlan['partitions'];
  readonly sequences: readonly SequenceState[];
  readonly tables: readonly TableFile[];
  /** How its files are encrypted; null: they are not. */
  readonly encryption: {
    readonly cipher: 'age';
    /** The public half of its key. */
    readonly recipient: string;
    /** HMAC-SHA-256 of the manifest with zeros in place of this and of `sha256`. */
    readonly mac: string;
  } | null;
  /** SHA-256 of the manifest with zeros in place of this. */
  readonly sha256: string;
}

/** A manifest before it has its codes. */
export type NewManifest = Omit<Manifest, 'format' | 'encryption' | 'sha256'>;

const hexDigest = z.string().regex(/^[0-9a-f]{64}$/);
const zeros = '0'.repeat(64);

const manifestForm: z.ZodType<Manifest> = z.object({
  format: z.literal(1),
  naru: z.string(),
  taken_at: z.string(),
  database: z.string(),
  database_bytes: z.number(),
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
    z.object({
      name: z.string().regex(/^[a-z_][a-z0-9_]{0,62}$/),
      part: z.int().min(1).max(9_999).optional(),
      columns: z.array(z.string()),
      rows: z.number(),
      bytes: z.number(),
      sha256: hexDigest,
    }),
  ),
  encryption: z.object({ cipher: z.literal('age'), recipient: z.string(), mac: hexDigest }).nullable(),
  sha256: hexDigest,
});

/** The text of a new manifest with its checksum and, with a key, its authentication code. */
export function manifestText(manifest: NewManifest, key: BackupKey | null): string {
  const encryption = key === null ? null : { cipher: 'age', recipient: key.recipient, mac: zeros };
  const blank = `${JSON.stringify({ format: 1, ...manifest, encryption, sha256: zeros }, null, 2)}\n`;
  const sealed = key === null ? blank : withCode(blank, 'mac', key.authenticate(blank));
  return withCode(sealed, 'sha256', digestOf(sealed));
}

/**
 * Reads a manifest and checks its checksum; throws an `OperatorError` that `name` begins.
 * Its authentication code is checked by `assertAuthentic`.
 */
export function parseManifest(text: string, name: string): Manifest {
  let manifest: Manifest;
  try {
    manifest = manifestForm.parse(JSON.parse(text));
  } catch {
    throw new OperatorError(`${name} is unreadable: it is damaged or from another version of Naru`);
  }
  if (digestOf(withCode(text, 'sha256', zeros)) !== manifest.sha256)
    throw new OperatorError(`${name} is damaged: its checksum does not match; nothing was restored`);
  return manifest;
}

/** Throws an `OperatorError` unless the holder of this key wrote the manifest, if it is encrypted. */
export function assertAuthentic(
  { encryption }: Manifest,
  text: string,
  { key, name }: { readonly key: BackupKey | null; readonly name: string },
): void {
  if (encryption === null) return;
  if (key === null)
    throw new OperatorError(`${name} is encrypted: state its key as backup.encryption_key in naru.yaml`);
  if (encryption.recipient !== key.recipient)
    throw new OperatorError(
      `${name} is encrypted with another key (${encryption.recipient}) than backup.encryption_key (${key.recipient})`,
    );
  const blank = withCode(withCode(text, 'sha256', zeros), 'mac', zeros);
  if (key.authenticate(blank) !== encryption.mac)
    throw new OperatorError(`the manifest of ${name} was changed without the key; nothing was restored`);
}

/** Which table, and which part of it, a file has. */
export type TablePart = Pick<TableFile, 'name' | 'part'>;

/** The name of a table's file. */
export function fileOf({ name, part }: TablePart, isEncrypted: boolean): string {
  return `${part === undefined ? name : `${name}.${part}`}.copy.gz${isEncrypted ? '.age' : ''}`;
}

/** The number of tables in these files. */
export function countTables(files: readonly TablePart[]): number {
  return new Set(files.map(({ name }) => name)).size;
}

/** SHA-256 in hex. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The manifest's text with another value of its last member of a name. */
function withCode(text: string, member: 'mac' | 'sha256', code: string): string {
  const at = text.lastIndexOf(`"${member}": "`) + member.length + 5;
  return `${text.slice(0, at)}${code}${text.slice(at + code.length)}`;
}
