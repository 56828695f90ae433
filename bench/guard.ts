/**
 * Fails when a request costs more processor time than it did: the short form of the bench.
 *
 *   npm run bench:guard [-- --record] [--rounds 12]
 *
 * Compares the processor time of Naru's main thread for a request with that of a bare `node:http`
 * and `undici` (`floor.ts`) in the same run, and the ratio with `baseline.json`. Time of the
 * processor, and not of the clock, so that other programs disturb it little; the best of short
 * alternating rounds of each, since what disturbs only adds. A ratio that is too high is measured
 * again. Exits 1 when it is more than 15 % above its baseline both times, or a request failed.
 * `--record` writes the baseline.
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Child, LOAD_CORE, startChild } from './child.ts';
import { threadTimes } from './cpu.ts';
import type { LoadResult } from './load-run.ts';
import { floorTarget, type Target, type Workload } from './target.ts';
import { naruTarget } from './target-naru.ts';

const maxRatioToBaseline = 1.15;
/** Content chunks a stream. */
const chunks = 50;
const workloads = ['whole', 'batched'] as const;
const connections = 32;
/** How many times a ratio must be too high. */
const maxPasses = 2;
const warmUpSeconds = 2;
const roundSeconds = 0.4;
const limitMs = 60_000;
const baselineFile = join(import.meta.dirname, 'baseline.json');

type Ratios = Readonly<Record<(typeof workloads)[number], number>>;

const { values } = parseArgs({
  options: { record: { type: 'boolean', default: false }, rounds: { type: 'string', default: '12' } },
});
process.exitCode = await guard(Number(values.rounds), values.record);

async function guard(rounds: number, record: boolean): Promise<number> {
  await using closing = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), 'naru-guard-'));
  closing.defer(() => rmSync(directory, { recursive: true, force: true }));
  // The embedded database may run as another user and must get through.
  chmodSync(directory, 0o711);
  const child = async (name: string, core: number, args: readonly string[]): Promise<Child> => {
    const [file = '', ...rest] = args;
    const command = [process.execPath, join(import.meta.dirname, file), ...rest];
    const started = await startChild({ name, command, core, ready: /:(\d+)$|^ready$/, limitMs });
    closing.defer(() => started.stop());
    return started;
  };
  const upstream = await child('upstream', LOAD_CORE, [
    '../test/harness/fast-upstream.ts',
    ...['--chunks', String(chunks)],
  ]);
  const upstreamPort = Number(upstream.started?.[1]);
  const generator = await child('load generator', LOAD_CORE, ['load.ts']);
  const floor = await floorTarget({ upstreamPort, directory });
  closing.defer(() => floor.stop());
  const naru = await naruTarget({ upstreamPort, directory });
  closing.defer(() => naru.stop());
  const run: Run = async (target, workload, seconds) => {
    const job = { ...target.jobOf(workload), connections, seconds, perSecond: null };
    const text = JSON.stringify({ ...job, chunks: workload === 'whole' ? null : chunks });
    const result = JSON.parse(await generator.request(text)) as LoadResult;
    if (result.failures > 0)
      throw new Error(`${target.name}: ${result.failures} failed: ${result.firstFailure}`);
    return result.responses;
  };
  const recorded = record ? null : (JSON.parse(readFileSync(baselineFile, 'utf8')) as Ratios);
  const ratios: Record<string, number> = {};
  for (const workload of workloads) {
    const limit = recorded === null ? Number.POSITIVE_INFINITY : recorded[workload] * maxRatioToBaseline;
    ratios[workload] = await ratioOf(run, { floor, naru }, { workload, rounds, limit });
  }
  if (recorded !== null) return report(ratios as Ratios, recorded);
  writeFileSync(baselineFile, `${JSON.stringify(ratios, null, 2)}\n`);
  return 0;
}

type Run = (target: Target, workload: Workload, seconds: number) => Promise<number>;

interface Compared {
  readonly floor: Target;
  readonly naru: Target;
}

interface Measured {
  readonly workload: (typeof workloads)[number];
  readonly rounds: number;
  /** A ratio above it is measured again. */
  readonly limit: number;
}

/** The processor time of Naru over that of the floor: of the first pass within the limit, or the lowest. */
async function ratioOf(
  run: Run,
  { floor, naru }: Compared,
  { workload, rounds, limit }: Measured,
): Promise<number> {
  let ratio = Number.POSITIVE_INFINITY;
  await run(floor, workload, warmUpSeconds / 2);
  await run(naru, workload, warmUpSeconds);
  for (let pass = 1; pass <= maxPasses && (pass === 1 || ratio > limit); pass += 1) {
    const best = { floor: Number.POSITIVE_INFINITY, naru: Number.POSITIVE_INFINITY };
    for (let round = 0; round < rounds; round += 1) {
      best.floor = Math.min(best.floor, await mainUs(run, floor, workload));
      best.naru = Math.min(best.naru, await mainUs(run, naru, workload));
    }
    const us = `${best.naru.toFixed(0)} µs of main thread a request, floor ${best.floor.toFixed(0)}`;
    print(`${workload}: ${us}`);
    ratio = Math.min(ratio, best.naru / best.floor);
  }
  return Number(ratio.toFixed(2));
}

/** The processor time of the main thread for a request, in one round. */
async function mainUs(run: Run, target: Target, workload: Workload): Promise<number> {
  const pid = target.pid ?? 0;
  const before = threadTimes(pid).mainMs;
  const responses = await run(target, workload, roundSeconds);
  return ((threadTimes(pid).mainMs - before) * 1000) / Math.max(1, responses);
}

function report(ratios: Ratios, baseline: Ratios): number {
  const worse = workloads.filter((name) => ratios[name] > baseline[name] * maxRatioToBaseline);
  for (const name of workloads) {
    const change = `${((ratios[name] / baseline[name] - 1) * 100).toFixed(0)} %`;
    const verdict = worse.includes(name) ? 'not ok' : 'ok';
    print(`${verdict}: ${name} costs ${ratios[name]} × the floor, baseline ${baseline[name]} (${change})`);
  }
  print(`load average ${(loadavg()[0] ?? 0).toFixed(1)}`);
  return worse.length === 0 ? 0 : 1;
}

function print(text: string): void {
  process.stdout.write(`guard: ${text}\n`);
}
