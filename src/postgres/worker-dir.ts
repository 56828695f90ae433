import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pause, systemClock } from '../time/clock.ts';
import { type DataDirLock, DataDirLockedError, lockDataDir } from './data-dir-lock.ts';

/** A worker ends with its parent, at the end of the current turn. */
const orphansEndWithinMs = 10_000;

/** The directory of the n-th worker, with its journal and its node id. */
export function workerDir(dataDir: string, worker: number): string {
  return join(dataDir, 'workers', String(worker));
}

/** The worker directories in a data directory, of this or an earlier start, by number. */
export function workerDirs(dataDir: string): readonly string[] {
  const folder = join(dataDir, 'workers');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => /^[1-9]\d*$/.test(name))
    .sort((a, b) => Number(a) - Number(b))
    .map((name) => join(folder, name));
}

/** Locks a worker directory; waits for a worker of a killed parent that has not ended yet. */
export async function lockWorkerDir(home: string, pid = 0): Promise<DataDirLock> {
  const beganMs = systemClock.monotonic();
  for (;;) {
    try {
      return await lockDataDir(home, { pid, describe: 'a worker of naru up' });
    } catch (error) {
      const isLate = systemClock.monotonic() - beganMs > orphansEndWithinMs;
      if (!(error instanceof DataDirLockedError) || isLate) throw error;
      await pause(systemClock, 50, new AbortController().signal);
    }
  }
}
