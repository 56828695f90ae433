import type { LoadJob, LoadResult } from '../../../bench/load-run.ts';
import { median } from '../../../bench/median.ts';
import { requestBody } from '../../../bench/target.ts';
import { type GoalRun, type Outcome, outcome } from './goal.ts';
import { type Helper, startHelper } from './helper.ts';
import { pause, peakRss, rssMib, type Stage, startStage } from './stage.ts';

const model = 'bench/whole';
/**
 * So long that the usage which the upstream reports is plausible: with a shorter prompt each
 * response would be counted by the tokenizer's thread.
 */
const body = requestBody(model, false);

/** Rounds of the few and of the many clients in turn: a single one shows the state of the host. */
const maxRounds = 3;

/**
 * Ten times the saturating number of clients: throughput stays, memory is bounded, and it recovers
 * when they leave. The throughput is the median of the rounds, after one that warms the server up
 * with both numbers of clients: compiled for the one, it is slower with the other at first.
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
    const judge = async (
      how: string,
      run: (clients: number, s: number) => Promise<Throughput>,
    ): Promise<Outcome> => {
      for (const clients of [32, 320]) await run(clients, seconds);
      const few: Throughput[] = [];
      const many: Throughput[] = [];
      const { peak: rss } = await peakRss(stage.naru.pid, async () => {
        for (let round = 0; round < (quick ? 1 : maxRounds); round += 1) {
          few.push(await run(32, seconds));
          many.push(await run(320, seconds));
        }
      });
      const recovery = await untilCalm(kept, calm.p50Ms);
      const failures = [...few, ...many].reduce((sum, one) => sum + one.failures, 0);
      return judged(how, {
        peak: median(few.map((one) => one.perSecond)),
        got: median(many.map((one) => one.perSecond)),
        failures,
        rss,
        before,
        recovery,
      });
    };
    return [
      await judge('keep-alive', async (clients, s) => throughput(await kept(clients, s))),
      await judge('a new connection each', (clients, s) => burst(stage, clients, s)),
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

interface Throughput {
  /** Complete responses. */
  readonly perSecond: number;
  readonly failures: number;
}

function throughput({ responses, failures, elapsedMs }: LoadResult): Throughput {
  return { perSecond: ((responses - failures) * 1000) / elapsedMs, failures };
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
    body,
    connections,
    seconds,
    perSecond: null,
    chunks: null,
  };
  const response = load.next();
  load.send(JSON.stringify(job));
  return JSON.parse(await response);
}

async function burst({ naru, payers }: Stage, clients: number, seconds: number): Promise<Throughput> {
  const args = [naru.port, payers[0]?.keys[0]?.key, body, clients, seconds * 1000].map(String);
  const helper = await startHelper('test/chaos/goals/burst-child.ts', ...args);
  await helper.end();
  const { ok, other } = JSON.parse(helper.first);
  return { perSecond: ok / seconds, failures: other };
}
