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
