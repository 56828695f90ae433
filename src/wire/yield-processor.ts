import { getPriority, platform, setPriority } from 'node:os';

/** A third of the processor time of the thread it was, where both want the same processor. */
const niceness = 5;
const maxNiceness = 19;

/**
 * Lets the threads of requests run before the calling one, which does long work for some of them.
 * Linux has a priority for each thread; elsewhere it would be that of the whole process.
 */
export function yieldProcessor(): void {
  if (platform() !== 'linux') return;
  try {
    setPriority(0, Math.min(maxNiceness, getPriority(0) + niceness));
  } catch {
    // A sandbox may forbid it: the thread works all the same.
  }
}
