import { readFileSync } from 'node:fs';

/**
 * The processor time of this process and of all that it started and waited for, in seconds; null
 * where the system does not report it.
 */
export function processorSeconds(): number | null {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    // utime, stime, cutime and cstime, in hundredths of a second.
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) / 100, 0);
  } catch {
    return null;
  }
}
