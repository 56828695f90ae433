/**
 * What `npm run bench -- --record` measures of Naru without a comparison, each figure beside its
 * goal: idle, the stalls of the event loop, several workers, and what the other benches and drills
 * print.
 */
import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMsOf, memoryKbOf, shareKbOf } from './cpu.ts';
import { type Figure, tableOfGoals, type Wanted } from './goals.ts';
import { type Load, measures, sample } from './measure.ts';
import type { Ground } from './target.ts';
import { type NaruOptions, type NaruTarget, naruTarget } from './target-naru.ts';

const root = join(import.meta.dirname, '..');
const settleMs = 15_000;
const idleSeconds = 20;
const warmUpSeconds = 15;
const roundSeconds = 3;
const rounds = 3;
/** Ten samples of the delay a second: so many that one in a thousand is one. */
const stallSeconds = 100;
const streams = 5_000;

/** What `aloneTable` needs. */
export interface AloneGround {
  readonly upstreamPort: number;
  readonly directory: string;
  readonly load: Load;
}

/** The figures as a Markdown table. Takes about six minutes. */
export async function aloneTable(ground: AloneGround): Promise<string> {
  const figures = [
    ...(await servingFigures(ground)),
    ...(await workerFigures(ground)),
    ...(await startFigures()),
    ...(await streamFigures()),
  ];
  return tableOfGoals(figures);
}

/** Idle and stalls, of a server on one core. */
async function servingFigures({ load, ...ground }: AloneGround): Promise<readonly Figure[]> {
  const one = await startNaru(ground, 'one');
  try {
    const idle = await idleFigures(one);
    await cost(load, one, warmUpSeconds);
    const stall = await stallMs(load, one);
    return [
      ...idle,
      figure({ title: 'longest delay of a timer, p99.9, 1,000/s', unit: 'ms', atMost: 10 }, stall),
    ];
  } finally {
    await one.stop();
  }
}

/**
 * What a second worker adds, by the processor time of a request in each way. Both use all cores: two
 * workers on one would share its caches, and the time of both would rise by half.
 */
async function workerFigures({ load, ...ground }: AloneGround): Promise<readonly Figure[]> {
  const one = await startNaru(ground, 'one-worker', { usesAllCores: true });
  try {
    const two = await startNaru(ground, 'two-workers', { usesAllCores: true, workers: 2 });
    try {
      // Each worker optimizes its code by itself, with half of the requests.
      await cost(load, one, warmUpSeconds);
      await cost(load, two, 2 * warmUpSeconds);
      const least = { one: Number.POSITIVE_INFINITY, two: Number.POSITIVE_INFINITY };
      for (let round = 0; round < rounds; round += 1) {
        least.one = Math.min(least.one, await cost(load, one, roundSeconds));
        least.two = Math.min(least.two, await cost(load, two, roundSeconds));
      }
      return [
        figure(
          { title: 'two workers, by processor time', unit: '×', atLeast: 1.9 },
          (2 * least.one) / least.two,
        ),
      ];
    } finally {
      await two.stop();
    }
  } finally {
    await one.stop();
  }
}

async function startNaru(
  { upstreamPort, directory }: Ground,
  name: string,
  options: NaruOptions = {},
): Promise<NaruTarget> {
  const own = join(directory, name);
  await mkdir(own, { mode: 0o711 });
  return naruTarget({ upstreamPort, directory: own }, options);
}

function figure(wanted: Wanted, value: number): Figure {
  return { wanted, value };
}

async function idleFigures({ pid }: NaruTarget): Promise<readonly Figure[]> {
  await sleep(settleMs);
  const before = cpuMsOf(pid) ?? Number.NaN;
  await sleep(idleSeconds * 1000);
  const perSecond = ((cpuMsOf(pid) ?? Number.NaN) - before) / idleSeconds;
  return [
    figure({ title: 'processor time a second, idle, with PostgreSQL', unit: 'ms', atMost: 5 }, perSecond),
    figure({ title: 'memory, idle', unit: 'MB', atMost: 120 }, shareKbOf(pid) / 1000),
    figure({ title: 'memory, idle, with PostgreSQL', unit: 'MB', atMost: 150 }, memoryKbOf(pid) / 1000),
  ];
}

/** Processor time of a whole response, µs. */
async function cost(load: Load, target: NaruTarget, seconds: number): Promise<number> {
  const [whole] = measures(1);
  if (whole === undefined) throw new Error('there is no measure');
  return (await sample(load, target, whole, seconds)).cpuUs ?? Number.NaN;
}

/** The delay of a timer that 99.9 % do not exceed at 1,000 requests a second, by Naru's own metric. */
async function stallMs(load: Load, naru: NaruTarget): Promise<number> {
  const fast = measures(1).find(({ name }) => name === 'fast');
  if (fast === undefined) throw new Error('there is no measure');
  const before = await delays(naru);
  await sample(load, naru, fast, stallSeconds);
  const after = await delays(naru);
  const counts = after.map(({ boundSec, count }, at) => ({
    boundSec,
    count: count - (before[at]?.count ?? 0),
  }));
  const all = counts.at(-1)?.count ?? 0;
  return (counts.find(({ count }) => count >= 0.999 * all)?.boundSec ?? Number.NaN) * 1000;
}

/** The cumulative counts of the delays of timers; the last bound is infinite. */
async function delays({ adminPort }: NaruTarget) {
  const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  return [...text.matchAll(/^naru_event_loop_delay_seconds_bucket\{.*?le="([^"]+)".*\} (\d+)$/gm)].map(
    ([, bound, count]) => ({ boundSec: bound === '+Inf' ? Infinity : Number(bound), count: Number(count) }),
  );
}

async function startFigures(): Promise<readonly Figure[]> {
  const output = await outputOf(['bench/start.ts']);
  return [
    figure(
      { title: 'first start', unit: 'ms', atMost: 2_000 },
      numberIn(output, /^new data directory: +(\d+) ms/m),
    ),
    figure(
      { title: 'later start, median', unit: 'ms', atMost: 700 },
      numberIn(output, /^existing database:.*? median (\d+);/m),
    ),
  ];
}

async function streamFigures(): Promise<readonly Figure[]> {
  const output = await outputOf(['test/chaos/chaos.ts', '--only', 'streams']);
  const most = numberIn(output, /found (\d+) MB resident at most/);
  const before = numberIn(output, /resident at most \((\d+) before\)/);
  return [
    figure({ title: `memory, ${streams.toLocaleString('en')} open streams`, unit: 'MB', atMost: 350 }, most),
    figure({ title: 'memory of an open stream', unit: 'kB', atMost: 40 }, ((most - before) * 1000) / streams),
  ];
}

/** The standard output of one of our programs, whatever its exit code: missed goals are figures too. */
async function outputOf(command: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [...command], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  for await (const bytes of child.stdout) output += String(bytes);
  return output;
}

function numberIn(text: string, pattern: RegExp): number {
  return Number(pattern.exec(text)?.[1] ?? Number.NaN);
}
