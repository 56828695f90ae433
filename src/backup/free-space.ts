import { statfs } from 'node:fs/promises';
import { OperatorError } from '../errors/operator-error.ts';

/** Beside the rows and indexes: the log of writes, and an empty cluster. */
const spareBytes = 2 * 1024 ** 3;

/** Throws when `dir` has too little space for `what`, which restores a database of that size there. */
export async function assertSpaceForRestore(what: string, dir: string, databaseBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(dir);
  const [free, needed] = [bavail * bsize, databaseBytes * 1.5 + spareBytes];
  const gb = (bytes: number): string => (bytes / 1e9).toFixed(1);
  if (free < needed)
    throw new OperatorError(`${what} needs ${gb(needed)} GB in ${dir}, which has ${gb(free)} GB free`);
}
