import { readdir, readFile } from 'node:fs/promises';
import type { Log } from '../log/log.ts';

/**
 * Warns above this fraction of the limit; warns again only after a drop below the second fraction.
 */
const lowAbove = 0.9;
const wellBelow = 0.8;

interface Counts {
  readonly open: number;
  readonly limit: number;
}

/**
 * Warns before and while this process has no file descriptors left for connections. libuv accepts
 * and closes connections without a free descriptor and reports nothing. Does nothing without /proc,
 * as on macOS.
 */
export class DescriptorWatch {
  readonly #log: Log;
  #isLow = false;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Never rejects. */
  async check(): Promise<void> {
    const counts = await this.#count().catch(countsIn);
    if (counts === null) return;
    const { open, limit } = counts;
    if (open > limit * lowAbove && !this.#isLow) {
      this.#isLow = true;
      this.#log.warn('descriptors_low', {
        ...(Number.isFinite(open) ? { open, limit } : {}),
        detail: 'new connections are closed when none is left: raise the limit (ulimit -n, LimitNOFILE)',
      });
    }
    if (open < limit * wellBelow) this.#isLow = false;
  }

  async #count(): Promise<Counts | null> {
    const limits = await readFile('/proc/self/limits', 'latin1');
    const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    if (soft === undefined) return null;
    return { open: (await readdir('/proc/self/fd')).length, limit: Number(soft) };
  }
}

/** Without free descriptors the count is unreadable; null: it is unreadable for another reason. */
function countsIn(error: NodeJS.ErrnoException): Counts | null {
  return error.code === 'EMFILE' || error.code === 'ENFILE'
    ? { open: Number.POSITIVE_INFINITY, limit: 1 }
    : null;
}
