import { z } from 'zod';
import type { PriceVersion } from '../../catalogue/prices-sql.ts';
import type { AppPreferences } from '../../generations/app-preferences-sql.ts';
import { type AttemptPhases, phasesOf } from '../../generations/attempt-phases.ts';
import type { GenerationDetail } from '../../generations/generation.ts';
import { generationBody, tagsOf } from '../../generations/generation.ts';
import { type GenerationListing, outcomeOf } from '../../generations/search-sql.ts';
import { usageClasses } from '../../money/price.ts';
import { costCalculation } from '../../operations/cost-calculation.ts';
import type { GenerationRow } from '../../store/generation-row.ts';
import { isoOf } from '../../time/clock.ts';
import { type GenerationUuid, generationIdOf } from '../../wire/ids/generation-id.ts';
import { generationShape } from '../../wire/shapes/generation.ts';
import { instant, micro } from '../shapes.ts';

const milliseconds = z.number().nullable();
const pico = z
  .string()
  .regex(/^\d{1,30}$/)
  .describe(
    'Pico-won as a string. A rate per token in pico-won equals the price of a million tokens in micro-won',
  );

/** One request in the list (U3). */
export const listingShape = z.strictObject({
  id: z.string(),
  request_id: z.string(),
  created_at: instant,
  status: z.int(),
  outcome: z.enum(['ok', 'failed', 'cancelled']),
  error_type: z.string().nullable(),
  finish_reason: z.string().nullable(),
  asked_model: z.string().nullable(),
  model: z.string().nullable().describe('The model that responded; null: none did'),
  provider: z.string().nullable(),
  app: z.strictObject({ id: z.int(), name: z.string() }).nullable(),
  key: z.strictObject({ hash: z.string(), name: z.string(), label: z.string() }).nullable(),
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  reasoning_tokens: z.int(),
  cached_tokens: z.int(),
  cost_micro: micro,
  latency_ms: milliseconds.describe('The time to the first token'),
  generation_ms: milliseconds.describe('The time to the last token'),
  streamed: z.boolean().nullable(),
  refusals: z.int().nullable().describe('The number of rejected requests that this record counts'),
  user: z.string().nullable().describe('The `user` of the request'),
  tags: z
    .array(z.strictObject({ name: z.string(), value: z.string() }))
    .describe('The texts of its `metadata`'),
});

const attemptShape = z.strictObject({
  model: z.string(),
  endpoint: z.string().describe('The candidate of the attempt'),
  provider: z.string(),
  status: z.int().nullable(),
  starts_at_ms: z.number().describe('Since the request arrived; attempts are sequential'),
  latency_ms: z.number().describe('The time until it responded or failed'),
  phases: z
    .strictObject({
      queue_ms: z.number().describe('Until it had a lane of a slot, the start of an engine included'),
      connect_ms: milliseconds.describe('Until it had a connection'),
      first_byte_ms: milliseconds.describe('Until the head of the response arrived'),
      first_token_ms: milliseconds.describe('Until the first content of a stream'),
      stream_ms: milliseconds.describe('Until the end of the response'),
    })
    .describe('A part that did not begin is null'),
  failure: z.string().nullable().describe('The reason of the failure; null: this attempt gave the response'),
  message: z.string().nullable().describe('What the upstream said about it; null: nothing'),
  is_winner: z.boolean(),
  parameter_changes: z.array(
    z.strictObject({ parameter: z.string(), change: z.string(), to: z.string().nullable() }),
  ),
});

const candidateShape = z.strictObject({ model: z.string(), endpoint: z.string(), reason: z.string() });

/** One request in full (U3d). */
export const detailShape = z.strictObject({
  listing: listingShape,
  settled_at: instant,
  admission_wait_ms: milliseconds.describe('The time in the queue before the first attempt'),
  attempts: z.array(attemptShape),
  skipped: z
    .strictObject({
      ordered_by: z.string(),
      held_back: z.array(candidateShape).describe('Tried later than configured, with the reason'),
      dropped: z.array(candidateShape).describe('Not tried, with the reason'),
    })
    .nullable()
    .describe('Null: the candidates were tried in the configured order and none was excluded'),
  price: z
    .strictObject({
      version: z.int(),
      candidate: z.string(),
      tier: z
        .string()
        .nullable()
        .describe('The service tier by whose rates it was billed; null: the ordinary ones'),
      unpriced_tier: z
        .string()
        .nullable()
        .describe(
          'A tier that the upstream reported and the price has no rates for: billed by the ordinary ones',
        ),
      published_at: instant,
      lines: z.array(
        z.strictObject({
          item: z.enum(usageClasses),
          units: z.int(),
          rate_pico: pico,
          amount_pico: pico,
        }),
      ),
      sum_pico: pico.describe(
        'Equals the cost when rounded half up to micro-won, unless the response was free',
      ),
      is_free: z.boolean().describe('An empty or failed response is free'),
    })
    .nullable(),
  refunded_micro: micro,
  record: generationShape.describe('What `GET /api/v1/generation` returns'),
});

/** One request of the list, with its app as the account's owner named it. */
export function listingBody(row: GenerationListing, apps: AppPreferences): z.input<typeof listingShape> {
  const { detail } = row;
  return {
    id: generationIdOf(row.uuid as GenerationUuid),
    request_id: detail.request_id,
    created_at: isoOf(row.createdAtMs),
    status: row.status,
    outcome: outcomeOf(row),
    error_type: row.errorType,
    finish_reason: row.finishReason,
    asked_model: detail.requested_models?.[0] ?? null,
    model: row.model,
    provider: row.provider,
    app: detail.app == null ? null : appBody(detail.app, apps),
    key: row.key,
    prompt_tokens: row.promptTokens,
    completion_tokens: row.completionTokens,
    reasoning_tokens: detail.reasoning_tokens ?? 0,
    cached_tokens: detail.cache_read_tokens ?? 0,
    cost_micro: String(row.cost),
    latency_ms: detail.latency_ms ?? null,
    generation_ms: detail.generation_ms ?? null,
    streamed: detail.streamed ?? null,
    refusals: detail.refusals ?? null,
    user: detail.external_user ?? null,
    tags: tagsOf(detail),
  };
}

function appBody(app: { readonly id: number; readonly name: string }, apps: AppPreferences) {
  const { id, name } = apps.shown(app);
  return { id, name };
}

/** One request in full; `price` is the version that it was billed with. */
export function detailBody(
  row: GenerationRow,
  {
    key,
    price,
    refunded,
    apps,
  }: {
    readonly key: GenerationListing['key'];
    readonly price: PriceVersion | null;
    readonly refunded: bigint;
    readonly apps: AppPreferences;
  },
): z.input<typeof detailShape> {
  const detail = JSON.parse(row.detail) as GenerationDetail;
  return {
    listing: listingBody({ ...row, key, detail }, apps),
    settled_at: isoOf(row.settledAtMs),
    admission_wait_ms: detail.admission_wait_ms ?? null,
    attempts: attemptsBody(detail),
    skipped: skippedBody(detail),
    price: price === null ? null : costCalculation(row, price),
    refunded_micro: String(refunded),
    record: generationBody(row) as z.input<typeof generationShape>,
  };
}

function attemptsBody(detail: GenerationDetail): z.input<typeof attemptShape>[] {
  return (detail.attempts ?? []).map((attempt) => ({
    model: attempt.model_permaslug,
    endpoint: attempt.endpoint_id,
    provider: attempt.provider_name,
    status: attempt.status,
    starts_at_ms: attempt.at[0] ?? 0,
    latency_ms: attempt.latency,
    phases: phasesBody(phasesOf(attempt, detail)),
    failure: attempt.failure ?? null,
    message: attempt.message ?? null,
    is_winner: attempt.failure === undefined,
    parameter_changes: (attempt.parameter_changes ?? []).map((each) => ({
      parameter: each.parameter,
      change: each.change,
      to: 'to' in each ? (each.to ?? null) : null,
    })),
  }));
}

function phasesBody({
  queueMs,
  connectMs,
  firstByteMs,
  firstTokenMs,
  streamMs,
}: AttemptPhases): z.input<typeof attemptShape>['phases'] {
  return {
    queue_ms: queueMs,
    connect_ms: connectMs,
    first_byte_ms: firstByteMs,
    first_token_ms: firstTokenMs,
    stream_ms: streamMs,
  };
}

function skippedBody({ route, requested_models: models = [] }: GenerationDetail) {
  if (route === undefined) return null;
  const named = ([model, endpoint, reason]: readonly [number, string, string]) => ({
    model: models[model] ?? '',
    endpoint,
    reason,
  });
  return { ordered_by: route.by, held_back: route.held.map(named), dropped: route.dropped.map(named) };
}
