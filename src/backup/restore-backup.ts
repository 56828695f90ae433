import { OperatorError } from '../errors/operator-error.ts';
import type { Database } from '../store/database.ts';
import {
  isPartition,
  openTarget,
  type SequenceState,
  type SnapshotPlan,
  type Target,
} from '../store/snapshot.ts';
import { damaged, type OpenBackup, readTable } from './archive.ts';
import type { Manifest, TableFile } from './manifest.ts';

/**
 * Restores a backup into a migrated, empty database, all or nothing; returns the number of rows.
 * The database gets its own identity unless it continues the one that was backed up
 * (docs/decisions/node-identity.md). Throws an `OperatorError` when the database is not empty, or
 * the backup is damaged or has another schema.
 */
export async function restoreBackup(
  database: Database,
  backup: OpenBackup,
  continues: boolean,
  progress?: (step: string) => void,
): Promise<number> {
  const { manifest, files } = backup;
  const target = await openTarget(database.address);
  try {
    assertFits(manifest, target.plan, await target.sequences());
    const occupied = await target.occupied();
    if (occupied !== null)
      throw new OperatorError(
        `the database is not empty (${occupied} has rows): restore into a new one, for example with --data-dir of a new folder`,
      );
    await target.prepare(manifest.partitions);
    // Again, now that no other session can write.
    if ((await target.occupied()) !== null)
      throw new OperatorError(
        'another process wrote to the database during the restore; nothing was restored',
      );
    let rows = 0;
    for (const table of manifest.tables) {
      progress?.(`restoring ${table.name}`);
      const restored = await takeTable(target, backup, table);
      rows += restored;
    }
    await target.setSequences(manifest.sequences);
    if (!continues) await target.leaveOriginal();
    const behind = await target.behindRows();
    if (behind !== null)
      throw new OperatorError(
        `the manifest of ${files.name} is damaged: the sequence of ${behind.table} is behind its rows; nothing was restored`,
      );
    await target.commit();
    return rows;
  } finally {
    await target.close();
  }
}

async function takeTable(target: Target, backup: OpenBackup, table: TableFile): Promise<number> {
  const rows = readTable(backup, table);
  const taken = await target.take(table.name, table.columns, rows).catch((error: unknown) => {
    const { code } = error as { readonly code?: unknown };
    throw typeof code === 'string' && /^(22|23)/.test(code) ? damaged(backup, table) : error;
  });
  if (taken !== table.rows) throw damaged(backup, table);
  return taken;
}

/** Whether two databases, or a backup and a database, have the same schema. */
export function isSameSchema(one: Manifest['migrations'], other: SnapshotPlan['migrations']): boolean {
  const names = (migrations: SnapshotPlan['migrations']): string =>
    migrations.map(({ name, checksum }) => `${name} ${checksum}`).join('\n');
  return names(one) === names(other);
}

/**
 * Checks that the backup has the migrations, tables and columns of this database; a manifest never
 * defines them.
 */
function assertFits(manifest: Manifest, plan: SnapshotPlan, sequences: readonly SequenceState[]): void {
  if (!isSameSchema(manifest.migrations, plan.migrations)) {
    const last = manifest.migrations.at(-1)?.name ?? 'none';
    const own = plan.migrations.at(-1)?.name ?? 'none';
    throw new OperatorError(
      `the backup has the schema of Naru ${manifest.naru} (${last}), this version has ${own}: restore it with that version, then start this one on that database`,
    );
  }
  const shapes = (tables: readonly Pick<TableFile, 'name' | 'columns'>[]): string => {
    const texts = tables.map(({ name, columns }) => JSON.stringify([name, columns]));
    // The parts of a table have the same one.
    return [...new Set(texts)].join('\n');
  };
  const columns = (states: readonly SequenceState[]): string =>
    JSON.stringify(states.map(({ table, column }) => [table, column]));
  if (
    shapes(manifest.tables) !== shapes(plan.tables) ||
    columns(manifest.sequences) !== columns(sequences) ||
    !manifest.partitions.every((partition) => isPartition(partition, plan))
  )
    throw new OperatorError('the tables of the backup do not match its schema: its manifest is damaged');
}
