import { join } from 'node:path';
import { type DataDirLock, DataDirLockedError, lockDataDir } from '../../postgres/data-dir-lock.ts';
import { pause, systemClock } from '../../time/clock.ts';

/** A worker ends with its parent, at the end of the turn it is in. */
const orphansEndWithinMs = 10_000;

/** Where the n-th worker of a data directory has its journal and its name. */
export function workerDir(dataDir: string, worker: number): string {
  return join(dataDir, 'workers', String(worker));
}

/** Takes a worker's home for this process alone; waits for a worker of a killed parent that has not noticed yet. */
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
