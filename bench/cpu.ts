import { readdirSync, readFileSync } from 'node:fs';

/** Kernel ticks a second in /proc, the same on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/**
 * Processor time that a process and all its descendants have used, exited ones included, in
 * milliseconds; null without /proc. It is the cost of a request even when the generator is the
 * bottleneck.
 */
export function cpuMsOf(pid: number): number | null {
  try {
    return (usagesOf(pid).reduce((sum, one) => sum + one.ticks, 0) * 1000) / TICKS_PER_SECOND;
  } catch {
    return null;
  }
}

/** The memory of a process and its descendants, by proportional shares, kB. */
export function memoryKbOf(pid: number): number {
  return familyOf(pid).reduce((sum, member) => sum + shareKbOf(member), 0);
}

/** The proportional share of one process in the memory, kB; 0 when it has ended. */
export function shareKbOf(pid: number): number {
  try {
    const [, kib] = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1')) ?? [];
    return Number(kib) * 1.024;
  } catch {
    return 0;
  }
}

/** A process and all its descendants that run. Throws without /proc. */
export function familyOf(pid: number): readonly number[] {
  return usagesOf(pid).map((one) => one.pid);
}

function usagesOf(pid: number): readonly Usage[] {
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap(readUsage);
  const family = new Set([pid]);
  for (let grown = true; grown; ) {
    const before = family.size;
    for (const { pid: own, parent } of processes) if (family.has(parent)) family.add(own);
    grown = family.size > before;
  }
  return processes.filter((one) => family.has(one.pid));
}

interface Usage {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
}

/** Nothing when the process has exited since it was listed. */
function readUsage(pid: string): readonly Usage[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // Behind the name in parentheses: state, parent, …; utime, stime, cutime and cstime are the
    // 12th to 15th.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const ticks = fields.slice(11, 15).reduce((sum, part) => sum + part, 0);
    return [{ pid: Number(pid), parent: fields[1] ?? 0, ticks }];
  } catch {
    return [];
  }
}

/** Processor time of a process by part, in milliseconds. */
export interface ThreadTimes {
  readonly mainMs: number;
  readonly otherThreadsMs: number;
  /** Of the processes that it started. */
  readonly childrenMs: number;
}

/** Reads the processor time of a process by part; everything is 0 without /proc. */
export function threadTimes(pid: number): ThreadTimes {
  const all = cpuMsOf(pid) ?? 0;
  const threads = threadsOf(pid);
  const sum = threads.reduce((total, { ms }) => total + ms, 0);
  const mainMs = threads.find(({ id }) => id === pid)?.ms ?? 0;
  return { mainMs, otherThreadsMs: sum - mainMs, childrenMs: all - sum };
}

function threadsOf(pid: number): readonly { readonly id: number; readonly ms: number }[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((id) => ({ id: Number(id), ms: threadMs(pid, id) }));
  } catch {
    return [];
  }
}

/** `schedstat` counts nanoseconds, `stat` hundredths of a second. */
function threadMs(pid: number, id: string): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'latin1').split(' ')[0]) / 1e6;
  } catch {
    return 0;
  }
}
