import { readdirSync, readFileSync } from 'node:fs';

/** Kernel ticks a second in /proc, the same on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/**
 * Processor time that a process and all its descendants have used, exited ones included, in
 * milliseconds; null without /proc. It is the cost of a request even when the generator is the
 * bottleneck.
 */
export function cpuMsOf(pid: number): number | null {
  let processes: readonly Usage[];
  try {
    processes = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap(readUsage);
  } catch {
    return null;
  }
  const family = new Set([pid]);
  for (let grown = true; grown; ) {
    const before = family.size;
    for (const { pid: own, parent } of processes) if (family.has(parent)) family.add(own);
    grown = family.size > before;
  }
  const ticks = processes.filter((one) => family.has(one.pid)).reduce((sum, one) => sum + one.ticks, 0);
  return (ticks * 1000) / TICKS_PER_SECOND;
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
