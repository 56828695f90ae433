import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Clock, pause } from '../time/clock.ts';

/** Reads the memory of this machine's GPUs. */
export interface GpuMemory {
  /**
   * MiB in use by any process, over all `gpus`; null when unknown, as for names that the driver
   * does not know.
   */
  used(gpus: readonly string[]): Promise<number | null>;
}

/** Tolerance for memory that other processes took meanwhile. */
const slackMb = 256;
/**
 * Memory use that has not fallen for this long will not fall any more: an H200 had the 40 GB of a
 * process back 0.1 to 0.2 s after SIGTERM and SIGKILL, and `nvidia-smi` took 22 ms.
 */
const settledMs = 2000;
const pollMs = 250;
const queryTimeoutMs = 5000;

/** The GPUs according to `nvidia-smi`; null when it is missing or lists no GPU. */
export async function findGpuMemory(command: string): Promise<GpuMemory | null> {
  const used = async (gpus: readonly string[]): Promise<number | null> => {
    try {
      const which = gpus.length === 0 ? [] : ['-i', gpus.join(',')];
      const query = ['--query-gpu=memory.used', '--format=csv,noheader,nounits', ...which];
      const { stdout } = await promisify(execFile)(command, query, { timeout: queryTimeoutMs });
      const figures = stdout.trim().split('\n').map(Number);
      return figures.every((mb) => Number.isFinite(mb)) ? figures.reduce((sum, mb) => sum + mb, 0) : null;
    } catch {
      return null;
    }
  };
  return (await used([])) === null ? null : { used };
}

/** The longest wait for free memory. */
export const reclaimLimitMs = 30_000;

/**
 * Resolves when as much is free as before the start (`beforeMb`), when no more is freed, when it
 * cannot be read, or after 30 s.
 */
export async function memoryIsBack(
  memory: GpuMemory,
  gpus: readonly string[],
  beforeMb: number,
  clock: Clock,
): Promise<void> {
  const endMs = clock.monotonic() + reclaimLimitMs;
  let minMb = Number.POSITIVE_INFINITY;
  let fellMs = clock.monotonic();
  while (clock.monotonic() < endMs) {
    const mb = await memory.used(gpus);
    if (mb === null || mb <= beforeMb + slackMb) return;
    if (mb < minMb) {
      minMb = mb;
      fellMs = clock.monotonic();
    } else if (clock.monotonic() - fellMs >= settledMs) return;
    await pause(clock, pollMs, new AbortController().signal);
  }
}
