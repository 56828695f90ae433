import { readFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';

const maxTimes = 20;

/**
 * The limit of a measured time: `limitMs` while every process has a core, and proportionally longer
 * as more of them share one. Under load a test then measures Naru and not the host.
 */
export function scaledLimit(limitMs: number): number {
  return Math.round(limitMs * Math.min(maxTimes, Math.max(1, wanting() / availableParallelism())));
}

/** How many processes want a core, over the last minute or now. */
function wanting(): number {
  const [lastMinute = 0] = loadavg();
  return Math.max(lastMinute, runningNow());
}

function runningNow(): number {
  try {
    return Number.parseInt(readFileSync('/proc/loadavg', 'utf8').split(' ')[3] ?? '0', 10);
  } catch {
    return 0;
  }
}
