import type { Candidate } from '../catalogue/model.ts';
import { fiveMinutesMs, type HealthView, halfAnHourMs } from '../upstreams/health-status.ts';
import type { Percentiles } from '../upstreams/rolling-windows.ts';
import type { CompletionRequest } from '../wire/chat.ts';
import type { Cutoffs, Names, Preferences, Sort } from '../wire/preferences.ts';
import { placeIn } from './filter.ts';
import { costOfBoth } from './weighted-order.ts';

/** Why a candidate is tried later than its position. */
export type DemotionReason =
  | 'parameters_not_supported'
  | 'max_tokens_above_cap'
  | 'unsteady'
  | 'weight_zero'
  | 'too_slow'
  | 'cooling_down'
  | 'circuit_open';

/**
 * A higher rank is tried later. From `acrossModels` on, a candidate also comes after the models
 * behind its own.
 */
const ranks: Readonly<Record<DemotionReason, number>> = {
  parameters_not_supported: 1,
  max_tokens_above_cap: 1,
  unsteady: 2,
  weight_zero: 3,
  too_slow: 4,
  cooling_down: 5,
  circuit_open: 6,
};
const acrossModels = 4;

/**
 * Parameters without which the response is of another kind: candidates that ignore them are tried
 * last, as in OpenRouter.
 */
const reported = ['response_format', 'structured_outputs', 'verbosity'];

/** Why this candidate is demoted: the strongest reason, or null. */
export function demotionReason(
  request: CompletionRequest,
  candidate: Candidate,
  health: HealthView,
): DemotionReason | null {
  const status = health.statusOf(candidate.label);
  if (status.circuit === 'open' || status.circuit === 'probing') return 'circuit_open';
  if (status.coolingMs > 0) return 'cooling_down';
  if (isTooSlow(request.provider, candidate, health)) return 'too_slow';
  const { order } = request.provider;
  if (candidate.weight === 0 && (order === null || placeIn(order, candidate) === null)) return 'weight_zero';
  if (status.unsteady) return 'unsteady';
  if (request.maxTokens !== null && request.maxTokens > candidate.maxCompletionTokens)
    return 'max_tokens_above_cap';
  const known = candidate.supportedParameters;
  const lacks =
    known !== null && reported.some((name) => request.parameters[name] !== undefined && !known.has(name));
  return lacks ? 'parameters_not_supported' : null;
}

/** The rank of a reason among the candidates of the same model. */
export function rankInModel(why: DemotionReason | null): number {
  return why === null ? 0 : ranks[why];
}

/** The rank of a reason in the whole chain. */
export function rankInChain(why: DemotionReason | null): number {
  return why === null || ranks[why] < acrossModels ? 0 : ranks[why];
}

/** Candidates in the requested sort order, best first; unmeasured ones last. */
export function sorted(candidates: readonly Candidate[], sort: Sort, health: HealthView): Candidate[] {
  const measures = new Map(candidates.map((one) => [one, measureOf(sort, one, health)] as const));
  const of = (candidate: Candidate): number => measures.get(candidate) ?? 0;
  return [...candidates].sort((a, b) => of(a) - of(b));
}

/** Candidates that the request names first, in its order. */
export function namedFirst(candidates: readonly Candidate[], order: Names): readonly Candidate[] {
  return candidates
    .map((candidate) => ({ candidate, place: placeIn(order, candidate) ?? order.size }))
    .sort((a, b) => a.place - b.place)
    .map(({ candidate }) => candidate);
}

/** Lower is better. */
function measureOf(sort: Sort, candidate: Candidate, health: HealthView): number {
  switch (sort) {
    case 'price':
      return costOfBoth(candidate);
    case 'throughput':
      return -(health.of(candidate.label).throughput(halfAnHourMs)?.p50 ?? -1);
    case 'latency':
      return health.of(candidate.label).latency(halfAnHourMs)?.p50 ?? Number.MAX_SAFE_INTEGER;
  }
}

/** Compares the last five minutes. An unmeasured candidate is not considered slow. */
function isTooSlow(wanted: Preferences, { label }: Candidate, health: HealthView): boolean {
  const { preferredMinThroughput: least, preferredMaxLatency: most } = wanted;
  if (least === null && most === null) return false;
  const seen = health.of(label);
  return (
    misses(seen.throughput(fiveMinutesMs), least, (value, bound) => value < bound) ||
    misses(seen.latency(fiveMinutesMs), most, (value, bound) => value > bound)
  );
}

function misses(
  seen: Percentiles | null,
  cutoffs: Cutoffs | null,
  isBad: (value: number, bound: number) => boolean,
): boolean {
  if (seen === null || cutoffs === null) return false;
  for (const percentile of ['p50', 'p75', 'p90', 'p99'] as const) {
    const bound = cutoffs[percentile];
    if (bound !== undefined && isBad(seen[percentile], bound)) return true;
  }
  return false;
}
