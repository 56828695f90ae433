import { cpuMsOf } from './cpu.ts';
import type { LoadJob, LoadResult } from './load-run.ts';
import type { Target, Workload } from './target.ts';

/** One measurement for every target. */
export interface Measure {
  readonly name: 'whole' | 'unbuffered' | 'batched' | 'latency';
  readonly workload: Workload;
  /** What is counted: requests, or the content chunks of streams. */
  readonly unit: 'request' | 'chunk';
  readonly perSecond: number | null;
  /** Content chunks a stream; null for JSON responses. */
  readonly chunks: number | null;
}

/** One measurement of one target. */
export interface Sample {
  readonly target: string;
  readonly measure: Measure['name'];
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /**
   * Processor time of the target for each unit, and the share of its core; null without a target
   * process.
   */
  readonly cpuUs: number | null;
  readonly busy: number | null;
  readonly responses: number;
  readonly failures: number;
  readonly firstFailure: string | null;
}

/** Runs a job on the load generator. */
export type Load = (job: LoadJob) => Promise<LoadResult>;

const CONNECTIONS = 64;

/** What the benchmark measures, in order. `lowRate` is far below what any target can do. */
export function measures(chunks: number, lowRate: number): readonly Measure[] {
  const rate = (name: Workload, unit: Measure['unit'], count: number | null): Measure => ({
    name,
    workload: name,
    unit,
    perSecond: null,
    chunks: count,
  });
  return [
    rate('whole', 'request', null),
    rate('unbuffered', 'chunk', chunks),
    rate('batched', 'chunk', chunks),
    { name: 'latency', workload: 'whole', unit: 'request', perSecond: lowRate, chunks: null },
  ];
}

/** Measures one workload on one target for about `seconds`. */
export async function sample(load: Load, target: Target, measure: Measure, seconds: number): Promise<Sample> {
  const before = target.pid === null ? null : cpuMsOf(target.pid);
  const result = await load({
    ...target.jobOf(measure.workload),
    connections: CONNECTIONS,
    seconds,
    perSecond: measure.perSecond,
    chunks: measure.chunks,
  });
  const after = target.pid === null ? null : cpuMsOf(target.pid);
  const units = result.responses * (measure.chunks ?? 1);
  const cpuMs = before === null || after === null ? null : after - before;
  return {
    target: target.name,
    measure: measure.name,
    perSecond: (units * 1000) / result.elapsedMs,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    cpuUs: cpuMs === null ? null : (cpuMs * 1000) / units,
    busy: cpuMs === null ? null : cpuMs / result.elapsedMs,
    responses: result.responses,
    failures: result.failures,
    firstFailure: result.firstFailure,
  };
}
