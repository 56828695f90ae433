/**
 * `npm run bench:start [-- --starts N] [--naru FILE]`: the time from the command to `listening`, with
 * the launcher: once with a new data directory, then on the database of that. The processor time is
 * that of all its processes, PostgreSQL included. A FILE is the command of an installed release.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { familyProcessorSeconds } from '../test/harness/processor-time.ts';

interface Start {
  readonly tookMs: number;
  readonly processorMs: number;
}

/** The goals, in milliseconds. */
const goals = { first: 2000, later: 700 };

const { values } = parseArgs({
  options: {
    starts: { type: 'string', default: '10' },
    naru: { type: 'string', default: join(import.meta.dirname, '../bin/naru') },
  },
});
const folder = mkdtempSync(join(tmpdir(), 'naru-start-'));
// When we are root, PostgreSQL runs as another user, which must be able to get there.
chmodSync(folder, 0o755);
try {
  // The first start after a change also builds.
  await start(join(folder, 'built'));
  const dataDir = join(folder, 'data');
  const first = await start(dataDir);
  const later: Start[] = [];
  while (later.length < Number(values.starts)) later.push(await start(dataDir));
  console.log(`load average ${loadavg()[0]?.toFixed(1)}`);
  console.log(`new data directory: ${textOf([first])} (goal ${goals.first} ms)`);
  console.log(`existing database:  ${textOf(later)} (goal ${goals.later} ms)`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function start(dataDir: string): Promise<Start> {
  const usedBefore = familyProcessorSeconds() ?? Number.NaN;
  const beganMs = performance.now();
  const child = spawn(values.naru, ['up', '--json', '--port', '0', '--data-dir', dataDir], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'exit');
  try {
    for await (const line of createInterface(child.stdout)) {
      if (JSON.parse(line).event !== 'listening') continue;
      const tookMs = performance.now() - beganMs;
      return { tookMs, processorMs: ((familyProcessorSeconds() ?? Number.NaN) - usedBefore) * 1000 };
    }
    throw new Error(`${values.naru} ended before it listened`);
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

/** The least and the median of each. */
function textOf(starts: readonly Start[]): string {
  const figures = (numbers: readonly number[]): string => {
    const sorted = numbers.toSorted((one, other) => one - other);
    const median = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
    return `${sorted[0]?.toFixed(0)} ms, median ${median.toFixed(0)}`;
  };
  const processor = figures(starts.map(({ processorMs }) => processorMs));
  return `${figures(starts.map(({ tookMs }) => tookMs))}; processor ${processor}`;
}
