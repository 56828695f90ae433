import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Candidate, Model } from '../../src/catalogue/model.ts';
import { parseCompletionRequest } from '../../src/inference/parse-request.ts';
import { noCircumstances, plan, type RoutingContext, seedOf } from '../../src/routing/plan.ts';
import { sharesOf } from '../../src/routing/weighted-order.ts';
import { type HealthView, healthy, noHealthData } from '../../src/upstreams/health-status.ts';
import { readPreferences } from '../../src/wire/preferences.ts';
import { anyModels, anyWorld, candidate, priceOf, worldOf } from '../harness/plan-world.ts';
import { check } from '../harness/property.ts';
import { testSeed } from '../harness/tier.ts';

/* Laws of `plan` over generated catalogues, requests and health states. */

const runs = { numRuns: 1_000 };

test('the generated worlds exercise the laws', () => {
  let sorted = 0;
  let named = 0;
  let held = 0;
  for (const { request, models, given } of fc.sample(anyWorld, { numRuns: 1_000, seed: testSeed })) {
    const planned = plan(request, models, given);
    if (planned.chain.length < 3) continue;
    if (planned.orderedBy === 'sort') sorted += 1;
    if (planned.orderedBy === 'order') named += 1;
    if (planned.demoted.length > 0 && planned.demoted.length < planned.chain.length) held += 1;
  }
  assert.ok(sorted > 50 && named > 15 && held > 60, `${sorted} sorted, ${named} named, ${held} held`);
});

test('every candidate is kept or dropped, once', () => {
  check(
    fc.property(anyWorld, ({ request, models, given, all }) => {
      const { chain, rejected: dropped, demoted: held } = plan(request, models, given);
      const seen = [...chain, ...dropped.map((one) => one.candidate)];
      assert.equal(seen.length, all.length);
      assert.deepEqual(new Set(seen), new Set(all));
      for (const one of held) assert.ok(chain.includes(one.candidate));
    }),
    runs,
  );
});

test('the same request in the same state has the same plan', () => {
  check(
    fc.property(anyWorld, ({ request, models, given }) => {
      assert.deepEqual(plan(request, models, given), plan(request, models, given));
    }),
  );
});

// spec:api/13.3
test('health and speed drop no candidate: without them the same candidates are dropped for the same reasons', () => {
  check(
    fc.property(anyWorld, ({ request, models, given }) => {
      const reasons = (one: RoutingContext) =>
        new Map(plan(request, models, one).rejected.map(({ candidate: { label }, why }) => [label, why]));
      const sick = reasons(given);
      const healthy = reasons({ ...given, health: noHealthData });
      if (request.provider.allowFallbacks) assert.deepEqual(sick, healthy);
      // With one attempt only, health chooses the candidate, but never that there is none.
      assert.equal(sick.size, healthy.size);
    }),
    runs,
  );
});

test('a drained candidate is never tried, whatever the request wants', () => {
  check(
    fc.property(anyWorld, ({ request, models, given, all }) => {
      const { chain, rejected } = plan(request, models, given);
      assert.ok(!chain.some((one) => given.drains.isDrained(one)));
      const drained = rejected.filter(({ why }) => why === 'drained').map(({ candidate: one }) => one);
      assert.deepEqual(new Set(drained), new Set(all.filter((one) => given.drains.isDrained(one))));
    }),
    runs,
  );
});

const names = (stated: ReadonlyMap<string, number>): readonly string[] => [...stated.keys()];

/** Whether a name refers to a candidate: by its provider, its tag or the start of it, or its label. */
function isAt({ providerTag, providerName, label }: Candidate, name: string): boolean {
  const own = [providerTag, providerName, label].map((each) => each.toLowerCase());
  return own.includes(name) || providerTag.toLowerCase().startsWith(`${name}/`);
}

test('`only` and `ignore`: no candidate outside `only`, and none of `ignore`, is tried', () => {
  check(
    fc.property(anyWorld, ({ request, models, given }) => {
      const { only, ignore } = request.provider;
      for (const one of plan(request, models, given).chain) {
        assert.ok(only === null || names(only).some((name) => isAt(one, name)));
        assert.ok(!names(ignore).some((name) => isAt(one, name)));
      }
    }),
    runs,
  );
});

test('`order`: of two candidates in the same group, the one that is named earlier comes first; without fallbacks only the named', () => {
  check(
    fc.property(anyWorld, ({ request, models, given }) => {
      const { order, allowFallbacks, sort, sortAcrossModels } = request.provider;
      if (order === null) return;
      const { chain, demoted: held } = plan(request, models, given);
      const isHeld = (one: Candidate): boolean => held.some(({ candidate: other }) => other === one);
      const rank = (one: Candidate): number => {
        const at = names(order).findIndex((name) => isAt(one, name));
        return at < 0 ? order.size : at;
      };
      if (!allowFallbacks) assert.ok(chain.every((one) => rank(one) < order.size));
      const asOne = sort !== null && sortAcrossModels;
      for (const { id } of models) {
        const own = chain.filter((one) => (asOne || one.modelId === id) && !isHeld(one)).map(rank);
        assert.deepEqual(
          own,
          own.toSorted((a, b) => a - b),
        );
      }
    }),
    runs,
  );
});

test('`allow_fallbacks: false` without `order` leaves one candidate of each model that has one', () => {
  check(
    fc.property(anyWorld, ({ request, models, given }) => {
      const { order, allowFallbacks, sort, sortAcrossModels } = request.provider;
      if (order !== null || allowFallbacks) return;
      const { chain } = plan(request, models, given);
      if (sort !== null && sortAcrossModels) assert.ok(chain.length <= 1);
      else assert.equal(new Set(chain.map(({ modelId }) => modelId)).size, chain.length);
    }),
    runs,
  );
});

test('`sort`: candidates that are not demoted come best first, by model or across models', () => {
  check(
    fc.property(anyWorld, ({ request, models, given }) => {
      const { order, sort, sortAcrossModels } = request.provider;
      if (sort === null || order !== null) return;
      const { chain, demoted: held } = plan(request, models, given);
      const isHeld = (one: Candidate): boolean => held.some(({ candidate: other }) => other === one);
      const measure = (one: Candidate): number => {
        if (sort === 'price') return Number(one.price.prompt);
        const seen = given.health.of(one.label);
        return sort === 'latency'
          ? (seen.latency(1)?.p50 ?? Number.POSITIVE_INFINITY)
          : -(seen.throughput(1)?.p50 ?? -1);
      };
      const free = chain.filter((one) => !isHeld(one));
      const groups = sortAcrossModels
        ? [free]
        : models.map(({ id }) => free.filter((one) => one.modelId === id));
      for (const group of groups) {
        const own = group.map(measure);
        assert.deepEqual(
          own,
          own.toSorted((a, b) => a - b),
        );
      }
    }),
    runs,
  );
});

test('models keep their order except for open circuits, which come last of all', () => {
  check(
    fc.property(anyWorld, ({ request, models, given }) => {
      const { chain, demoted: held } = plan(request, models, given);
      const why = (one: Candidate) => held.find(({ candidate: other }) => other === one)?.why ?? null;
      const open = chain.map((one) => why(one) === 'circuit_open');
      assert.deepEqual(
        open,
        open.toSorted((a, b) => Number(a) - Number(b)),
      );
      if (request.provider.sort !== null && request.provider.sortAcrossModels) return;
      const far = ['circuit_open', 'cooling_down', 'too_slow'];
      const near = chain
        .filter((one) => !far.includes(why(one) ?? ''))
        .map((one) => request.models.indexOf(one.modelId));
      assert.deepEqual(
        near,
        near.toSorted((a, b) => a - b),
      );
    }),
    runs,
  );
});

test('within a model, a smaller demotion comes before a larger one', () => {
  const ranks = [
    'parameters_not_supported',
    'unsteady',
    'weight_zero',
    'too_slow',
    'cooling_down',
    'circuit_open',
  ];
  check(
    fc.property(anyWorld, ({ request, models, given }) => {
      if (request.provider.sort !== null && request.provider.sortAcrossModels) return;
      const { chain, demoted: held } = plan(request, models, given);
      const rank = (one: Candidate): number => {
        const why = held.find(({ candidate: other }) => other === one)?.why;
        // The two that are of one rank.
        return ranks.indexOf(why === 'max_tokens_above_cap' ? 'parameters_not_supported' : (why ?? ''));
      };
      for (const { id } of models) {
        const own = chain.filter(({ modelId }) => modelId === id).map(rank);
        assert.deepEqual(
          own,
          own.toSorted((a, b) => a - b),
        );
      }
    }),
    runs,
  );
});

// spec:compat/2.18
test('without weights the order is that of the file, whatever the prices and the seed', () => {
  check(
    fc.property(anyModels, fc.string(), (drawn, seed) => {
      const bare = drawn.map((one) =>
        one.map((each) => ({ ...each, weight: null, standing: healthy, drained: false })),
      );
      const { request, models, given, all } = worldOf(
        bare,
        {},
        { image: false, tools: false, format: false, max_tokens: undefined },
        0,
        seed,
      );
      assert.deepEqual(plan(request, models, given).chain, all);
      assert.equal(plan(request, models, given).orderedBy, 'file');
    }),
  );
});

const shared = [
  candidate('local', {}),
  candidate('dear', { weight: 1, price: priceOf(2_000_000n) }),
  candidate('cheap', { weight: 1, price: priceOf(1_000_000n) }),
  candidate('half', { weight: 0.5, price: priceOf(1_000_000n) }),
  candidate('last', { weight: 0 }),
];
const oneModel = (candidates: readonly Candidate[]) => [{ id: 'm/0', candidates } as unknown as Model];
const wanting = parseCompletionRequest(
  'chat',
  Buffer.from('{"model":"m/0","messages":[{"role":"user","content":"x"}]}'),
  null,
);
const inSession = (sessionId: string, accountId = 1): RoutingContext => ({
  ...noCircumstances,
  ...seedOf({ sessionId, parameters: {} }, accountId, 'fresh'),
});

// spec:compat/2.18
test('adjacent candidates with weights are chosen by weight over the square of the price', () => {
  const counts = new Map<string, number>();
  const rounds = 20_000;
  for (let n = 0; n < rounds; n += 1) {
    const { chain, orderedBy: by } = plan(wanting, oneModel(shared), inSession(`session ${n}`));
    assert.equal(by, 'session');
    assert.equal(chain[0]?.label, 'local');
    assert.equal(chain.at(-1)?.label, 'last');
    const second = chain[1]?.label ?? '';
    counts.set(second, (counts.get(second) ?? 0) + 1);
  }
  // 1/4 : 1 : 1/2 of 7/4; six standard deviations of the widest are 0.021.
  const expected = { dear: 1 / 7, cheap: 4 / 7, half: 2 / 7 };
  const shares = sharesOf(shared, shared);
  for (const [label, share] of Object.entries(expected)) {
    assert.ok(Math.abs((counts.get(label) ?? 0) / rounds - share) < 0.021, `${label}: ${counts.get(label)}`);
    const chosenShare = shares.get(shared.find((one) => one.label === label) ?? candidate('none', {})) ?? 0;
    assert.ok(Math.abs(chosenShare - share) < 1e-9);
  }
});

test('a session stays with its candidate, and when one is removed only its own sessions move', () => {
  for (let n = 0; n < 2_000; n += 1) {
    const before = plan(wanting, oneModel(shared), inSession(`s${n}`)).chain;
    assert.deepEqual(plan(wanting, oneModel(shared), inSession(`s${n}`)).chain, before);
    // Its circuit is open, which is what being gone is here: the model is the same.
    const health: HealthView = {
      ...noHealthData,
      statusOf: (label) => (label === 'half' ? { ...healthy, circuit: 'open' } : healthy),
    };
    const after = plan(wanting, oneModel(shared), { ...inSession(`s${n}`), health }).chain;
    assert.deepEqual(
      after.filter(({ label }) => label !== 'half'),
      before.filter(({ label }) => label !== 'half'),
    );
    assert.equal(after.at(-1)?.label, 'half');
  }
});

test('two accounts never share a session, and a prompt cache key is a session too', () => {
  const seed = (accountId: number, more: object) =>
    seedOf({ sessionId: null, parameters: {}, ...more }, accountId, 'f');
  assert.notDeepEqual(seed(1, { sessionId: 's' }), seed(2, { sessionId: 's' }));
  assert.deepEqual(seed(1, { sessionId: 's' }), seed(1, { parameters: { prompt_cache_key: 's' } }));
  assert.deepEqual(seed(1, {}), { seed: 'f', isSession: false });
  assert.deepEqual(seed(1, { sessionId: '' }), { seed: 'f', isSession: false });
});

test('price limits are won per million tokens, as numbers or strings, exactly', () => {
  const read = (max_price: unknown) => readPreferences({ max_price }).maxPrice;
  // 0.4 won per 1M tokens is 400,000 pico-won per token.
  assert.deepEqual(read({ prompt: 0.4, completion: '1.2', request: 0.5, image: 3 }), {
    prompt: 400_000n,
    completion: 1_200_000n,
    request: 500_000_000_000n,
  });
  assert.equal(read(null), null);
  for (const bad of [
    1,
    [],
    { prompt: -1 },
    { prompt: 'dear' },
    { completion: true },
    { image: {} },
    { prompt: '1e999' },
  ])
    assert.throws(() => read(bad), /max_price/, JSON.stringify(bad));
  const priced = oneModel([candidate('exact', { price: priceOf(400_000n) })]);
  const kept = (max: number) =>
    plan({ ...wanting, provider: readPreferences({ max_price: { prompt: max } }) }, priced, noCircumstances)
      .chain.length;
  assert.deepEqual([kept(0.4), kept(0.399999)], [1, 0]);
  // A request for a dearer tier may be billed by its rates, or by the ordinary ones.
  const price = { ...priceOf(400_000n), tiers: { priority: priceOf(800_000n), flex: priceOf(200_000n) } };
  const provider = readPreferences({ max_price: { prompt: 0.5 } });
  const keptIn = (service_tier: string, limit = provider) =>
    plan(
      { ...wanting, parameters: { service_tier }, provider: limit },
      oneModel([candidate('tiered', { price })]),
      noCircumstances,
    ).chain.length;
  assert.deepEqual([keptIn('priority'), keptIn('default'), keptIn('flex')], [0, 1, 1]);
  assert.equal(keptIn('flex', readPreferences({ max_price: { prompt: 0.3 } })), 0);
});

test('speed limits are numbers or percentiles: tokens a second, and seconds', () => {
  const read = (value: unknown) => readPreferences({ preferred_max_latency: value }).preferredMaxLatency;
  assert.deepEqual(read(1.5), { p50: 1_500 });
  assert.deepEqual(read({ p90: 2, p99: null }), { p90: 2_000 });
  assert.equal(read({}), null);
  assert.deepEqual(
    readPreferences({ preferred_min_throughput: { p50: 10, p75: 5 } }).preferredMinThroughput,
    {
      p50: 10,
      p75: 5,
    },
  );
  for (const bad of ['1', -1, [], { p50: 'x' }, true, { p75: -1 }])
    assert.throws(() => read(bad), JSON.stringify(bad));
});

test('`partition` and its former name `route` state whether models are sorted as one', () => {
  const across = (sort: unknown, route: unknown = null) => readPreferences({ sort }, route).sortAcrossModels;
  assert.equal(across('price'), false);
  assert.equal(across({ by: 'price', partition: 'none' }), true);
  assert.equal(across({ by: 'price', partition: 'model' }, 'sort'), false);
  assert.equal(across('price', 'sort'), true);
  assert.equal(across('price', 'fallback'), false);
  assert.throws(() => across({ by: 'price', partition: 'all' }), /partition/);
});
