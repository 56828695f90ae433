import type { Candidate, Model } from '../catalogue/model.ts';
import { rejectReasons } from '../errors/messages.ts';
import { type Rate, rateOfPico, rateToDecimal } from '../money/price.ts';
import { isoOf } from '../time/clock.ts';
import { type HealthStatus, halfAnHourMs } from '../upstreams/health-status.ts';
import type { CompletionRequest } from '../wire/chat.ts';
import { placeIn, type RejectReason } from './filter.ts';
import type { OrderingBasis, Plan, RoutingContext } from './plan.ts';
import type { DemotionReason } from './rank.ts';
import { sharesOf } from './weighted-order.ts';

/** Which candidate would handle a request, and why: the result of `naru route explain`. */
export interface Explanation {
  readonly models: readonly string[];
  readonly by: OrderingBasis;
  /** Those that are tried, in order, then the others. */
  readonly candidates: readonly ExplainedCandidate[];
}

/** One candidate and the reason for its position. */
export interface ExplainedCandidate {
  /** From 1; null: it is not tried. */
  readonly place: number | null;
  readonly model: string;
  readonly candidate: string;
  readonly provider: string;
  /** Why it is not tried, or demoted; null when neither. */
  readonly reason: RejectReason | DemotionReason | null;
  /** A complete sentence, without the full stop. */
  readonly why: string;
}

/** Where the health data comes from: the running server, or nowhere. */
export type Knowledge = 'live' | 'none';

/** Explains a plan: one sentence for each candidate, with the figures that decided. Pure. */
export function explainPlan(
  request: CompletionRequest,
  models: readonly Model[],
  planned: Plan,
  given: RoutingContext & { readonly knowledge: Knowledge },
): Explanation {
  const explained = { request, models, planned, given };
  const demoted = new Map(planned.demoted.map(({ candidate, why }) => [candidate, why] as const));
  const kept = planned.chain.map((candidate, at) => {
    const reason = demoted.get(candidate) ?? null;
    const name = `${nameOf(explained, candidate)} ${ordinal(at + 1)}`;
    const because =
      reason === null ? orderReason(explained, candidate, at) : demotedReason(explained, candidate, reason);
    return rowOf(candidate, at + 1, reason, `${name}: ${because}`);
  });
  const dropped = planned.rejected.map(({ candidate, why }) =>
    rowOf(
      candidate,
      null,
      why,
      `${nameOf(explained, candidate)} is skipped: ${rejectedReason(explained, candidate, why)}`,
    ),
  );
  return { models: request.models, by: planned.orderedBy, candidates: [...kept, ...dropped] };
}

interface ExplainContext {
  readonly request: CompletionRequest;
  readonly models: readonly Model[];
  readonly planned: Plan;
  readonly given: RoutingContext & { readonly knowledge: Knowledge };
}

function rowOf(
  { modelId: model, label: candidate, providerTag: provider }: Candidate,
  place: number | null,
  reason: RejectReason | DemotionReason | null,
  why: string,
): ExplainedCandidate {
  return { place, model, candidate, provider, reason, why };
}

/** With its model when the request names several. */
function nameOf({ models }: ExplainContext, { label, modelId }: Candidate): string {
  return models.length > 1 ? `${label} (${modelId})` : label;
}

function orderReason(explained: ExplainContext, candidate: Candidate, at: number): string {
  return `${healthText(explained, candidate)}, and ${positionText(explained, candidate, at)}; ${priceText(candidate)}`;
}

/** What determines its position. */
function positionText(explained: ExplainContext, candidate: Candidate, at: number): string {
  const { request, models, planned, given } = explained;
  const { chain } = planned;
  if (chain.length === 1) return 'it is the only eligible candidate';
  const before = chain[at - 1];
  const isFirstOfModel = before?.modelId !== candidate.modelId;
  switch (planned.orderedBy) {
    case 'order':
      return request.provider.order !== null && placeIn(request.provider.order, candidate) !== null
        ? '`provider.order` puts it here'
        : '`provider.order` does not name it, so it is a fallback';
    case 'sort':
      return sortText(explained, candidate, at);
    default: {
      if (at > 0 && isFirstOfModel) return `its model comes after ${before?.modelId ?? ''}`;
      const all = models.find(({ id }) => id === candidate.modelId)?.candidates ?? [];
      const able = chain.filter((one) => one.modelId === candidate.modelId);
      const share = sharesOf(all, able).get(candidate) ?? 1;
      if (share < 1) {
        const draws = given.isSession ? 'this session keeps its order' : 'drawn for each request';
        return `by weight and price it comes first for ${percent(share)} of requests (${draws})`;
      }
      return at === 0 || isFirstOfModel
        ? 'it is first in the configuration'
        : 'it is next in the configuration';
    }
  }
}

function sortText({ request, given }: ExplainContext, { label }: Candidate, at: number): string {
  const seen = given.health.of(label);
  const by = request.provider.sort ?? 'price';
  if (by === 'price') return at === 0 ? 'it is the cheapest' : 'it is the next by price';
  const median = by === 'throughput' ? seen.throughput(halfAnHourMs)?.p50 : seen.latency(halfAnHourMs)?.p50;
  if (median === undefined) return `its ${by} was not measured in the last 30 min`;
  const figure =
    by === 'throughput' ? `${number(median)} tokens a second` : `${number(median)} ms to the first token`;
  if (at > 0) return `it is the next by ${by} (${figure})`;
  return by === 'throughput' ? `it is the fastest (${figure})` : `it is the quickest (${figure})`;
}

function healthText({ given }: ExplainContext, { label }: Candidate): string {
  if (given.knowledge === 'none') return 'its health is unknown';
  const status = given.health.statusOf(label);
  if (status.circuit === 'due') return `${circuitText(status)}, and the next request probes it`;
  if (status.circuit !== 'closed') return circuitText(status);
  if (status.coolingMs > 0) return coolingText(status);
  const seen = given.health.of(label);
  const uptime = seen.uptime(halfAnHourMs);
  if (uptime === null) return 'it has no known problem (no attempt in 30 min)';
  const figures = `${number(uptime)} % of ${number(seen.attempts(halfAnHourMs))} in 30 min`;
  if (uptime >= 80) return `it is healthy (${figures})`;
  if (status.failures === 0) return `it is up again (${figures})`;
  const last = status.failures === 1 ? 'attempt' : `${number(status.failures)} attempts`;
  return `its last ${last} failed (${figures})`;
}

/** Why it was demoted. */
function demotedReason(
  { request, given }: ExplainContext,
  candidate: Candidate,
  reason: DemotionReason,
): string {
  const status = given.health.statusOf(candidate.label);
  switch (reason) {
    case 'circuit_open':
      return status.circuit === 'probing'
        ? `${circuitText(status)}, and a request probes it right now`
        : `${circuitText(status)}, probe in ${seconds(status.probeInMs)}`;
    case 'cooling_down':
      return coolingText(status);
    case 'too_slow':
      return `it is slower than the request prefers: ${speedText(given, candidate)}`;
    case 'weight_zero':
      return 'its weight is 0: it is tried last';
    case 'unsteady':
      return 'in the last 30 s it failed at least as often as it succeeded';
    case 'max_tokens_above_cap':
      return `it generates at most ${number(candidate.maxCompletionTokens)} tokens, and ${number(request.maxTokens ?? 0)} are requested`;
    case 'parameters_not_supported':
      return 'it ignores a parameter that changes the response';
  }
}

function rejectedReason({ given }: ExplainContext, candidate: Candidate, why: RejectReason): string {
  if (why === 'context_too_small')
    return `its context of ${number(candidate.contextLength)} is smaller than the prompt's ${number(given.promptTokens)} tokens`;
  if (why === 'above_max_price') return `${priceText(candidate)} is more than \`provider.max_price\` allows`;
  return rejectReasons[why].en;
}

function circuitText({ openedAtMs, failures }: HealthStatus): string {
  const since = openedAtMs === null ? '' : ` since ${seoulTime(openedAtMs)} KST`;
  return `its circuit is open${since} (${number(failures)} failures in a row)`;
}

function coolingText({ coolingMs }: HealthStatus): string {
  return `it is rate-limited, ${seconds(coolingMs)} of its cool-down are left`;
}

function speedText({ health }: RoutingContext, { label }: Candidate): string {
  const seen = health.of(label);
  const throughput = seen.throughput(halfAnHourMs)?.p50;
  const latency = seen.latency(halfAnHourMs)?.p50;
  const figures = [
    throughput === undefined ? null : `${number(throughput)} tokens a second`,
    latency === undefined ? null : `${number(latency)} ms to the first token`,
  ].filter((part) => part !== null);
  return `${figures.join(', ')} (median)`;
}

function priceText({ price }: Candidate): string {
  return `₩${perThousand(price.prompt)} + ₩${perThousand(price.completion)} per 1,000 tokens`;
}

function perThousand(rate: Rate): string {
  return rateToDecimal(rateOfPico(rate * 1000n));
}

function ordinal(place: number): string {
  const named = ['is first', 'is second', 'is third', 'is fourth', 'is fifth', 'is sixth'];
  return named[place - 1] ?? `is number ${place}`;
}

function number(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 2 : 1 });
}

function percent(share: number): string {
  return `${number(share * 100)} %`;
}

function seconds(ms: number): string {
  return `${number(Math.ceil(ms / 1000))} s`;
}

/** The time of day in Seoul. */
function seoulTime(epochMs: number): string {
  return isoOf(epochMs + 9 * 3_600_000).slice(11, 19);
}
