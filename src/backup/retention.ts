import type { BackupConfig } from '../config/config.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { maxClockSkewMs } from '../time/clock.ts';
import { readManifest } from './archive.ts';
import type { BackupFiles, BackupPlace } from './backup-files.ts';
import type { Manifest } from './manifest.ts';

const dayMs = 86_400_000;

/**
 * The file that a scheduled backup begins with and loses at its end. An unfinished backup of this
 * database is recognized by it.
 */
export const markName = 'UNFINISHED';

/** The bytes of the mark. */
export async function* markOf(databaseId: string): AsyncGenerator<Buffer> {
  yield Buffer.from(`${databaseId}\n`);
}

/** A complete backup of this database. */
export interface GoodBackup {
  readonly name: string;
  readonly takenAtMs: number;
}

/**
 * The names of those that may be removed, of good backups from the newest to the oldest: neither
 * among the newest `count`, nor younger than `ageDays`. The newest one is never among them.
 */
export function expiredOf(
  newestFirst: readonly GoodBackup[],
  { count, ageDays }: BackupConfig['keep'],
  nowMs: number,
): readonly string[] {
  const youngFromMs = ageDays === null ? Number.POSITIVE_INFINITY : nowMs - ageDays * dayMs;
  return newestFirst
    .slice(Math.max(1, count))
    .filter(({ takenAtMs }) => takenAtMs < youngFromMs)
    .map(({ name }) => name);
}

/**
 * The complete backups of a database in a place, the newest first. Damaged ones are not among them.
 * One that was taken in the future comes last: the clock that dated it was wrong.
 */
export async function goodBackups(
  place: BackupPlace,
  databaseId: string,
  nowMs: number,
): Promise<readonly (GoodBackup & { readonly manifest: Manifest })[]> {
  const good: (GoodBackup & { readonly manifest: Manifest })[] = [];
  for (const name of await place.backups()) {
    const manifest = await orNull(readManifest(place.open(name)));
    if (manifest?.database === databaseId)
      good.push({ name, takenAtMs: Date.parse(manifest.taken_at), manifest });
  }
  const isFuture = ({ takenAtMs }: GoodBackup): number => (takenAtMs > nowMs + maxClockSkewMs ? 1 : 0);
  return good.toSorted((one, other) => isFuture(one) - isFuture(other) || other.takenAtMs - one.takenAtMs);
}

/**
 * Removes the backups of this database that are no longer kept. Another database's are left alone,
 * and so is everything without a valid manifest. Returns the names of the removed ones.
 */
export async function removeExpired(
  place: BackupPlace,
  databaseId: string,
  { keep, nowMs }: { readonly keep: BackupConfig['keep']; readonly nowMs: number },
): Promise<readonly string[]> {
  const expired = expiredOf(await goodBackups(place, databaseId, nowMs), keep, nowMs);
  for (const name of expired) await place.remove(name);
  return expired;
}

/**
 * Removes what interrupted runs of this database left in a place. The caller holds the lock of
 * backups: no run is under way.
 */
export async function removeUnfinished(place: BackupPlace, databaseId: string): Promise<readonly string[]> {
  const removed: string[] = [];
  for (const name of await place.backups()) {
    const files = place.open(name);
    if (!(await files.list())?.includes(markName)) continue;
    if ((await markIn(files)) !== databaseId) continue;
    // A run that ended between its manifest and its mark is complete.
    if ((await orNull(readManifest(files))) !== null) await files.remove(markName);
    else {
      await place.remove(name);
      removed.push(name);
    }
  }
  return removed;
}

async function markIn(files: BackupFiles): Promise<string> {
  return Buffer.concat(await Array.fromAsync(files.read(markName)))
    .toString('utf8')
    .trim();
}

async function orNull<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof OperatorError) return null;
    throw error;
  }
}
