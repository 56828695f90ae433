import { z } from 'zod';
import { findKeysByPrefix } from '../../accounts/keys-sql.ts';
import { labelOf } from '../../catalogue/difference.ts';
import { type Drain, readDrains } from '../../catalogue/drains-sql.ts';
import type { CandidateConfig, ProviderConfig } from '../../config/config.ts';
import { refuse } from '../../errors/catalogue.ts';
import { messages } from '../../errors/messages.ts';
import { pageMessages } from '../../errors/page-messages.ts';
import { inLanguages, PageRefusal } from '../../errors/page-refusal.ts';
import { probes } from '../../inference/probe-candidate.ts';
import { recordAfter } from '../../operations/audited.ts';
import type { Explanation } from '../../routing/explain-plan.ts';
import type { CandidateReport } from '../../routing/health-report.ts';
import { isoOf } from '../../time/clock.ts';
import { integerText } from '../../wire/shapes/query.ts';
import type { ConsoleContext } from '../context.ts';
import { pageRoute } from '../page-route.ts';
import { bilingual, instant } from '../shapes.ts';
import { line } from '../topup-rows.ts';
import { candidateHealthShape } from './live-figures.ts';
import { actorOf } from './operators.ts';

const providerShape = z.strictObject({
  slug: z.string(),
  name: z.string(),
  base_url: z.string(),
  dialect: z.string(),
  variant: z.string().nullable(),
  has_secret: z.boolean().describe('True: set. The secret is never returned'),
  connect_timeout_ms: z.int(),
  first_byte_timeout_ms: z.int().nullable(),
  max_connections: z.int().nullable(),
});
const picoShape = z.string().describe('Micro-won per million tokens, which equals pico-won per token');
/** Since when a candidate takes no new requests, and why. */
const drainShape = z.strictObject({
  since: instant,
  by: z.string(),
  reason: z.string(),
});
const candidateShape = z.strictObject({
  model: z.string(),
  candidate: z.string(),
  provider: z.string().nullable().describe('The slug of the provider; null: a local slot'),
  slot: z.string().nullable(),
  upstream_model: z.string().nullable(),
  weight: z.number().nullable(),
  context_length: z.int(),
  zdr: z.boolean(),
  prompt_micro: picoShape,
  completion_micro: picoShape,
  currency: z.string().describe('The currency of the configured price'),
  health: z.array(candidateHealthShape).describe('The health, one row for each process'),
  drain: drainShape.nullable().describe('Null: it takes requests'),
});
const probeShape = z.strictObject({
  probe: z.enum(probes),
  outcome: z.enum(['works', 'fails', 'untried']),
  took_ms: z.number().nullable(),
  status: z.int().nullable(),
  reason: z.string().nullable(),
});

/**
 * Providers and candidates (A4): their health, a test with real calls, drains, and where a request
 * would go.
 */
export function candidatePages(parts: ConsoleContext) {
  return [listRow(parts), explainRow(parts), testRow(parts), drainRow(parts)];
}

function listRow({ config, clock, processes, reads }: ConsoleContext) {
  return pageRoute({
    method: 'GET',
    path: '/console/api/candidates',
    summary: 'The providers and candidates of this server, with their health',
    response: z.strictObject({
      as_of: instant,
      providers: z.array(providerShape),
      candidates: z.array(candidateShape),
      drained_elsewhere: z
        .array(drainShape.extend({ model: z.string(), candidate: z.string() }))
        .describe('Drained candidates that the configuration of this server does not have'),
    }),
    handle: async () => {
      const { providers, models } = config();
      const [drains, response] = await Promise.all([
        readDrains(reads),
        processes.routeReports('GET', ['route', 'health'], new URLSearchParams()),
      ]);
      const rows =
        response.status === 200
          ? (response.body as readonly (CandidateReport & { readonly worker?: number })[])
          : [];
      const health = Map.groupBy(rows, ({ candidate }) => candidate);
      const drainOf = new Map(drains.map((drain) => [nameOf(drain), drain]));
      const candidates = models.flatMap(({ id: model, candidates: listed }) =>
        listed.map((candidate) => {
          const label = labelOf(candidate);
          const name = nameOf({ model, candidate: label });
          const drain = drainOf.get(name) ?? null;
          drainOf.delete(name);
          return candidateBody(model, candidate, { health: health.get(label) ?? [], drain });
        }),
      );
      return {
        as_of: isoOf(clock.now()),
        providers: providers.map(providerBody),
        candidates,
        drained_elsewhere: [...drainOf.values()].map((drain) => ({
          model: drain.model,
          candidate: drain.candidate,
          ...drainBody(drain),
        })),
      };
    },
  });
}

function explainRow({ processes, reads }: ConsoleContext) {
  return pageRoute({
    method: 'GET',
    path: '/console/api/route',
    summary: 'Explain where such a request would go now; no request is sent',
    query: z.object({
      models: z.string().min(1).max(2_000).describe('Model IDs, separated by commas'),
      prompt_tokens: integerText(0, 100_000_000).default(0),
      max_tokens: integerText(1, 100_000_000).optional(),
      image: z.enum(['1']).optional(),
      tools: z.enum(['1']).optional(),
      provider: z.string().max(4_000).optional().describe('The `provider` object of the request, as JSON'),
      account: integerText(0).default(0),
      key: z
        .string()
        .regex(/^[0-9a-f]{6,64}$/)
        .optional()
        .describe('The hash of the key that sends it, or its first 6 digits or more: its restrictions apply'),
    }),
    response: z.strictObject({
      worker: z
        .int()
        .nullable()
        .describe('The process that computed this; each process measures health separately'),
      refusal: bilingual.nullable().describe('The error that the API would return'),
      ordered_by: z.string().nullable(),
      candidates: z.array(
        z.strictObject({
          place: z.int().nullable().describe('Null: the candidate would not be tried'),
          model: z.string(),
          candidate: z.string(),
          provider: z.string(),
          reason: z.string().nullable(),
          why: z.string().describe('In English'),
          why_ko: z.string(),
        }),
      ),
    }),
    handle: async ({ query: { key: hash, ...query } }) => {
      const stated = new URLSearchParams(
        Object.entries(query).flatMap(([name, value]) =>
          value === undefined ? [] : [[name, String(value)]],
        ),
      );
      if (hash !== undefined) {
        const [key, another] = await findKeysByPrefix(reads, hash);
        if (key === undefined || another !== undefined) throw refuse('not_found', messages.noSuchPageKey());
        stated.set('restrictions', JSON.stringify(key.restrictions));
      }
      const { status, body } = await processes.routeReports('GET', ['route'], stated);
      const {
        explanation,
        worker = null,
        error,
      } = body as {
        readonly explanation?: Explanation;
        readonly worker?: number;
        readonly error?: string;
      };
      if (explanation === undefined)
        return { worker, refusal: inLanguages(error ?? String(status)), ordered_by: null, candidates: [] };
      return {
        worker,
        refusal: null,
        ordered_by: explanation.by,
        candidates: explanation.candidates.map((row) => ({ ...row })),
      };
    },
  });
}

function testRow({ database, clock, processes }: ConsoleContext) {
  return pageRoute({
    method: 'POST',
    path: '/console/api/candidates/test',
    role: 'admin',
    summary: 'Test a candidate with real requests, for which its upstream charges',
    body: z.object({ model: z.string().min(1).max(300), candidate: z.string().min(1).max(600) }),
    response: z.strictObject({ items: z.array(probeShape) }),
    handle: async ({ session, body: { model, candidate } }) => {
      const found = await processes.probe(model, candidate);
      if (found === null) throw refuse('not_found', messages.noSuchCandidate());
      const items = found.map(({ probe, outcome, tookMs, status, reason }) => ({
        probe,
        outcome,
        took_ms: tookMs,
        status,
        reason,
      }));
      const outcomes = Object.fromEntries(found.map(({ probe, outcome }) => [probe, outcome]));
      await recordAfter(
        { database, clock, actor: actorOf(session) },
        { act: 'candidate.test', subject: `${model} ${candidate}`, after: outcomes },
      );
      return { items };
    },
  });
}

/** Drains a candidate and resumes it (A4). */
function drainRow({ operations }: ConsoleContext) {
  return pageRoute({
    method: 'POST',
    path: '/console/api/candidates/drain',
    role: 'admin',
    summary: 'Send a candidate no new requests on any node, or send it requests again',
    body: z.object({
      model: z.string().min(1).max(300),
      candidate: z.string().min(1).max(600),
      drained: z.boolean(),
      reason: line(500),
    }),
    response: z.strictObject({
      drained: z.boolean(),
      changed: z.boolean().describe('False: it was in this state already'),
    }),
    handle: async ({ session, body, changeKey }) => {
      const operator = operations.as(actorOf(session));
      const outcome = await operator.changeDrain({ ...body, idempotencyKey: `page:${changeKey}` });
      if (outcome.kind === 'unknown_candidate') throw refuse('not_found', messages.noSuchCandidate());
      if (outcome.kind === 'conflict')
        throw new PageRefusal('idempotency_conflict', pageMessages.idempotencyConflict);
      return { drained: body.drained, changed: outcome.kind === 'done' };
    },
  });
}

function drainBody({ atMs, by, reason }: Drain): z.input<typeof drainShape> {
  return { since: isoOf(atMs), by, reason };
}

function providerBody(provider: ProviderConfig): z.input<typeof providerShape> {
  const { slug, name, baseUrl, dialect, variant, apiKey, secretAccessKey, headers } = provider;
  return {
    slug,
    name,
    base_url: baseUrl,
    dialect,
    variant,
    has_secret: apiKey !== null || secretAccessKey !== null || Object.keys(headers).length > 0,
    connect_timeout_ms: provider.connectTimeoutMs,
    first_byte_timeout_ms: provider.firstByteTimeoutMs,
    max_connections: provider.maxConnections,
  };
}

function candidateBody(
  model: string,
  candidate: CandidateConfig,
  {
    health,
    drain,
  }: {
    readonly health: readonly (CandidateReport & { readonly worker?: number })[];
    readonly drain: Drain | null;
  },
): z.input<typeof candidateShape> {
  const { target, price, stated } = candidate;
  return {
    model,
    candidate: labelOf(candidate),
    provider: target.kind === 'provider' ? target.provider : null,
    slot: target.kind === 'slot' ? target.slot : null,
    upstream_model: target.kind === 'provider' ? target.model : null,
    weight: candidate.weight,
    context_length: candidate.contextLength,
    zdr: candidate.zdr,
    prompt_micro: String(price.prompt),
    completion_micro: String(price.completion),
    currency: stated.currency,
    health: health.map((row) => ({ ...row, worker: row.worker ?? null })),
    drain: drain === null ? null : drainBody(drain),
  };
}

function nameOf({ model, candidate }: { readonly model: string; readonly candidate: string }): string {
  return `${model}\n${candidate}`;
}
