import type { LoadJob, LoadResult } from '../../../bench/load-run.ts';
import { type GoalRun, type Outcome, outcome } from './goal.ts';
import { type Helper, startHelper } from './helper.ts';
import { pause, peakRss, rssMib, type Stage, startStage } from './stage.ts';

const model = 'bench/whole';

/**
 * Ten times the saturating number of clients: throughput stays, memory is bounded, and it recovers
 * when they leave.
 */
export async function overload({ quick }: GoalRun): Promise<readonly Outcome[]> {
  const upstream = await startHelper('test/harness/fast-upstream.ts');
  const origin = upstream.first.replace('listening on ', '');
  const load = await startHelper('bench/load.ts');
  const stage = await startStage({ database: 'embedded', beside: { [model]: `${origin}/whole/v1` } });
  const seconds = quick ? 3 : 10;
  try {
    const kept = (clients: number, s: number): Promise<LoadResult> => send(load, stage, clients, s);
    await kept(32, 3);
    const calm = await kept(1, 2);
    const before = rssMib(stage.naru.pid);
    const peak = rate(await kept(32, seconds));
    const freshPeak = await burst(stage, 32, seconds);
    const many = await peakRss(stage.naru.pid, () => kept(320, seconds));
    const recovery = await untilCalm(kept, calm.p50Ms);
    const freshMany = await peakRss(stage.naru.pid, () => burst(stage, 320, seconds));
    const freshRecovery = await untilCalm(kept, calm.p50Ms);
    return [
      judged('keep-alive', {
        peak,
        got: rate(many.result),
        failures: many.result.failures,
        rss: many.peak,
        before,
        recovery,
      }),
      judged('a new connection each', {
        peak: freshPeak.perSecond,
        got: freshMany.result.perSecond,
        failures: freshMany.result.other,
        rss: freshMany.peak,
        before,
        recovery: freshRecovery,
      }),
    ];
  } finally {
    await stage.end();
    await load.end();
    await upstream.end();
  }
}

interface Figures {
  readonly peak: number;
  readonly got: number;
  readonly failures: number;
  readonly rss: number;
  readonly before: number;
  readonly recovery: number;
}

function judged(how: string, { peak, got, failures, rss, before, recovery }: Figures): Outcome {
  const share = (100 * got) / peak;
  const faults = [
    ...(share >= 90 ? [] : [`goodput is ${share.toFixed(0)} % of the peak`]),
    ...(failures === 0 ? [] : [`${failures} requests failed`]),
    ...(rss <= 512 ? [] : [`${rss} MiB resident`]),
    ...(recovery <= 5_000 ? [] : [`latency is not back after ${Math.round(recovery)} ms`]),
  ];
  const found = `${Math.round(got)}/s of ${Math.round(peak)}/s (${share.toFixed(0)} %), ${rss} MiB (before ${before}), latency normal after ${(recovery / 1000).toFixed(1)} s`;
  const wanted = 'goodput ≥ 90 % of peak (32 clients), ≤ 512 MiB, latency back in 5 s';
  return outcome(`overload: 320 clients, ${how}`, wanted, found, faults);
}

/** Until single requests take about as long as before, milliseconds; probes of half a second. */
async function untilCalm(
  kept: (clients: number, s: number) => Promise<LoadResult>,
  calmMs: number,
): Promise<number> {
  const beganMs = performance.now();
  for (;;) {
    const atMs = performance.now() - beganMs;
    const { p50Ms } = await kept(1, 0.4);
    if (p50Ms <= calmMs * 1.5 + 1) return atMs;
    if (atMs > 20_000) return atMs;
    await pause(100);
  }
}

function rate({ responses, failures, elapsedMs }: LoadResult): number {
  return ((responses - failures) * 1000) / elapsedMs;
}

async function send(
  load: Helper,
  { naru, payers }: Stage,
  connections: number,
  seconds: number,
): Promise<LoadResult> {
  const job: LoadJob = {
    port: naru.port,
    path: '/api/v1/chat/completions',
    headers: { authorization: `Bearer ${payers[0]?.keys[0]?.key}` },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] }),
    connections,
    seconds,
    perSecond: null,
    chunks: null,
  };
  const response = load.next();
  load.send(JSON.stringify(job));
  return JSON.parse(await response);
}

async function burst(
  { naru, payers }: Stage,
  clients: number,
  seconds: number,
): Promise<{ readonly perSecond: number; readonly other: number }> {
  const args = [naru.port, payers[0]?.keys[0]?.key, model, clients, seconds * 1000].map(String);
  const helper = await startHelper('test/chaos/goals/burst-child.ts', ...args);
  await helper.end();
  const { ok, other } = JSON.parse(helper.first);
  return { perSecond: ok / seconds, other };
}
