import { type Candidate, type Model, noDrains } from '../catalogue/model.ts';
import { refuse } from '../errors/catalogue.ts';
import { messages, rejectReasons } from '../errors/messages.ts';
import { type HealthView, noHealthData } from '../upstreams/health-status.ts';
import type { CompletionRequest } from '../wire/chat.ts';
import type { Names } from '../wire/preferences.ts';
import { contextMargin, type FilterContext, placeIn, type RejectReason, rejectReason } from './filter.ts';
import { type DemotionReason, demotionReason, namedFirst, rankInChain, rankInModel, sorted } from './rank.ts';
import { balanced, isShared } from './weighted-order.ts';

/**
 * The candidates of a request in the order in which they are tried, the rejected ones, and the
 * reasons. Each candidate is in exactly one list.
 */
export interface Plan {
  readonly chain: readonly Candidate[];
  readonly rejected: readonly { readonly candidate: Candidate; readonly why: RejectReason }[];
  /** Candidates of the chain that come later than their position would put them. */
  readonly demoted: readonly { readonly candidate: Candidate; readonly why: DemotionReason }[];
  /** What orders the other candidates. */
  readonly orderedBy: OrderingBasis;
}

/**
 * `file`: the order of the configuration; `weights` and `session`: drawn by weight and price, per
 * request or per session.
 */
export type OrderingBasis = 'file' | 'weights' | 'session' | 'order' | 'sort';

/** What a plan uses besides the request. */
export interface RoutingContext extends FilterContext {
  readonly health: HealthView;
  /** Draws the order of candidates with the same position: the same seed, the same order. */
  readonly seed: string;
  /** Whether the seed belongs to a session, which keeps its candidate. */
  readonly isSession: boolean;
}

/** Only the request: no health data, and nothing is drained. */
export const noCircumstances: RoutingContext = {
  promptTokens: 0,
  health: noHealthData,
  drains: noDrains,
  allowed: null,
  seed: '',
  isSession: false,
};

const nothing: readonly never[] = [];

/**
 * Orders the candidates of the requested models and drops those that cannot take the request before
 * anything is sent (spec:errors/4.5; docs/decisions/order-of-candidates.md). Pure. Health never
 * drops a candidate, it only demotes it.
 */
export function plan(request: CompletionRequest, models: readonly Model[], given: RoutingContext): Plan {
  const dropped: { candidate: Candidate; why: RejectReason }[] = [];
  const groups = models.map(({ candidates: all }) => {
    const able = all.filter((candidate) => {
      const why = rejectReason(request, candidate, given);
      if (why !== null) dropped.push({ candidate, why });
      return why === null;
    });
    return { all, able };
  });
  const [first] = groups;
  // Most requests have one candidate, and nothing to order.
  if (first !== undefined && groups.length === 1 && first.able.length <= 1 && request.provider.order === null)
    return { chain: first.able, rejected: dropped, demoted: nothing, orderedBy: 'file' };
  return inOrder(request, groups, given, dropped);
}

/** The chain of a plan; `404 no_endpoints_found` when every candidate was rejected. */
export function chainOf(request: CompletionRequest, planned: Plan): readonly Candidate[] {
  if (planned.chain.length > 0) return planned.chain;
  const reasons = [...new Set(planned.rejected.map(({ why }) => rejectReasons[why]))];
  throw refuse('no_endpoints_found', messages.noEndpointsFound(request.models, reasons), {
    models: request.models,
  });
}

/**
 * The count above which a prompt fits none of the models, where counting may stop; null when its
 * bytes alone show that it fits all of them, so that nothing needs to be counted.
 */
export function countingLimit(request: CompletionRequest, models: readonly Model[]): number | null {
  let maxContext = 0;
  let fits = true;
  for (const { candidates } of models) {
    for (const { contextLength } of candidates) {
      if (request.textBytes > contextLength) fits = false;
      if (contextLength > maxContext) maxContext = contextLength;
    }
  }
  return fits ? null : Math.ceil(maxContext * contextMargin);
}

interface Group {
  readonly all: readonly Candidate[];
  readonly able: readonly Candidate[];
}

function inOrder(
  request: CompletionRequest,
  groups: readonly Group[],
  given: RoutingContext,
  dropped: Plan['rejected'][number][],
): Plan {
  const { sort, sortAcrossModels, order, allowFallbacks } = request.provider;
  const reasons = new Map<Candidate, DemotionReason>();
  for (const { able } of groups) {
    for (const candidate of able) {
      const reason = demotionReason(request, candidate, given.health);
      if (reason !== null) reasons.set(candidate, reason);
    }
  }
  const isUnconstrained = reasons.size === 0 && sort === null && order === null && allowFallbacks;
  if (isUnconstrained && !groups.some(({ all }) => isShared(all)))
    return {
      chain: groups.flatMap(({ able }) => able),
      rejected: dropped,
      demoted: nothing,
      orderedBy: 'file',
    };
  const why = (candidate: Candidate): DemotionReason | null => reasons.get(candidate) ?? null;
  let isDrawn = false;
  const chain: Candidate[] = [];
  for (const { all, able } of sort !== null && sortAcrossModels ? [asOne(groups)] : groups) {
    const draws = sort === null && isShared(all);
    isDrawn ||= draws && order === null;
    const ordered =
      sort !== null ? sorted(able, sort, given.health) : draws ? balanced(all, able, given.seed) : able;
    const wanted = order === null ? ordered : namedFirst(ordered, order);
    const ranked = [...wanted].sort((a, b) => rankInModel(why(a)) - rankInModel(why(b)));
    const kept = allowFallbacks ? ranked : withoutFallbacks(ranked, order);
    chain.push(...kept);
    if (kept.length === ranked.length) continue;
    const left = order === null ? 'fallback_not_allowed' : 'not_in_order';
    const chosen = new Set(kept);
    for (const candidate of ranked) if (!chosen.has(candidate)) dropped.push({ candidate, why: left });
  }
  chain.sort((a, b) => rankInChain(why(a)) - rankInChain(why(b)));
  return {
    chain,
    rejected: dropped,
    demoted: demotedOf(chain, why),
    orderedBy: basisOf(request, isDrawn, given),
  };
}

function asOne(groups: readonly Group[]): Group {
  return { all: groups.flatMap(({ all }) => all), able: groups.flatMap(({ able }) => able) };
}

/** Without fallbacks only the first candidate is tried, or all that the request names. */
function withoutFallbacks(ranked: readonly Candidate[], order: Names | null): readonly Candidate[] {
  if (order === null) return ranked.slice(0, 1);
  return ranked.filter((candidate) => placeIn(order, candidate) !== null);
}

function demotedOf(
  chain: readonly Candidate[],
  why: (candidate: Candidate) => DemotionReason | null,
): Plan['demoted'] {
  return chain.flatMap((candidate) => {
    const reason = why(candidate);
    return reason === null ? [] : [{ candidate, why: reason }];
  });
}

function basisOf(
  { provider }: CompletionRequest,
  isDrawn: boolean,
  { isSession }: RoutingContext,
): OrderingBasis {
  if (provider.order !== null) return 'order';
  if (provider.sort !== null) return 'sort';
  if (!isDrawn) return 'file';
  return isSession ? 'session' : 'weights';
}

/**
 * The seed for the order of candidates with the same position: the session of an account, so that
 * its requests reach the prompt cache that they filled, else `fresh`, which is unique to the
 * request. A session is named by `session_id`, or as in OpenRouter by `prompt_cache_key`; two
 * accounts never share a session.
 */
export function seedOf(
  { sessionId, parameters }: Pick<CompletionRequest, 'sessionId' | 'parameters'>,
  accountId: number,
  fresh: string,
): Pick<RoutingContext, 'seed' | 'isSession'> {
  const session = sessionId ?? parameters['prompt_cache_key'];
  return typeof session === 'string' && session !== ''
    ? { seed: `${accountId}\0${session}`, isSession: true }
    : { seed: fresh, isSession: false };
}
