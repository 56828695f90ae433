import { z } from 'zod';
import type { CandidateReport } from '../../routing/health-report.ts';

/**
 * What one process counts of the calls that it serves; plain JSON, so that it crosses processes.
 */
export interface LiveFigures {
  /**
   * Steps of 5 s with calls, the oldest first, over 5 minutes; `at` is the start, epoch
   * milliseconds.
   */
  readonly steps: readonly LiveStep[];
  /** Errors of 5 minutes by their type. */
  readonly errors: Readonly<Record<string, number>>;
  /**
   * Histograms of the time to the first token over 5 minutes, as `generations/analytics/histogram.ts` has.
   */
  readonly firstTokens: readonly {
    readonly model: string;
    readonly provider: string;
    readonly buckets: readonly (readonly [bucket: number, count: number])[];
  }[];
  /** Settlements that reached the database in 5 minutes, and how long after they were made. */
  readonly lag: { readonly count: number; readonly sumMs: number; readonly maxMs: number };
  readonly openRequests: number;
  readonly openStreams: number;
  readonly waitingForCredit: number;
  readonly journalBytes: number;
  /** Settlements in the journal that are not in the database. */
  readonly backlog: number;
  /** Problems that need an operator, of all nodes. */
  readonly quarantined: number;
  readonly lostNodes: number;
  /** The candidates that were used, or are not healthy. */
  readonly candidates: readonly CandidateReport[];
  /** The number of all candidates. */
  readonly candidateCount: number;
}

/** Calls that ended in one step. */
export interface LiveStep {
  readonly at: number;
  readonly requests: number;
  readonly failures: number;
}

/** The figures of the processes of a server; `worker` is null when one process does all. */
export interface FiguresOfProcess {
  readonly worker: number | null;
  readonly figures: LiveFigures;
}

/** The steps of `LiveFigures`. */
export const liveStepMs = 5_000;
export const liveSteps = 60;

const measured = z.number().nullable();
/** How a candidate does, as one process measured it. */
export const candidateHealthShape = z.strictObject({
  candidate: z.string(),
  worker: z.int().nullable().describe('The worker that measured; null: there is one process'),
  drained_for: z.array(z.string()).describe('The models for which this process sends it no new requests'),
  circuit: z.enum(['closed', 'due', 'probing', 'open']),
  failures_in_a_row: z.int(),
  probe_in_s: measured,
  cool_down_s: measured,
  attempts_30m: z.int(),
  uptime_30m: measured.describe('Percent'),
  latency_p50_ms: measured.describe('The time to the first content of a stream, over 30 minutes'),
  latency_p90_ms: measured,
  latency_p99_ms: measured,
  throughput_p50: measured.describe('Tokens per second'),
});
