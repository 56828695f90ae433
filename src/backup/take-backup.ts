import type { Database } from '../store/database.ts';
import { readDatabaseId } from '../store/database-identity.ts';
import { openSnapshot, type SnapshotReader } from '../store/snapshot.ts';
import { together } from '../store/together.ts';
import { type TableOptions, writeManifest, writeTable } from './archive.ts';
import type { BackupFiles } from './backup-files.ts';
import type { BackupKey } from './file-cipher.ts';
import { countTables, type TableFile } from './manifest.ts';

/** How a backup is taken. */
export interface BackupOrder {
  readonly files: BackupFiles;
  /** ISO 8601, from before the nodes wrote their settlements to the database. */
  readonly takenAt: string;
  /** The version of Naru. */
  readonly version: string;
  /** Descriptions of the nodes whose latest settlements are missing. */
  readonly withoutNodes: readonly string[];
  /** Null: the files are not encrypted. */
  readonly key: BackupKey | null;
  readonly signal: AbortSignal;
  /** Receives what is copied now. */
  readonly progress?: ((step: string) => void) | undefined;
}

/** The sums of a backup. */
export interface BackupSums {
  readonly tables: number;
  readonly rows: number;
  /** Of all files of tables. */
  readonly bytes: number;
}

/** Copies a snapshot of the database. The backup is complete when this resolves, and not before. */
export async function takeBackup(database: Database, order: BackupOrder): Promise<BackupSums> {
  const { files, takenAt, version, withoutNodes, key, signal, progress } = order;
  const snapshot = await openSnapshot(database.address);
  try {
    const written = await together(snapshot.readers, (reader, stop) =>
      writeTables(files, reader, { key, signal: AbortSignal.any([signal, stop]), progress }),
    );
    const tables = written.flat().sort((a, b) => Number(a.name > b.name) - Number(a.name < b.name));
    const { migrations, partitions } = snapshot.plan;
    const manifest = {
      naru: version,
      taken_at: takenAt,
      database: await readDatabaseId(database),
      database_bytes: await snapshot.databaseBytes(),
      without_nodes: withoutNodes,
      migrations,
      partitions,
      sequences: await snapshot.sequences(),
      tables,
    };
    await writeManifest(files, manifest, key);
    const sum = (of: (table: TableFile) => number): number => tables.reduce((all, one) => all + of(one), 0);
    return { tables: countTables(tables), rows: sum(({ rows }) => rows), bytes: sum(({ bytes }) => bytes) };
  } finally {
    await snapshot.close();
  }
}

async function writeTables(
  files: BackupFiles,
  reader: SnapshotReader,
  { progress, ...options }: TableOptions & Pick<BackupOrder, 'progress'>,
): Promise<readonly TableFile[]> {
  const tables: TableFile[] = [];
  for (const { name, columns, part } of reader.tables) {
    options.signal.throwIfAborted();
    progress?.(`copying ${name}`);
    const rows = reader.rowsOf(name);
    const written = await writeTable(files, { name, part, rows }, options);
    tables.push({ name, ...(part === undefined ? {} : { part }), columns, rows: rows.rows, ...written });
  }
  return tables;
}
