import { z } from 'zod';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import type { Candidate, Model } from '../../catalogue/model.ts';
import type { Price } from '../../money/price.ts';
import type { SlotStatus } from '../../slots/contract.ts';
import { type Clock, isoOf } from '../../time/clock.ts';
import { halfAnHourMs, oneDayMs } from '../../upstreams/health.ts';
import type { HealthView } from '../../upstreams/health-status.ts';
import { pageRoute } from '../page-route.ts';
import { instant, micro } from '../shapes.ts';

/** What the rows of models need. */
export interface ModelPageParts {
  readonly catalogue: () => Catalogue;
  readonly health: HealthView;
  /** The slots of this machine; null where another process has them. */
  readonly slots: (() => readonly SlotStatus[]) | null;
  readonly clock: Clock;
}

const perMillion = micro.describe('Micro-won per million tokens');
const priceShape = z.strictObject({
  prompt_micro: perMillion,
  completion_micro: perMillion,
  cache_read_micro: perMillion,
  cache_write_micro: perMillion,
  request_pico: z.string().describe('Pico-won per request'),
});

const candidateShape = z.strictObject({
  label: z.string(),
  provider: z.string(),
  is_local: z.boolean(),
  slot: z
    .strictObject({
      name: z.string(),
      state: z.string(),
      expected_start_ms: z.number().nullable().describe('How long its last start took'),
    })
    .nullable()
    .describe('Null: no slot, or this node does not know its state'),
  context_length: z.int(),
  max_completion_tokens: z.int(),
  quantization: z.string().nullable(),
  price: priceShape,
  uptime_1d: z.number().nullable().describe('Percent, of the traffic of this node'),
  ttft_p50_ms: z.number().nullable().describe('Over half an hour, of the traffic of this node'),
  tokens_per_second_p50: z.number().nullable(),
});

const modelShape = z.strictObject({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  created_at: instant,
  context_length: z.int(),
  max_completion_tokens: z.int(),
  input_modalities: z.array(z.string()),
  output_modalities: z.array(z.string()),
  supports_tools: z.boolean(),
  supported_parameters: z.array(z.string()),
  knowledge_cutoff: z.string().nullable(),
  price: priceShape,
  candidates: z.array(candidateShape),
});

/** `GET /dashboard/api/models` (U9): the catalogue, public, from memory. */
export function modelPages(parts: ModelPageParts) {
  return [
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/models',
      area: 'dashboard',
      credential: 'none',
      summary: 'The models, their prices and their candidates',
      response: z.strictObject({ items: z.array(modelShape), as_of: instant }),
      handle: () => ({
        items: parts.catalogue().models.map((model) => modelBody(model, parts)),
        as_of: isoOf(parts.clock.now()),
      }),
    }),
  ];
}

function modelBody(model: Model, parts: ModelPageParts): z.input<typeof modelShape> {
  return {
    id: model.id,
    name: model.name,
    description: model.description,
    created_at: isoOf(model.created * 1_000),
    context_length: model.contextLength,
    max_completion_tokens: model.maxCompletionTokens,
    input_modalities: [...model.inputModalities],
    output_modalities: [...model.outputModalities],
    supports_tools: model.supportedParameters.includes('tools'),
    supported_parameters: [...model.supportedParameters],
    knowledge_cutoff: model.knowledgeCutoff,
    price: priceBody(model.price),
    candidates: model.candidates.map((candidate) => candidateBody(candidate, parts)),
  };
}

function candidateBody(
  { via, ...candidate }: Candidate,
  { health, slots }: ModelPageParts,
): z.input<typeof candidateShape> {
  const seen = health.of(candidate.label);
  const slot = via.kind === 'slot' ? slots?.().find(({ name }) => name === via.slot) : undefined;
  return {
    label: candidate.label,
    provider: candidate.providerName,
    is_local: via.kind === 'slot',
    slot:
      slot === undefined ? null : { name: slot.name, state: slot.state, expected_start_ms: slot.lastStartMs },
    context_length: candidate.contextLength,
    max_completion_tokens: candidate.maxCompletionTokens,
    quantization: candidate.quantization,
    price: priceBody(candidate.price),
    uptime_1d: seen.uptime(oneDayMs),
    ttft_p50_ms: seen.latency(halfAnHourMs)?.p50 ?? null,
    tokens_per_second_p50: seen.throughput(halfAnHourMs)?.p50 ?? null,
  };
}

/** A rate per token in pico-won is the price of a million tokens in micro-won. */
function priceBody(price: Price): z.input<typeof priceShape> {
  return {
    prompt_micro: String(price.prompt),
    completion_micro: String(price.completion),
    cache_read_micro: String(price.cacheRead),
    cache_write_micro: String(price.cacheWrite),
    request_pico: String(price.request),
  };
}
