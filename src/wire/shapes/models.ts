import { z } from 'zod';
import { count, inData, rate } from './common.ts';

const day = z.iso.date();
const modalities = z.array(z.string()).min(1);

const architecture = z.strictObject({
  modality: z.string(),
  input_modalities: modalities,
  output_modalities: modalities,
  tokenizer: z.string(),
  instruct_type: z.null(),
});

const tokenRates = {
  prompt: rate,
  completion: rate,
  input_cache_read: rate,
  input_cache_write: rate,
  input_cache_write_1h: rate.optional().describe('Absent: a cache is not written for an hour'),
};

const rates = {
  ...tokenRates,
  request: rate,
  image: rate,
  web_search: rate,
  internal_reasoning: rate,
  service_tiers: z
    .record(z.string(), z.strictObject(tokenRates))
    .optional()
    .describe('Rates by the service tier that the upstream reports'),
  currency: z.literal('KRW'),
};

const modelShape = z.strictObject({
  id: z.string(),
  canonical_slug: z.string(),
  name: z.string(),
  created: z.int().describe('Unix seconds'),
  description: z.string(),
  context_length: count,
  architecture,
  pricing: z.strictObject(rates).describe('Won per token (request: per request), as decimal strings'),
  top_provider: z.strictObject({
    context_length: count,
    max_completion_tokens: count,
    is_moderated: z.literal(false),
  }),
  per_request_limits: z.null(),
  supported_parameters: z.array(z.string()),
  default_parameters: z.record(z.string(), z.number().nullable()).nullable(),
  supported_voices: z.null(),
  links: z.strictObject({ details: z.string() }),
  expiration_date: z.null(),
  knowledge_cutoff: day.nullable(),
  hugging_face_id: z.string().nullable(),
});

/** `GET /models` and `GET /models/user`. */
export const modelsShape = z.strictObject({
  data: z.array(modelShape),
  total_count: count,
  links: z.strictObject({ next: z.string().nullable() }),
});

/** `GET /models/count`. */
export const modelCountShape = inData(z.strictObject({ count }));

const percentiles = z
  .strictObject({ p50: z.number(), p75: z.number(), p90: z.number(), p99: z.number() })
  .nullable();
const percent = z.number().min(0).max(100).nullable();

const endpointShape = z.strictObject({
  name: z.string(),
  model_id: z.string(),
  model_name: z.string(),
  context_length: count,
  pricing: z.strictObject({ ...rates, discount: z.literal(0) }),
  provider_name: z.string(),
  tag: z.string(),
  quantization: z.string().nullable(),
  max_completion_tokens: count.nullable(),
  max_prompt_tokens: z.null(),
  supported_parameters: z.array(z.string()),
  status: z.int().describe('0: healthy; below 0: not healthy'),
  uptime_last_5m: percent,
  uptime_last_30m: percent,
  uptime_last_1d: percent,
  latency_last_30m: percentiles.describe('Milliseconds to the first token'),
  throughput_last_30m: percentiles.describe('Tokens per second'),
  supports_implicit_caching: z.boolean(),
  supports_tool_choice: z.strictObject({
    auto: z.boolean(),
    none: z.boolean(),
    required: z.boolean(),
    function: z.boolean(),
  }),
});

/** `GET /models/{author}/{slug}/endpoints`. */
export const endpointsShape = inData(
  z.strictObject({
    id: z.string(),
    name: z.string(),
    created: z.int(),
    description: z.string(),
    architecture,
    endpoints: z.array(endpointShape).min(1),
  }),
);

const url = z.string().nullable();

/** `GET /providers`. */
export const providersShape = inData(
  z.array(
    z.strictObject({
      name: z.string(),
      slug: z.string(),
      privacy_policy_url: url,
      terms_of_service_url: url,
      status_page_url: url,
      headquarters: z.null(),
      datacenters: z.null(),
    }),
  ),
);
