/**
 * The cost table: the processor time of a request by part, in µs.
 *
 *   npm run bench -- --costs [--seconds 5] [--chunks 100]
 *
 * Whole responses and streams, at saturation and at 1,000 requests a second. The process is pinned
 * to one core with its database, so that everything it does is in the table. The profiler itself
 * costs time: the sums are those of runs without it, the parts are shares of runs with it.
 */
import { freePort } from '../test/harness/free-port.ts';
import { threadTimes } from './cpu.ts';
import type { LoadJob, LoadResult } from './load-run.ts';
import { Inspector, type ProfileShares } from './profile.ts';
import type { Workload } from './target.ts';
import { naruTarget } from './target-naru.ts';

interface Column {
  readonly name: string;
  readonly workload: Workload;
  readonly perSecond: number | null;
  readonly chunks: number | null;
}

interface Measured {
  readonly column: Column;
  readonly requests: number;
  readonly mainUs: number;
  readonly threadsUs: number;
  readonly databaseUs: number;
  readonly shares: ProfileShares;
  readonly load: LoadResult;
}

/** What the cost table needs. */
export interface CostPlan {
  readonly upstreamPort: number;
  readonly directory: string;
  readonly seconds: number;
  readonly chunks: number;
  readonly load: (job: LoadJob) => Promise<LoadResult>;
  /** How many functions are listed below the table; 0 for none. */
  readonly functions: number;
}

/** Measures and returns the table as Markdown. Rejects when a request failed. */
export async function costs(plan: CostPlan): Promise<string> {
  const inspectPort = await freePort();
  const target = await naruTarget(plan, { inspectPort });
  try {
    const inspector = await Inspector.open(inspectPort);
    const columns: readonly Column[] = [
      { name: 'whole', workload: 'whole', perSecond: null, chunks: null },
      { name: 'whole, 1,000/s', workload: 'whole', perSecond: 1_000, chunks: null },
      {
        name: `stream of ${plan.chunks}, unbuffered`,
        workload: 'unbuffered',
        perSecond: null,
        chunks: plan.chunks,
      },
      {
        name: `stream of ${plan.chunks}, batched`,
        workload: 'batched',
        perSecond: null,
        chunks: plan.chunks,
      },
    ];
    const measured: Measured[] = [];
    for (const column of columns) measured.push(await measure(plan, target, inspector, column));
    inspector.close();
    return [tableOf(measured), ...(plan.functions > 0 ? [functionsOf(measured, plan.functions)] : [])].join(
      '\n\n',
    );
  } finally {
    await target.stop();
  }
}

async function measure(
  plan: CostPlan,
  target: Awaited<ReturnType<typeof naruTarget>>,
  inspector: Inspector,
  column: Column,
): Promise<Measured> {
  const pid = target.pid ?? 0;
  const { name, workload, ...rest } = column;
  const run = async (seconds: number): Promise<LoadResult> => {
    const result = await plan.load({ ...target.jobOf(workload), ...rest, connections: 64, seconds });
    if (result.failures > 0)
      throw new Error(`${name}: ${result.failures} failed, first: ${result.firstFailure}`);
    return result;
  };
  await run(2);
  const before = threadTimes(pid);
  const load = await run(plan.seconds);
  const after = threadTimes(pid);
  const { shares } = await inspector.profile(() => run(plan.seconds));
  const perRequest = (ms: number): number => (ms * 1000) / Math.max(1, load.responses);
  return {
    column,
    requests: load.responses,
    mainUs: perRequest(after.mainMs - before.mainMs),
    threadsUs: perRequest(after.otherThreadsMs - before.otherThreadsMs),
    databaseUs: perRequest(after.childrenMs - before.childrenMs),
    shares,
    load,
  };
}

function tableOf(measured: readonly Measured[]): string {
  const owners = [...new Set(measured.flatMap(({ shares }) => [...shares.owners.keys()]))];
  const us = (value: number): string => value.toPrecision(3);
  const rows = [
    ['', ...measured.map(({ column }) => column.name)],
    ['---', ...measured.map(() => '---:')],
    ['requests/s', ...measured.map(({ load }) => ((load.responses * 1000) / load.elapsedMs).toFixed(0))],
    ['p50, p99 ms', ...measured.map(({ load }) => `${load.p50Ms.toFixed(2)}, ${load.p99Ms.toFixed(1)}`)],
    ['**all, µs a request**', ...measured.map((one) => us(one.mainUs + one.threadsUs + one.databaseUs))],
    ['PostgreSQL', ...measured.map((one) => us(one.databaseUs))],
    ['other threads (collector, files)', ...measured.map((one) => us(one.threadsUs))],
    ['main thread', ...measured.map((one) => us(one.mainUs))],
    ...owners.map((owner) => [
      `· ${owner}`,
      ...measured.map((one) => us((one.shares.owners.get(owner) ?? 0) * one.mainUs)),
    ]),
  ];
  return rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function functionsOf(measured: readonly Measured[], count: number): string {
  return measured
    .map(({ column, shares, mainUs }) => {
      const lines = [...shares.functions].slice(0, count);
      return `${column.name}:\n${lines.map(([name, share]) => `${(share * mainUs).toFixed(2).padStart(8)} µs ${name}`).join('\n')}`;
    })
    .join('\n\n');
}
