import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { BudgetLimits } from './budget.ts';

/** The limits of a configuration that the budget follows from. */
export interface ConfiguredLimits {
  /** Null: a part of what the process may use. */
  readonly memoryBytes: number | null;
  readonly bodyBytes: number;
  readonly clientMemoryPercent: number;
}

/** The memory that a process may use, bytes. */
export interface ProcessMemory {
  /** The engine's maximum heap. */
  readonly heapBytes: number;
  /** Of the machine, or of the container. */
  readonly machineBytes: number;
}

/**
 * The bytes are in the heap as strings or beside it as buffers, and briefly in both; collecting
 * garbage needs as much again.
 */
const shareOfMemory = 4;
/** More than this does not help: the bytes only wait. */
const maxBytes = 1024 ** 3;

/** The default budget for the requests of one process, with this many processes on the machine. */
export function defaultBudgetBytes({ heapBytes, machineBytes }: ProcessMemory, processes: number): number {
  const share = Math.min(heapBytes, machineBytes / processes) / shareOfMemory;
  return Math.floor(Math.min(share, maxBytes / processes));
}

/** The largest body and its three working copies must fit. */
const copiesOfBody = 4;

/**
 * The memory limit of the requests of this process, which is one of `workers` on the machine: from
 * the configuration, otherwise a part of what V8 and the machine or container allow. One body of
 * the largest size always fits.
 */
function memoryLimits(limits: ConfiguredLimits, processes: number): BudgetLimits {
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
export function memoryLimitsBy(limits: () => ConfiguredLimits, processes: number): () => BudgetLimits {
  let applied = limits();
  let current = memoryLimits(applied, processes);
  return () => {
    if (applied === limits()) return current;
    applied = limits();
    current = memoryLimits(applied, processes);
    return current;
  };
}
