/**
 * What open dashboards cost a call: its p99 while ten are open, against none, in the same run.
 *
 *   npm run bench:dashboards -- [--rate 40] [--seconds 8] [--rounds 5] [--dashboards 10]
 *
 * Each dashboard follows the requests of the account that makes the calls, and reads the rows of its
 * overview when a browser does. Upstream, load and browsers are processes of their own. Rounds with
 * and without alternate, so that both see the same machine. Exits 1 when the median of the p99 differs by 10 % or more, or a call fails.
 */
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { serverVariable } from '../test/harness/database.ts';
import { startTestGateway } from '../test/harness/gateway.ts';
import { TestSessions } from '../test/harness/pages.ts';
import { startTestServer } from '../test/harness/test-server.ts';
import { type ChildSpec, LOAD_CORE, startChild } from './child.ts';
import type { OpenDashboards } from './dashboard-browsers.ts';
import type { LoadJob, LoadResult } from './load-run.ts';
import { median } from './median.ts';

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '40' },
    seconds: { type: 'string', default: '8' },
    rounds: { type: 'string', default: '5' },
    dashboards: { type: 'string', default: '10' },
  },
});
const [rate, seconds, rounds, dashboards] = [
  values.rate,
  values.seconds,
  values.rounds,
  values.dashboards,
].map(Number) as [number, number, number, number];
const maxDifference = 0.1;

const sessions = new TestSessions();
const server = await startTestServer((line) => console.error(line));
process.env[serverVariable] = JSON.stringify(server.connection);
const upstream = await startChild({
  ...beside('upstream', '../test/harness/fast-upstream.ts'),
  ready: /^listening on (.*)$/,
});
const gateway = await startTestGateway({
  sessions,
  models: [{ id: 'bench/model', upstreams: [`${upstream.started?.[1]}/whole`] }],
});
const account = await gateway.account({ credit: '100000000' });
const generator = await startChild(beside('load generator', 'load.ts'));
const browsers = await startChild(beside('browsers', 'dashboard-browsers.ts'));
try {
  process.exitCode = await measure();
} finally {
  await browsers.stop();
  await generator.stop();
  await gateway.close();
  await upstream.stop();
  await server.stop();
}

/** A program of this folder that shares the core that the gateway does not have. */
function beside(name: string, file: string): ChildSpec {
  const command = [process.execPath, join(import.meta.dirname, file)];
  return { name, command, core: LOAD_CORE, ready: /^ready$/, limitMs: 20_000 };
}

async function measure(): Promise<number> {
  await load(Math.min(3, seconds));
  const without: LoadResult[] = [];
  const withTen: LoadResult[] = [];
  for (let round = 0; round < rounds; round += 1) {
    without.push(await load(seconds));
    await openDashboards();
    withTen.push(await load(seconds));
    await browsers.request('close');
  }
  const failures = [...without, ...withTen].reduce((sum, result) => sum + result.failures, 0);
  const p99 = (results: readonly LoadResult[]): number => median(results.map(({ p99Ms }) => p99Ms));
  const difference = p99(withTen) / p99(without) - 1;
  console.log(
    `${rate} calls/s, ${rounds} rounds of ${seconds} s; load average ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} cores`,
  );
  console.log(
    `p50  none ${ms(median(without.map(({ p50Ms }) => p50Ms)))}  with ${dashboards} dashboards ${ms(median(withTen.map(({ p50Ms }) => p50Ms)))}`,
  );
  console.log(`p99  none ${ms(p99(without))}  with ${dashboards} dashboards ${ms(p99(withTen))}`);
  console.log(
    `p99 with / without ${(difference + 1).toFixed(3)}: a difference of ${(difference * 100).toFixed(1)} %  (goal: below ${maxDifference * 100} %)`,
  );
  const ratios = without.map(({ p99Ms }, round) => (withTen[round]?.p99Ms ?? Number.NaN) / p99Ms);
  console.log(`by round ${ratios.map((ratio) => ratio.toFixed(3)).join('  ')}`);
  if (failures > 0) console.log(`not ok: ${failures} calls failed`);
  return failures === 0 && difference < maxDifference ? 0 : 1;
}

async function load(forSeconds: number): Promise<LoadResult> {
  const job: LoadJob = {
    port: Number(new URL(gateway.origin).port),
    path: '/api/v1/chat/completions',
    headers: { authorization: `Bearer ${account.key}` },
    body: JSON.stringify({ model: 'bench/model', messages: [{ role: 'user', content: 'hello' }] }),
    connections: 20,
    seconds: forSeconds,
    perSecond: rate,
    chunks: null,
  };
  return JSON.parse(await generator.request(JSON.stringify(job))) as LoadResult;
}

/** One session for each dashboard. */
async function openDashboards(): Promise<void> {
  const tokens = Array.from({ length: dashboards }, () => sessions.owner(account.accountId));
  await browsers.request(JSON.stringify({ origin: gateway.origin, tokens } satisfies OpenDashboards));
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`;
}
