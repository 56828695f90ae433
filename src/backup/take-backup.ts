import type { Database } from '../store/database.ts';
import { readDatabaseId } from '../store/database-identity.ts';
import { openSnapshot } from '../store/snapshot.ts';
import { writeManifest, writeTable } from './archive.ts';
import type { BackupFiles } from './backup-files.ts';
import type { BackupKey } from './file-cipher.ts';
import type { TableFile } from './manifest.ts';

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
  const { files, takenAt, version, withoutNodes, key, signal } = order;
  const snapshot = await openSnapshot(database.address);
  try {
    const tables: TableFile[] = [];
    for (const { name, columns } of snapshot.plan.tables) {
      signal.throwIfAborted();
      const rows = snapshot.rowsOf(name);
      const written = await writeTable(files, { name, rows }, { takenAt, key, signal });
      tables.push({ name, columns, rows: rows.rows, ...written });
    }
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
    return { tables: tables.length, rows: sum(({ rows }) => rows), bytes: sum(({ bytes }) => bytes) };
  } finally {
    await snapshot.close();
  }
}
