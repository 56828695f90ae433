import fc from 'fast-check';
import type { Candidate, DrainView, Model } from '../../src/catalogue/model.ts';
import { parseCompletionRequest } from '../../src/inference/parse-request.ts';
import { type Rate, rateOfPico } from '../../src/money/price.ts';
import type { RoutingContext } from '../../src/routing/plan.ts';
import {
  type HealthStatus,
  type HealthView,
  healthy,
  noHealthData,
} from '../../src/upstreams/health-status.ts';
import type { CompletionRequest } from '../../src/wire/chat.ts';
import { parametersOf } from '../../src/wire/parameters.ts';

/* Generated catalogues, requests and health states, for the laws of `plan`. */

const tags = ['a', 'b', 'c', 'vertex/us', 'vertex/eu'];

const standings: readonly HealthStatus[] = [
  healthy,
  healthy,
  healthy,
  { ...healthy, circuit: 'open', failures: 5, openedAtMs: 1, probeInMs: 9 },
  { ...healthy, circuit: 'due', failures: 5, openedAtMs: 1 },
  { ...healthy, circuit: 'probing', failures: 5, openedAtMs: 1 },
  { ...healthy, coolingMs: 5_000 },
  { ...healthy, unsteady: true },
];

const anyCandidate = fc.record({
  tag: fc.constantFrom(...tags),
  price: fc.nat(5),
  weight: fc.constantFrom(null, null, 0, 1, 3),
  contextLength: fc.constantFrom(100, 1_000),
  maxCompletionTokens: fc.constantFrom(10, 1_000),
  images: fc.boolean(),
  parameters: fc.constantFrom(null, ['seed'], ['tools', 'response_format', 'seed']),
  quantization: fc.constantFrom(null, 'fp8', 'mxfp8', 'int4'),
  zdr: fc.boolean(),
  distillable: fc.boolean(),
  dataCollection: fc.boolean(),
  standing: fc.constantFrom(...standings),
  drained: fc.constantFrom(false, false, false, true),
  throughput: fc.constantFrom(null, 10, 50, 90),
  latency: fc.constantFrom(null, 100, 5_000),
});
export const anyModels = fc.array(fc.array(anyCandidate, { minLength: 1, maxLength: 5 }), {
  minLength: 1,
  maxLength: 3,
});
/** Mostly absent: with every preference at once no candidate would be left to order. */
const seldom = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });
const names = fc.array(fc.constantFrom(...tags, 'vertex', 'nobody'), { maxLength: 3 });
const anyProvider = fc.record(
  {
    order: seldom(names),
    only: seldom(names),
    ignore: seldom(names),
    allow_fallbacks: seldom(fc.constant(false)),
    require_parameters: seldom(fc.constant(true)),
    sort: fc.constantFrom(null, 'price', 'throughput', { by: 'latency' }, { by: 'price', partition: 'none' }),
    max_price: seldom(fc.constantFrom({ prompt: 3 }, { completion: '2', request: 0 })),
    quantizations: seldom(fc.constantFrom(['fp8'], ['unknown', 'int4'])),
    preferred_min_throughput: fc.constantFrom(null, 40, { p50: 80, p90: 20 }),
    preferred_max_latency: fc.constantFrom(null, 1),
    data_collection: seldom(fc.constant('deny')),
    zdr: seldom(fc.constant(true)),
    enforce_distillable_text: seldom(fc.constant(true)),
  },
  { requiredKeys: [] },
);
const anyBody = fc.record({
  image: seldom(fc.constant(true)).map((one) => one === true),
  tools: seldom(fc.constant(true)).map((one) => one === true),
  format: fc.boolean(),
  max_tokens: fc.constantFrom(undefined, 5, 500),
});

/** A request, the catalogue and the circumstances in which it is planned. */
export interface World {
  readonly request: CompletionRequest;
  readonly models: readonly Model[];
  readonly given: RoutingContext;
  readonly all: readonly Candidate[];
}

export function worldOf(
  drawn: readonly (readonly (typeof anyCandidate extends fc.Arbitrary<infer T> ? T : never)[])[],
  provider: object,
  body: { image: boolean; tools: boolean; format: boolean; max_tokens: number | undefined },
  promptTokens: number,
  seed: string,
): World {
  const known = new Map<
    string,
    { standing: HealthStatus; drained: boolean; throughput: number | null; latency: number | null }
  >();
  const models = drawn.map((candidates, m) => ({
    id: `m/${m}`,
    candidates: candidates.map((one, n) => {
      const label = `${one.tag}/${m}.${n}`;
      known.set(label, one);
      return candidate(label, {
        modelId: `m/${m}`,
        providerTag: one.tag,
        providerName: one.tag,
        weight: one.weight,
        contextLength: one.contextLength,
        maxCompletionTokens: one.maxCompletionTokens,
        inputs: new Set(one.images ? ['text', 'image'] : ['text']),
        supportedParameters: one.parameters === null ? null : new Set(one.parameters),
        quantization: one.quantization,
        zdr: one.zdr,
        distillable: one.distillable,
        dataCollection: one.dataCollection,
        price: priceOf(BigInt(one.price) * 1_000_000n),
      });
    }),
  })) as unknown as readonly Model[];
  const spread = (value: number | null | undefined) =>
    value == null ? null : { p50: value, p75: value, p90: value, p99: value };
  const health: HealthView = {
    statusOf: (label) => known.get(label)?.standing ?? healthy,
    of: (label) => ({
      ...noHealthData.of(label),
      throughput: () => spread(known.get(label)?.throughput),
      latency: () => spread(known.get(label)?.latency),
    }),
  };
  const drains: DrainView = { isDrained: ({ label }) => known.get(label)?.drained === true };
  const content = body.image ? [{ type: 'image_url', image_url: { url: 'data:,' } }] : 'hi';
  const request = parseCompletionRequest(
    'chat',
    Buffer.from(
      JSON.stringify({
        models: models.map(({ id }) => id),
        messages: [{ role: 'user', content }],
        ...(body.tools ? { tools: [] } : {}),
        ...(body.format ? { response_format: {} } : {}),
        max_tokens: body.max_tokens,
        provider,
      }),
    ),
    null,
  );
  return {
    request,
    models,
    given: { promptTokens, health, drains, allowed: null, seed, isSession: false },
    all: models.flatMap(({ candidates }) => candidates),
  };
}

/** The same rate for every token, pico-won. */
export function priceOf(pico: bigint) {
  const rate: Rate = rateOfPico(pico);
  return { prompt: rate, completion: rate, request: rateOfPico(0n), cacheRead: rate, cacheWrite: rate };
}

export function candidate(label: string, more: Partial<Candidate>): Candidate {
  return {
    label,
    via: { kind: 'provider', provider: label },
    upstreamModel: 'x',
    inputs: new Set(['text']),
    supportedParameters: null,
    acceptedParameters: Object.keys(parametersOf.chat),
    variant: 'generic',
    overrides: {},
    quantization: null,
    dataCollection: false,
    zdr: false,
    distillable: false,
    contextLength: 1_000,
    maxCompletionTokens: 1_000,
    modelId: 'm/0',
    providerTag: label,
    providerName: label,
    weight: null,
    price: priceOf(1_000_000n),
    priceVersion: 1,
    ...more,
  };
}

export const anyWorld = fc
  .tuple(anyModels, anyProvider, anyBody, fc.constantFrom(0, 0, 500, 2_000), fc.string())
  .map(([drawn, provider, body, tokens, seed]) => worldOf(drawn, provider, body, tokens, seed));
