import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Clock, pause } from '../time/clock.ts';

/** What can be seen of the memory of this machine's GPUs. */
export interface GpuMemory {
  /** MiB in use by anybody, over all `gpus`; null when that cannot be told, as of names that the driver does not know. */
  used(gpus: readonly string[]): Promise<number | null>;
}

/** What others may have taken meanwhile without it meaning that an engine's memory is not free yet. */
const slackMb = 256;
/** Memory that has not become less for this long does not come back any more. */
const settledMs = 2000;
const pollMs = 250;
const askLimitMs = 5000;

/** The GPUs as `nvidia-smi` shows them; null when there is none, or it knows of no GPU. */
export async function findGpuMemory(command: string): Promise<GpuMemory | null> {
  const used = async (gpus: readonly string[]): Promise<number | null> => {
    try {
      const which = gpus.length === 0 ? [] : ['-i', gpus.join(',')];
      const query = ['--query-gpu=memory.used', '--format=csv,noheader,nounits', ...which];
      const { stdout } = await promisify(execFile)(command, query, { timeout: askLimitMs });
      const figures = stdout.trim().split('\n').map(Number);
      return figures.every((mb) => Number.isFinite(mb)) ? figures.reduce((sum, mb) => sum + mb, 0) : null;
    } catch {
      return null;
    }
  };
  return (await used([])) === null ? null : { used };
}

/** The longest wait for it. */
export const reclaimLimitMs = 30_000;

/** Resolves when as much is free again as before the start (`beforeMb`), when no more comes back, when nobody can tell, or after 30 s. */
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
