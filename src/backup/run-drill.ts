import { existsSync, realpathSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OperatorError } from '../errors/operator-error.ts';
import { verifyLedger } from '../ledger/verification.ts';
import { clusterDirOf } from '../postgres/cluster-dir.ts';
import { attachEmbedded, startEmbedded } from '../postgres/embedded.ts';
import type { Environment } from '../postgres/run-command.ts';
import type { Database } from '../store/database.ts';
import { readDatabaseId } from '../store/database-identity.ts';
import { makeFolder } from '../store/make-folder.ts';
import { openSnapshot } from '../store/snapshot.ts';
import { assertEncrypted, openBackup } from './archive.ts';
import type { BackupPlace } from './backup-files.ts';
import { assertSpaceForRestore } from './free-space.ts';
import type { Manifest } from './manifest.ts';
import { keyOf, openPlace } from './open-place.ts';
import { isSameSchema, restoreBackup } from './restore-backup.ts';
import { goodBackups } from './retention.ts';
import { type RunFailed, type RunParts, recorded, withLock } from './run-backup.ts';
import { withEmbedded } from './with-embedded.ts';

/** Where a drill has its database. */
export interface DrillMeans {
  readonly dataDir: string;
  /** The user id that Naru runs as. */
  readonly uid: number;
  readonly env: Environment;
}

/** What a drill needs. */
export type DrillParts = Pick<RunParts, 'backup' | 'database' | 'clock' | 'signal'>;

/** A backup that was restored, and whose ledger agrees. */
export interface DrillDone {
  readonly kind: 'verified';
  readonly name: string;
  readonly place: string;
  readonly rows: number;
  readonly bytes: number;
}

const folderName = 'backup-drill';

/**
 * Restores the newest backup into a PostgreSQL server of its own, which exists only for this,
 * verifies its ledger, and records the result. `nothing`: there is no backup with the schema of this
 * version yet. `busy`: another process makes a backup or a drill.
 */
export async function runDrill(
  parts: DrillParts,
  means: DrillMeans,
): Promise<DrillDone | RunFailed | 'busy' | 'nothing'> {
  const { backup, database, clock, signal } = parts;
  return withLock(database, async () => {
    const place = await openPlace(backup, { clock, signal });
    const run = (name: string) => ({ kind: 'drill' as const, place: place.name, backup: name });
    let newest: Awaited<ReturnType<typeof newestRestorable>>;
    try {
      newest = await newestRestorable(place, database, clock.now());
    } catch (error) {
      return recorded(parts, run(''), () => Promise.reject(error));
    }
    if (newest === null) return 'nothing';
    const { name } = newest;
    return recorded(parts, run(name), () => drill(place, name, { backup, signal, means }));
  });
}

async function drill(
  place: BackupPlace,
  name: string,
  { backup, signal, means }: Pick<RunParts, 'backup' | 'signal'> & { readonly means: DrillMeans },
): Promise<DrillDone> {
  const opened = await openBackup(place.open(name), await keyOf(backup));
  assertEncrypted(opened);
  const { database_bytes: databaseBytes, tables } = opened.manifest;
  await assertSpaceForRestore('a drill', means.dataDir, databaseBytes);
  const rows = await withTemporaryDatabase(means, signal, async (temporary) => {
    const restored = await restoreBackup(temporary, opened, false);
    const { differences } = await verifyLedger(temporary);
    const [first] = differences;
    if (first !== undefined)
      throw new OperatorError(
        `the restored ledger has ${differences.length} differences, the first: ${first.check}, ${first.subject}`,
      );
    return restored;
  });
  const bytes = tables.reduce((sum, table) => sum + table.bytes, 0);
  return { kind: 'verified', name, place: place.name, rows, bytes };
}

/** The newest backup; null when there is none, or it has another schema than this database. */
async function newestRestorable(
  place: BackupPlace,
  database: Database,
  nowMs: number,
): Promise<{ readonly name: string; readonly manifest: Manifest } | null> {
  const [newest] = await goodBackups(place, await readDatabaseId(database), nowMs);
  if (newest === undefined) return null;
  const snapshot = await openSnapshot(database.address);
  try {
    return isSameSchema(newest.manifest.migrations, snapshot.plan.migrations) ? newest : null;
  } finally {
    await snapshot.close();
  }
}

/** Runs `work` on an empty, migrated database of a new cluster, and removes the cluster. */
async function withTemporaryDatabase<T>(
  { dataDir, uid, env }: DrillMeans,
  signal: AbortSignal,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const dir = join(dataDir, folderName);
  const options = { dataDir: dir, uid, env, progress: () => {} };
  const remove = async (): Promise<void> => {
    if (!existsSync(dir)) return;
    // A killed process may leave its server.
    if ((await attachEmbedded(dir)) !== null) await (await startEmbedded(options)).stop();
    const cluster = clusterDirOf(realpathSync(dir));
    // As root it may be in a folder of its own elsewhere.
    if (dirname(cluster) !== realpathSync(dir)) await rm(dirname(cluster), { recursive: true, force: true });
    await rm(dir, { recursive: true, force: true });
  };
  await remove();
  makeFolder(dir, 0o700);
  try {
    return await withEmbedded(options, work, signal);
  } finally {
    await remove();
  }
}
