import { readdirSync, readFileSync } from 'node:fs';

/**
 * The processor time of this process and of all that it started and waited for, in seconds; null
 * where the system does not report it.
 */
export function processorSeconds(): number | null {
  return secondsOf('self');
}

/**
 * The same with all descendants that still run: the windows of a browser are processes that nobody
 * waits for. Those of them that ended since are missing.
 */
export function familyProcessorSeconds(): number | null {
  const own = processorSeconds();
  return own === null ? null : own + secondsOfDescendants('self');
}

function secondsOfDescendants(process: string): number {
  return childrenOf(process).reduce(
    (sum, child) => sum + (secondsOf(child) ?? 0) + secondsOfDescendants(child),
    0,
  );
}

function secondsOf(process: string): number | null {
  try {
    const fields = readFileSync(`/proc/${process}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    // utime, stime, cutime and cstime, in hundredths of a second.
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) / 100, 0);
  } catch {
    return null;
  }
}

function childrenOf(process: string): readonly string[] {
  try {
    return readdirSync(`/proc/${process}/task`).flatMap((thread) =>
      readFileSync(`/proc/${process}/task/${thread}/children`, 'utf8')
        .split(' ')
        .filter((child) => child !== ''),
    );
  } catch {
    return [];
  }
}
