import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { Config } from '../config/config.ts';
import type { BudgetLimits } from '../memory/budget.ts';
import { defaultBudgetBytes } from '../memory/default-limit.ts';

/** The largest body and its three working copies must fit. */
const copiesOfBody = 4;

/**
 * The memory limit of the requests of this process, which is one of `workers` on the machine: from
 * the configuration, otherwise a part of what V8 and the machine or container allow. One body of
 * the largest size always fits.
 */
function memoryLimits(limits: Config['limits'], processes: number): BudgetLimits {
  const machineBytes = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  const heapBytes = getHeapStatistics().heap_size_limit;
  const wantedBytes =
    limits.memoryBytes === null
      ? defaultBudgetBytes({ heapBytes, machineBytes }, processes)
      : Math.floor(limits.memoryBytes / processes);
  const minBytes = copiesOfBody * limits.bodyBytes;
  const totalBytes = Math.max(wantedBytes, minBytes);
  const clientBytes = Math.max(Math.floor((totalBytes * limits.clientMemoryPercent) / 100), minBytes);
  return { totalBytes, clientBytes };
}

/** The memory limits by the limits in effect, calculated once for each configuration. */
export function memoryLimitsBy(limits: () => Config['limits'], processes: number): () => BudgetLimits {
  let applied = limits();
  let current = memoryLimits(applied, processes);
  return () => {
    if (applied === limits()) return current;
    applied = limits();
    current = memoryLimits(applied, processes);
    return current;
  };
}
