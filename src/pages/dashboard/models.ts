import { z } from 'zod';
import type { Candidate, Model } from '../../catalogue/model.ts';
import { publicProviders } from '../../catalogue/public-providers.ts';
import { refuse } from '../../errors/catalogue.ts';
import { messages } from '../../errors/messages.ts';
import { isoOf } from '../../time/clock.ts';
import { halfAnHourMs, oneDayMs } from '../../upstreams/health-status.ts';
import { decodedSegment } from '../../wire/path-segment.ts';
import type { DashboardContext, SlotReading } from '../context.ts';
import { PageReply } from '../page-reply.ts';
import { pageRoute } from '../page-route.ts';
import { ratesBody, ratesShape } from '../rates.ts';
import { instant } from '../shapes.ts';

const address = z.string().nullable();
const providerShape = z.strictObject({
  slug: z.string(),
  name: z.string(),
  models: z.int(),
  privacy_policy_url: address,
  terms_of_service_url: address,
  status_page_url: address,
});

/** What everybody may know of a candidate: what the endpoints of the API say. */
const publicCandidateShape = z.strictObject({
  tag: z.string(),
  provider: z.string(),
  is_local: z.boolean(),
  context_length: z.int(),
  max_completion_tokens: z.int(),
  quantization: z.string().nullable(),
  price: ratesShape,
  uptime_1d: z.number().nullable().describe('In percent, measured on this node'),
  ttft_p50_ms: z.number().nullable().describe('Over 30 minutes, measured on this node'),
  tokens_per_second_p50: z.number().nullable(),
});

const candidateShape = publicCandidateShape.extend({
  label: z.string(),
  is_drained: z.boolean().describe('The operator sends it no new requests'),
  slot: z
    .strictObject({
      name: z.string(),
      state: z.string(),
      is_failing: z.boolean().describe('Its engine did not start the last time, or crashed'),
      expected_start_ms: z.number().nullable().describe('The duration of the last start'),
      as_of: instant.describe('When its state was read'),
      is_stale: z.boolean().describe('Its state may have changed since: its process does not respond'),
    })
    .nullable()
    .describe('Null: no slot, or its state is unknown on this node'),
});

const publicModelShape = z.strictObject({
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
  price: ratesShape,
  candidates: z.array(publicCandidateShape),
});
const modelShape = publicModelShape.extend({ candidates: z.array(candidateShape) });
const publicListShape = z.strictObject({ items: z.array(publicModelShape), as_of: instant });
/** How long visitors read the same list. */
const listedMs = 5_000;

/**
 * The catalogue (U9), from memory: with the states of slots for owners, without them for everybody.
 */
export function modelPages(parts: DashboardContext) {
  return [
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/models',
      summary: 'The models, their prices, and their candidates with the states of slots',
      response: z.strictObject({ items: z.array(modelShape), as_of: instant }),
      handle: async () => {
        const slots = await parts.slots();
        return {
          items: parts.catalogue().models.map((model) => modelBody(model, parts, slots)),
          as_of: isoOf(parts.clock.now()),
        };
      },
    }),
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/public/models',
      credential: 'none',
      summary: 'The models, without sign-in',
      response: publicListShape,
      handle: async () =>
        new PageReply({
          body: await parts.publicReads.once(['models'], async () => listOf(parts), listedMs),
          contentType: 'application/json; charset=utf-8',
        }),
    }),
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/public/models/{author}/{slug}',
      credential: 'none',
      summary: 'One model, without sign-in',
      response: z.strictObject({ model: publicModelShape, as_of: instant }),
      handle: ({ params: { author, slug } }) => {
        const model = parts.catalogue().find(`${decodedSegment(author)}/${decodedSegment(slug)}`);
        if (model === null) throw refuse('not_found', messages.noSuchModel());
        return { model: publicModelBody(model, parts), as_of: isoOf(parts.clock.now()) };
      },
    }),
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/public/providers',
      credential: 'none',
      summary: 'The providers and how many models each serves',
      response: z.strictObject({ items: z.array(providerShape) }),
      handle: () => ({ items: providersBody(parts) }),
    }),
  ];
}

/** The list as bytes, checked once for all that read them. */
function listOf(parts: DashboardContext): Buffer {
  const list: z.input<typeof publicListShape> = {
    items: parts.catalogue().models.map((model) => publicModelBody(model, parts)),
    as_of: isoOf(parts.clock.now()),
  };
  return Buffer.from(JSON.stringify(publicListShape.parse(list)));
}

function providersBody(parts: DashboardContext): z.input<typeof providerShape>[] {
  const { models } = parts.catalogue();
  return publicProviders(parts.providers()).map(({ slug, name, ...pages }) => ({
    slug,
    name,
    models: models.filter(({ candidates }) => candidates.some(({ providerName }) => providerName === name))
      .length,
    privacy_policy_url: pages.privacyPolicyUrl,
    terms_of_service_url: pages.termsOfServiceUrl,
    status_page_url: pages.statusPageUrl,
  }));
}

function modelBody(
  model: Model,
  parts: DashboardContext,
  slots: SlotReading | null,
): z.input<typeof modelShape> {
  return {
    ...publicModelBody(model, parts),
    candidates: model.candidates.map((candidate) => candidateBody(candidate, parts, slots)),
  };
}

function publicModelBody(model: Model, parts: DashboardContext): z.input<typeof publicModelShape> {
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
    price: ratesBody(model.price),
    candidates: model.candidates.map((candidate) => publicCandidateBody(candidate, parts)),
  };
}

function candidateBody(
  candidate: Candidate,
  parts: DashboardContext,
  slots: SlotReading | null,
): z.input<typeof candidateShape> {
  return {
    ...publicCandidateBody(candidate, parts),
    label: candidate.label,
    is_drained: parts.drains.isDrained(candidate),
    slot: slotBody(candidate, slots),
  };
}

function slotBody({ via }: Candidate, slots: SlotReading | null): z.input<typeof candidateShape>['slot'] {
  if (via.kind !== 'slot' || slots === null) return null;
  const slot = slots.statuses.find(({ name }) => name === via.slot);
  if (slot === undefined) return null;
  return {
    name: slot.name,
    state: slot.state,
    is_failing: slot.failures > 0,
    expected_start_ms: slot.lastStartMs,
    as_of: isoOf(slots.asOfMs),
    is_stale: slots.isStale,
  };
}

function publicCandidateBody(
  { via, ...candidate }: Candidate,
  { health }: DashboardContext,
): z.input<typeof publicCandidateShape> {
  const seen = health.of(candidate.label);
  return {
    tag: candidate.providerTag,
    provider: candidate.providerName,
    is_local: via.kind === 'slot',
    context_length: candidate.contextLength,
    max_completion_tokens: candidate.maxCompletionTokens,
    quantization: candidate.quantization,
    price: ratesBody(candidate.price),
    uptime_1d: seen.uptime(oneDayMs),
    ttft_p50_ms: seen.latency(halfAnHourMs)?.p50 ?? null,
    tokens_per_second_p50: seen.throughput(halfAnHourMs)?.p50 ?? null,
  };
}
