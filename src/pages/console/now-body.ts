import { z } from 'zod';
import { centreOf } from '../../generations/analytics/histogram.ts';
import type { SlotStatus } from '../../slots/contract.ts';
import { isoOf } from '../../time/clock.ts';
import { instant } from '../shapes.ts';
import { candidateHealthShape, type FiguresOfProcess, liveStepMs, liveSteps } from './live-figures.ts';
import { slotReasonBody, slotReasonShape } from './slot-shape.ts';

/** What the processes of a server do at the moment. */
export const nowShape = z.strictObject({
  as_of: instant,
  processes: z.strictObject({
    responding: z.int().describe('The processes that these figures cover'),
    expected: z.int(),
  }),
  requests_per_second: z.number().describe('Over the last 10 s'),
  steps: z
    .array(z.strictObject({ start: instant, requests: z.int(), failures: z.int() }))
    .describe('Requests that ended in each 5 s of 5 minutes, without those in progress'),
  open_requests: z.int(),
  open_streams: z.int(),
  waiting_for_credit: z.int(),
  errors: z.array(z.strictObject({ type: z.string(), count: z.int() })).describe('Over 5 minutes'),
  first_tokens: z
    .array(
      z.strictObject({
        model: z.string(),
        provider: z.string(),
        count: z.int(),
        p50_ms: z.number(),
        p95_ms: z.number(),
      }),
    )
    .describe('The time to the first token of streams over 5 minutes'),
  candidates: z.array(candidateHealthShape).describe('The candidates that were used or are not healthy'),
  candidate_count: z.int(),
  slots: z.array(
    z.strictObject({
      name: z.string(),
      state: z.string(),
      reason: slotReasonShape,
      failures: z.int().describe('Consecutive starts that failed, and crashes'),
      in_flight: z.int(),
      queued: z.int(),
    }),
  ),
  journal_bytes: z.int(),
  backlog: z.int().describe('Settlements that are not in the database yet'),
  settlement_lag: z
    .strictObject({ count: z.int(), mean_ms: z.number(), max_ms: z.number() })
    .nullable()
    .describe('Over 5 minutes; null without a settlement'),
  quarantined: z.int().describe('Of all nodes together'),
  lost_nodes: z.int(),
});

const rateSteps = 2;

/** The figures of all processes together. */
export function nowBody(
  found: readonly FiguresOfProcess[],
  {
    size,
    slots,
    nowMs,
  }: { readonly size: number; readonly slots: readonly SlotStatus[]; readonly nowMs: number },
): z.input<typeof nowShape> {
  const all = found.map(({ figures }) => figures);
  const sum = (read: (one: (typeof all)[number]) => number): number =>
    all.reduce((total, one) => total + read(one), 0);
  const most = (read: (one: (typeof all)[number]) => number): number => Math.max(0, ...all.map(read));
  const steps = stepsOf(found, nowMs);
  const lately = steps.slice(-rateSteps).reduce((total, { requests }) => total + requests, 0);
  const lagCount = sum(({ lag }) => lag.count);
  return {
    as_of: isoOf(nowMs),
    processes: { responding: found.length, expected: size },
    requests_per_second: lately / ((rateSteps * liveStepMs) / 1000),
    steps,
    open_requests: sum((one) => one.openRequests),
    open_streams: sum((one) => one.openStreams),
    waiting_for_credit: sum((one) => one.waitingForCredit),
    errors: errorsOf(found),
    first_tokens: firstTokensOf(found),
    candidates: found.flatMap(({ worker, figures }) =>
      figures.candidates.map((candidate) => ({ ...candidate, worker })),
    ),
    candidate_count: most((one) => one.candidateCount),
    slots: slots.map(({ name, state, reason, failures, inFlight, queued }) => ({
      name,
      state,
      reason: slotReasonBody(reason),
      failures,
      in_flight: inFlight,
      queued,
    })),
    journal_bytes: sum((one) => one.journalBytes),
    backlog: sum((one) => one.backlog),
    settlement_lag:
      lagCount === 0
        ? null
        : {
            count: lagCount,
            mean_ms: sum(({ lag }) => lag.sumMs) / lagCount,
            max_ms: most(({ lag }) => lag.maxMs),
          },
    quarantined: most((one) => one.quarantined),
    lost_nodes: most((one) => one.lostNodes),
  };
}

/** Every complete step of the last minutes, also those without requests. */
function stepsOf(found: readonly FiguresOfProcess[], nowMs: number): z.input<typeof nowShape>['steps'] {
  const sums = new Map<number, { requests: number; failures: number }>();
  for (const { figures } of found)
    for (const { at, requests, failures } of figures.steps) {
      const step = sums.get(at) ?? { requests: 0, failures: 0 };
      step.requests += requests;
      step.failures += failures;
      sums.set(at, step);
    }
  const current = Math.floor(nowMs / liveStepMs) * liveStepMs;
  return Array.from({ length: liveSteps - 1 }, (_, step) => {
    const at = current - (liveSteps - 1 - step) * liveStepMs;
    return { start: isoOf(at), ...(sums.get(at) ?? { requests: 0, failures: 0 }) };
  });
}

function errorsOf(found: readonly FiguresOfProcess[]): z.input<typeof nowShape>['errors'] {
  const counts = new Map<string, number>();
  for (const { figures } of found)
    for (const [type, count] of Object.entries(figures.errors))
      counts.set(type, (counts.get(type) ?? 0) + count);
  return [...counts].map(([type, count]) => ({ type, count })).sort((a, b) => b.count - a.count);
}

/** Histograms of several processes add up, so the percentiles are those of all requests. */
function firstTokensOf(found: readonly FiguresOfProcess[]): z.input<typeof nowShape>['first_tokens'] {
  const all = found.flatMap(({ figures }) => figures.firstTokens);
  return [...Map.groupBy(all, ({ model, provider }) => `${model}\n${provider}`).values()].map((parts) => {
    const counts = new Map<number, number>();
    for (const { buckets } of parts)
      for (const [bucket, count] of buckets) counts.set(bucket, (counts.get(bucket) ?? 0) + count);
    const buckets = [...counts].sort(([a], [b]) => a - b);
    const count = buckets.reduce((total, [, n]) => total + n, 0);
    const at = (share: number): number => {
      let passed = 0;
      for (const [bucket, n] of buckets) {
        passed += n;
        if (passed >= Math.ceil(count * share)) return Math.round(centreOf(bucket));
      }
      return 0;
    };
    const [{ model, provider } = { model: '', provider: '' }] = parts;
    return { model, provider, count, p50_ms: at(0.5), p95_ms: at(0.95) };
  });
}
