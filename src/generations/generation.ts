import type { ParameterChange } from '../dialects/dialect.ts';
import { krwOfMicro, krwToDecimal, krwToNumber } from '../money/krw.ts';
import type { GenerationRow } from '../store/generation-row.ts';
import { isoOf } from '../time/clock.ts';
import type { GenerationUuid } from '../wire/ids/generation-id.ts';
import { generationIdOf } from '../wire/ids/generation-id.ts';
import { webAddress } from './apps.ts';
import type { App } from './apps-sql.ts';

/** One attempt at one candidate, in order; `status` is null when the candidate gave none. */
export interface AttemptRecord {
  readonly provider_name: string;
  readonly model_permaslug: string;
  readonly endpoint_id: string;
  readonly status: number | null;
  /** Milliseconds until it responded or failed. */
  readonly latency: number;
  readonly is_byok: false;
  /**
   * Milliseconds since the request arrived: the attempt began, it had a provider or a lane of a slot,
   * it had a connection, the head of the response arrived; up to the first part that did not end.
   */
  readonly at: readonly number[];
  /** Why it failed; absent for the attempt that gave the response. */
  readonly failure?: string;
  /** The upstream's own sentence about it, fit for the client; absent: it sent none. */
  readonly message?: string;
  /** The parameters that were not sent as the client stated them; absent when all were. */
  readonly parameter_changes?: readonly ParameterChange[];
}

/**
 * Why the candidates were tried in this order. A candidate is the number of its model in
 * `requested_models`, and its label.
 */
export interface RouteRecord {
  readonly by: string;
  readonly chain: readonly (readonly [model: number, label: string])[];
  /** Candidates that were demoted, with the reason. */
  readonly held: readonly (readonly [model: number, label: string, why: string])[];
  /** Candidates that were not tried, with the reason. */
  readonly dropped: readonly (readonly [model: number, label: string, why: string])[];
}

/**
 * The part of a generation's record that is never summed or searched. Stored as JSON. Contains no
 * text of prompt or response, except what an upstream's sentence about its failure repeats.
 */
export interface GenerationDetail {
  readonly request_id: string;
  readonly api_type: 'completions';
  readonly endpoint: 'chat' | 'text';
  readonly requested_models?: readonly string[];
  readonly streamed?: boolean;
  readonly cancelled?: boolean;
  readonly upstream_id?: string | null;
  readonly native_finish_reason?: string | null;
  readonly reasoning_tokens?: number;
  readonly cache_read_tokens?: number;
  readonly cache_write_tokens?: number;
  /** Of these, the tokens written for an hour; absent: none. */
  readonly cache_write_1h_tokens?: number;
  /**
   * The tier by whose rates it was billed; null: the upstream reported one that the price has no row
   * for, so the ordinary rates; absent: the ordinary service.
   */
  readonly billed_tier?: string | null;
  /**
   * The source of the billed counts: the upstream's usage, or our own count, either without a usage
   * or instead of an absurd one (spec:money/4.8,4.9).
   */
  readonly usage_source?: 'upstream' | 'counted' | 'rejected';
  readonly latency_ms?: number | null;
  readonly generation_ms?: number | null;
  readonly media_parts?: number;
  /**
   * Members of the request that Naru does not know, or that state a default; absent when there are
   * none.
   */
  readonly ignored_parameters?: readonly string[];
  /** Kinds of parts of the response that were not passed on; absent when there are none. */
  readonly dropped_parts?: readonly string[];
  /** What the error of a refused request said; absent: it was not refused, or only counted. */
  readonly error_message?: string;
  /**
   * Of a record of refusals: how many requests of the key were refused for the same cause within
   * one second.
   */
  readonly refusals?: number;
  /** The later requests that it counts, up to 32 of them. */
  readonly refused_request_ids?: readonly string[];
  /**
   * How long it waited until requests of its account or key had settled; absent when it did not
   * wait.
   */
  readonly admission_wait_ms?: number;
  readonly service_tier?: string | null;
  readonly attempts?: readonly AttemptRecord[];
  /** Absent when the candidates were tried in the order of the configuration, and all were able. */
  readonly route?: RouteRecord;
  readonly http_referer?: string | null;
  readonly title?: string | null;
  readonly user_agent?: string | null;
  /** The app of the three members above (`resolveApp`). */
  readonly app?: App | null;
  readonly external_user?: string | null;
  /** The texts of the request's `metadata`, by `tagMember`; absent: none. */
  readonly metadata?: Readonly<Record<string, string>>;
  readonly session_id?: string | null;
}

/**
 * The member of a tag in `metadata`. The name is the client's: as it is, it could be that of another
 * member, of which records are summed by text (`detailMember`).
 */
export function tagMember(name: string): string {
  return `$${name}`;
}

/** The texts of a request's `metadata`. */
export function tagsOf({ metadata = {} }: Pick<GenerationDetail, 'metadata'>) {
  return Object.entries(metadata).map(([member, value]) => ({ name: member.slice(1), value }));
}

/**
 * The public record of a generation (`GET /generation`): every field that OpenRouter's clients
 * require.
 */
export function generationBody(row: GenerationRow): object {
  const detail = JSON.parse(row.detail) as GenerationDetail;
  const cost = krwToNumber(krwOfMicro(row.cost));
  return {
    id: generationIdOf(row.uuid as GenerationUuid),
    upstream_id: detail.upstream_id ?? null,
    request_id: detail.request_id,
    session_id: detail.session_id ?? null,
    created_at: isoOf(row.createdAtMs),
    model: row.model ?? detail.requested_models?.[0] ?? '',
    provider_name: row.provider,
    router: null,
    app_id: detail.app?.id ?? null,
    preset_id: null,
    workspace_id: null,
    external_user: detail.external_user ?? null,
    origin: originOf(detail.http_referer ?? null),
    http_referer: detail.http_referer ?? null,
    app_title: detail.title ?? detail.app?.name ?? null,
    user_agent: detail.user_agent ?? null,
    streamed: detail.streamed ?? null,
    cancelled: detail.cancelled ?? false,
    finish_reason: row.finishReason,
    native_finish_reason: detail.native_finish_reason ?? null,
    api_type: detail.api_type,
    service_tier: detail.service_tier ?? null,
    data_region: 'global',
    is_byok: false,
    status: row.status,
    error_type: row.errorType,
    error_message: detail.error_message ?? null,
    refusals: detail.refusals ?? null,
    total_cost: cost,
    usage: cost,
    currency: 'KRW',
    price_version: row.priceVersion,
    usage_source: detail.usage_source ?? null,
    cache_discount: null,
    upstream_inference_cost: null,
    latency: detail.latency_ms ?? null,
    generation_time: detail.generation_ms ?? null,
    admission_wait: detail.admission_wait_ms ?? null,
    moderation_latency: null,
    tokens_prompt: row.promptTokens,
    tokens_completion: row.completionTokens,
    native_tokens_prompt: row.promptTokens,
    native_tokens_completion: row.completionTokens,
    native_tokens_completion_images: null,
    native_tokens_reasoning: detail.reasoning_tokens ?? 0,
    native_tokens_cached: detail.cache_read_tokens ?? 0,
    num_media_prompt: detail.media_parts ?? 0,
    num_input_audio_prompt: null,
    num_media_completion: null,
    num_search_results: null,
    num_fetches: null,
    web_search_engine: null,
    response_cache_source_id: null,
    ignored_parameters: detail.ignored_parameters ?? [],
    dropped_parts: detail.dropped_parts ?? [],
    provider_responses: (detail.attempts ?? []).map(({ at: _, ...attempt }) => attempt),
    routing: detail.route === undefined ? null : routeBody(detail.route, detail.requested_models ?? []),
  };
}

function routeBody({ by, chain, held, dropped }: RouteRecord, models: readonly string[]): object {
  const named = ([model, endpoint_id]: readonly [number, string, ...unknown[]]): object => ({
    model_permaslug: models[model] ?? '',
    endpoint_id,
  });
  return {
    by,
    chain: chain.map(named),
    held_back: held.map((row) => ({ ...named(row), reason: row[2] })),
    dropped: dropped.map((row) => ({ ...named(row), reason: row[2] })),
  };
}

/** The origin of a referer; empty when there is none, since clients require a string. */
function originOf(referer: string | null): string {
  const address = webAddress(referer);
  return address === null ? '' : new URL(address).origin;
}

/**
 * One line of `naru generation export`: the public record with its account, its key and the exact
 * cost.
 */
export function exportedGeneration(row: GenerationRow): object {
  return {
    ...generationBody(row),
    account_id: row.accountId,
    key_id: row.keyId,
    cost_krw: krwToDecimal(krwOfMicro(row.cost)),
    settled_at: isoOf(row.settledAtMs),
  };
}
