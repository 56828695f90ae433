import type { Candidate, Model } from '../catalogue/model.ts';
import { type Price, rateToDecimal, type TokenRates } from '../money/price.ts';
import type { Health } from '../upstreams/health.ts';
import { fiveMinutesMs, halfAnHourMs, oneDayMs } from '../upstreams/health-status.ts';

/**
 * Below this uptime over five minutes a candidate is not reported as healthy, as in OpenRouter
 * (spec:compat/8.2,8.3).
 */
const minUptime = 80;
const healthy = 0;
const failing = -1;

/** Every parameter of `default_parameters`, each null unless configured. */
const noDefaults = {
  temperature: null,
  top_p: null,
  top_k: null,
  frequency_penalty: null,
  presence_penalty: null,
  repetition_penalty: null,
};

/** A model of the listing (spec:compat/7.2). */
export function modelBody(model: Model): object {
  return {
    id: model.id,
    canonical_slug: model.id,
    name: model.name,
    created: model.created,
    description: model.description,
    context_length: model.contextLength,
    architecture: architecture(model),
    pricing: pricing(model.price),
    top_provider: {
      context_length: model.contextLength,
      max_completion_tokens: model.maxCompletionTokens,
      is_moderated: false,
    },
    per_request_limits: null,
    supported_parameters: model.supportedParameters,
    default_parameters:
      model.defaultParameters === null ? null : { ...noDefaults, ...model.defaultParameters },
    supported_voices: null,
    links: { details: `/api/v1/models/${model.id}/endpoints` },
    expiration_date: null,
    knowledge_cutoff: model.knowledgeCutoff,
    hugging_face_id: model.huggingFaceId,
  };
}

/**
 * A model with its candidates (spec:compat/8). Measurements are of this process's own traffic; null
 * when there was none.
 */
export function endpointsBody(model: Model, health: Health): object {
  return {
    id: model.id,
    name: model.name,
    created: model.created,
    description: model.description,
    architecture: architecture(model),
    endpoints: model.candidates.map((candidate) => endpointBody(model, candidate, health)),
  };
}

function endpointBody(model: Model, candidate: Candidate, health: Health): object {
  const seen = health.of(candidate.label);
  const uptime = seen.uptime(fiveMinutesMs);
  const { acceptedParameters: parameters } = candidate;
  const hasToolChoice = parameters.includes('tool_choice');
  return {
    name: `${candidate.providerName} | ${model.id}`,
    model_id: model.id,
    model_name: model.name,
    context_length: candidate.contextLength,
    pricing: { ...pricing(candidate.price), discount: 0 },
    provider_name: candidate.providerName,
    tag: candidate.providerTag,
    quantization: candidate.quantization,
    max_completion_tokens: candidate.maxCompletionTokens,
    max_prompt_tokens: null,
    supported_parameters: parameters,
    status: uptime !== null && uptime < minUptime ? failing : healthy,
    uptime_last_5m: uptime,
    uptime_last_30m: seen.uptime(halfAnHourMs),
    uptime_last_1d: seen.uptime(oneDayMs),
    latency_last_30m: seen.latency(halfAnHourMs),
    throughput_last_30m: seen.throughput(halfAnHourMs),
    supports_implicit_caching: false,
    supports_tool_choice: {
      auto: hasToolChoice,
      none: hasToolChoice,
      required: hasToolChoice,
      function: hasToolChoice,
    },
  };
}

function architecture(model: Model): object {
  const inputs = model.inputModalities.join('+');
  const outputs = model.outputModalities.join('+');
  return {
    modality: `${inputs}->${outputs}`,
    input_modalities: model.inputModalities,
    output_modalities: model.outputModalities,
    tokenizer: model.tokenizer ?? 'Other',
    instruct_type: null,
  };
}

/** Won per unit as decimal strings (spec:api/11.6). */
function pricing(price: Price): object {
  return {
    ...tokenPricing(price),
    request: rateToDecimal(price.request),
    image: '0',
    web_search: '0',
    internal_reasoning: '0',
    ...(price.tiers !== undefined && {
      service_tiers: Object.fromEntries(
        Object.entries(price.tiers).map(([tier, rates]) => [tier, tokenPricing(rates)]),
      ),
    }),
    currency: 'KRW',
  };
}

function tokenPricing({ prompt, completion, cacheRead, cacheWrite, cacheWrite1h }: TokenRates): object {
  return {
    prompt: rateToDecimal(prompt),
    completion: rateToDecimal(completion),
    input_cache_read: rateToDecimal(cacheRead),
    input_cache_write: rateToDecimal(cacheWrite),
    ...(cacheWrite1h !== undefined && { input_cache_write_1h: rateToDecimal(cacheWrite1h) }),
  };
}
