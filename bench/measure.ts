import { cpuMsOf } from './cpu.ts';
import type { LoadJob, LoadResult } from './load-run.ts';
import type { Target, Workload } from './target.ts';

/** As many requests as 64 connections can do. */
export type RateName = 'whole' | 'unbuffered' | 'batched';

/** One measurement for every target. */
export interface Measure {
  readonly name: RateName | 'fast';
  readonly workload: Workload;
  /** What is counted: requests, or the content chunks of streams. */
  readonly unit: 'request' | 'chunk';
  /** Evenly spaced, whatever the target does (an open loop); null for as many as 64 connections can do. */
  readonly perSecond: number | null;
  /** Content chunks a stream; null for JSON responses. */
  readonly chunks: number | null;
}

/** One measurement of one target. */
export interface Sample {
  readonly target: string;
  readonly measure: Measure['name'];
  readonly perSecond: number;
  /** Whether nearly all requests of an open loop were answered in its time. */
  readonly keptPace: boolean;
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
/** Below this share of the requests that were due, the target was overloaded. */
const MIN_PACE = 0.95;

/** Requests a second of `fast`. */
export const fastPerSecond = 1_000;

/** What the benchmark measures, in order. */
export function measures(chunks: number): readonly Measure[] {
  const rate = (name: RateName, unit: Measure['unit'], count: number | null): Measure => ({
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
    { name: 'fast', workload: 'whole', unit: 'request', perSecond: fastPerSecond, chunks: null },
  ];
}

/** Measures one workload on one target for about `seconds`. */
export async function sample(load: Load, target: Target, measure: Measure, seconds: number): Promise<Sample> {
  const wanted = measure.perSecond;
  const before = target.pid === null ? null : cpuMsOf(target.pid);
  const result = await load({
    ...target.jobOf(measure.workload),
    connections: CONNECTIONS,
    seconds,
    perSecond: wanted,
    chunks: measure.chunks,
  });
  const after = target.pid === null ? null : cpuMsOf(target.pid);
  const units = result.responses * (measure.chunks ?? 1);
  const cpuMs = before === null || after === null ? null : after - before;
  return {
    target: target.name,
    measure: measure.name,
    perSecond: (units * 1000) / result.elapsedMs,
    keptPace: wanted === null || result.responses >= wanted * seconds * MIN_PACE,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    cpuUs: cpuMs === null ? null : (cpuMs * 1000) / units,
    busy: cpuMs === null ? null : cpuMs / result.elapsedMs,
    responses: result.responses,
    failures: result.failures,
    firstFailure: result.firstFailure,
  };
}
