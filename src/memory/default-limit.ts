/** What a process may use of memory, bytes. */
export interface ProcessMemory {
  /** The largest heap that the engine allows. */
  readonly heapBytes: number;
  /** Of the machine, or of the container. */
  readonly machineBytes: number;
}

/** What is held is in the heap as strings or beside it as bytes, and briefly twice; collecting it takes as much again. */
const shareOfMemory = 4;
/** More than this is of no use: what is held waits for someone. */
const maxBytes = 1024 ** 3;

/** How much the requests of one process may hold when the configuration does not say, with so many processes on the machine. */
export function defaultBudgetBytes({ heapBytes, machineBytes }: ProcessMemory, processes: number): number {
  const share = Math.min(heapBytes, machineBytes / processes) / shareOfMemory;
  return Math.floor(Math.min(share, maxBytes / processes));
}
