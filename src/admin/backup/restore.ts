import { resolve } from 'node:path';
import type { CliPaths } from '../../app/cli-options.ts';
import { readConfig, settingsOf } from '../../app/config-source.ts';
import { openDatabaseBeside } from '../../app/database.ts';
import type { ProcessContext } from '../../app/process-context.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import { verifyLedger } from '../../ledger/ledger.ts';
import type { Database } from '../../store/database.ts';
import { migrate } from '../../store/migrate.ts';
import {
  isPartition,
  openTarget,
  type SequenceState,
  type SnapshotPlan,
  type Target,
} from '../../store/snapshot.ts';
import { type Manifest, readBackup, readTable } from './archive.ts';

/** The outcome of `naru restore`. */
export interface RestoreDone {
  readonly takenAt: string;
  readonly tables: number;
  readonly rows: number;
  /** Differences that `naru ledger verify` finds in the restored ledger. */
  readonly differences: number;
}

/**
 * Restores a backup into an empty database, all or nothing, then verifies the ledger. The database
 * gets its own identity unless it continues the one that was backed up
 * (docs/decisions/node-identity.md). Throws an `OperatorError` when the database is not empty, or
 * the backup is incomplete or has another schema.
 */
export async function restore(
  paths: CliPaths,
  { from, continues }: { readonly from: string; readonly continues: boolean },
  proc: ProcessContext,
): Promise<RestoreDone> {
  const dir = resolve(proc.cwd, from);
  const manifest = await readBackup(dir);
  const settings = settingsOf(paths, proc);
  const config = readConfig(settings, proc);
  const { database, close } = await openDatabaseBeside(config, settings.dataDir, proc);
  try {
    await migrate(database);
    const rows = await takeAll(database, dir, manifest, continues);
    const { differences } = await verifyLedger(database);
    return {
      takenAt: manifest.taken_at,
      tables: manifest.tables.length,
      rows,
      differences: differences.length,
    };
  } finally {
    await close();
  }
}

async function takeAll(
  database: Database,
  dir: string,
  manifest: Manifest,
  continues: boolean,
): Promise<number> {
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
    for (const table of manifest.tables) rows += await takeTable(target, dir, table);
    await target.setSequences(manifest.sequences);
    if (!continues) await target.leaveOriginal();
    const behind = await target.behindRows();
    if (behind !== null)
      throw new OperatorError(
        `the manifest of ${dir} is damaged: the sequence of ${behind.table} is behind its rows; nothing was restored`,
      );
    await target.commit();
    return rows;
  } finally {
    await target.close();
  }
}

async function takeTable(target: Target, dir: string, table: Manifest['tables'][number]): Promise<number> {
  const rows = readTable(dir, table.name);
  const damaged = `${table.name}.copy.gz of ${dir} is damaged; nothing was restored`;
  const taken = await target.take(table.name, table.columns, rows).catch((error: unknown) => {
    const { code } = error as { readonly code?: unknown };
    throw typeof code === 'string' && /^(Z_|ENOENT|EISDIR|22|23)/.test(code)
      ? new OperatorError(damaged)
      : error;
  });
  if (taken !== table.rows) throw new OperatorError(damaged);
  return taken;
}

/**
 * Checks that the backup has the migrations, tables and columns of this database; a manifest never
 * defines them.
 */
function assertFits(manifest: Manifest, plan: SnapshotPlan, sequences: readonly SequenceState[]): void {
  const names = ({ migrations }: Pick<SnapshotPlan, 'migrations'>): string =>
    migrations.map(({ name, checksum }) => `${name} ${checksum}`).join('\n');
  if (names(manifest) !== names(plan)) {
    const last = manifest.migrations.at(-1)?.name ?? 'none';
    const own = plan.migrations.at(-1)?.name ?? 'none';
    throw new OperatorError(
      `the backup has the schema of Naru ${manifest.naru} (${last}), this version has ${own}: restore it with that version, then start this one on that database`,
    );
  }
  const shapes = (tables: SnapshotPlan['tables']): string =>
    JSON.stringify(tables.map(({ name, columns }) => [name, columns]));
  const columns = (states: readonly SequenceState[]): string =>
    JSON.stringify(states.map(({ table, column }) => [table, column]));
  if (
    shapes(manifest.tables) !== shapes(plan.tables) ||
    columns(manifest.sequences) !== columns(sequences) ||
    !manifest.partitions.every((partition) => isPartition(partition, plan))
  )
    throw new OperatorError('the tables of the backup do not match its schema: its manifest is damaged');
}
