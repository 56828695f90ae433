import { z } from 'zod';
import { count, instant, won } from './common.ts';

const text = z.string().nullable();
const number = z.number().nullable();
const endpoint = { model_permaslug: z.string(), endpoint_id: z.string() };

/** The record of one generation. */
export const generationShape = z.strictObject({
  id: z.string().startsWith('gen-'),
  upstream_id: text,
  request_id: z.string(),
  session_id: text,
  created_at: instant,
  model: z.string(),
  provider_name: text,
  router: z.null(),
  app_id: z.int().nullable().describe('The app that the request came from; the same for all accounts'),
  preset_id: z.null(),
  workspace_id: z.null(),
  external_user: text,
  origin: z.string().describe('From the referer; empty without one'),
  http_referer: text,
  app_title: text.describe('From the request; else the name of the app'),
  user_agent: text,
  streamed: z.boolean().nullable(),
  cancelled: z.boolean(),
  finish_reason: text,
  native_finish_reason: text,
  api_type: z.literal('completions'),
  service_tier: text,
  data_region: z.literal('global'),
  is_byok: z.literal(false),
  status: z.int().describe('The status sent to the client; 499: it had disconnected'),
  error_type: text,
  error_message: text.describe('The message of the error that the client received before any response'),
  refusals: number.describe('Number of refusals with 402 or 403 within one second that this record counts'),
  total_cost: won,
  usage: won,
  currency: z.literal('KRW'),
  price_version: z.int().nullable(),
  usage_source: z.enum(['upstream', 'counted', 'rejected']).nullable(),
  cache_discount: number,
  upstream_inference_cost: number,
  latency: number.describe('Milliseconds to the first token'),
  generation_time: number.describe('Milliseconds to the last token'),
  admission_wait: number.describe(
    'Milliseconds in line, until earlier requests of the account or key settled',
  ),
  moderation_latency: number,
  tokens_prompt: count,
  tokens_completion: count,
  native_tokens_prompt: count,
  native_tokens_completion: count,
  native_tokens_completion_images: number,
  native_tokens_reasoning: count,
  native_tokens_cached: count,
  num_media_prompt: count,
  num_input_audio_prompt: number,
  num_media_completion: number,
  num_search_results: number,
  num_fetches: number,
  web_search_engine: text,
  response_cache_source_id: text,
  ignored_parameters: z
    .array(z.string())
    .describe('Members of the request that are unknown or had no effect'),
  dropped_parts: z
    .array(z.string())
    .describe('Kinds of parts of the response that were not passed on, such as `images`'),
  provider_responses: z.array(
    z.strictObject({
      provider_name: z.string(),
      model_permaslug: z.string(),
      endpoint_id: z.string(),
      status: z.int().nullable(),
      latency: z.number(),
      is_byok: z.literal(false),
      failure: z.string().optional(),
      message: z
        .string()
        .max(500)
        .optional()
        .describe('What the upstream said about its failure, without secrets and names of machines'),
      parameter_changes: z
        .array(
          z.strictObject({
            parameter: z.string(),
            change: z.enum(['dropped', 'renamed', 'changed']),
            to: z.string().optional(),
          }),
        )
        .min(1)
        .optional()
        .describe(
          'Parameters that were not sent as received, because the candidate does not accept them as such',
        ),
    }),
  ),
  routing: z
    .strictObject({
      by: z.enum(['file', 'weights', 'session', 'order', 'sort']),
      chain: z.array(z.strictObject(endpoint)),
      held_back: z.array(z.strictObject({ ...endpoint, reason: z.string() })),
      dropped: z.array(z.strictObject({ ...endpoint, reason: z.string() })),
    })
    .nullable()
    .describe(
      'Why the candidates were tried in this order; null: in that of the configuration, each of them able',
    ),
});
