import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildCatalogue, statedPrices } from '../../src/catalogue/catalogue.ts';
import { noDrains } from '../../src/catalogue/model.ts';
import {
  explainRoute,
  explanationText,
  queryOf,
  questionOf,
  type RouteQuestion,
} from '../../src/inference/explain-route.ts';
import { systemClock } from '../../src/time/clock.ts';
import { Health } from '../../src/upstreams/health.ts';
import { noHealthData } from '../../src/upstreams/health-status.ts';
import { testConfig } from '../harness/gateway.ts';

const price = (prompt: number) => ({ prompt, completion: prompt * 3, currency: 'KRW', per: '1M' });
const config = testConfig({
  models: [
    {
      id: 'acme/one',
      upstreams: ['http://127.0.0.1:1/v1', 'http://127.0.0.1:2/v1', 'http://127.0.0.1:3/v1'],
      candidates: [
        { price: price(210), input_modalities: ['text', 'image'] },
        { price: price(90), context_length: 4_096 },
        { price: price(600), zdr: true },
      ],
    },
    {
      id: 'acme/two',
      upstreams: ['http://127.0.0.1:1/v1', 'http://127.0.0.1:2/v1'],
      candidates: [
        { weight: 1, price: price(100) },
        { weight: 1, price: price(200) },
      ],
    },
  ],
});
const catalogue = buildCatalogue(config, statedPrices(config, 1));
const question = (more: Partial<RouteQuestion> = {}): RouteQuestion => ({
  models: ['acme/one'],
  provider: null,
  promptTokens: 0,
  maxTokens: null,
  image: false,
  tools: false,
  session: null,
  accountId: 1,
  restrictions: null,
  ...more,
});

/** Health after some traffic, at 12:03:19 in Seoul. */
function someHealth(): Health {
  let nowMs = 10_000_000;
  const civilMs = Date.parse('2026-11-21T12:03:11+09:00');
  const clock = { ...systemClock, monotonic: () => nowMs, now: () => civilMs + nowMs - 10_000_000 };
  const health = new Health(clock, config.routing);
  for (let n = 0; n < 499; n += 1)
    health.ended('up1/upstream-one', { broken: false, tokens: 10, tookMs: 100 });
  health.failed('up1/upstream-one', 500);
  for (let n = 0; n < 5; n += 1) health.failed('up3/upstream-one', 500);
  health.failed('up2/upstream-one', 429, { retryAfterMs: 20_000 });
  nowMs += 2_000;
  return health;
}

const offline = { catalogue, health: noHealthData, drains: noDrains };

const live = (more: Partial<RouteQuestion> = {}) =>
  explainRoute(question(more), { catalogue, health: someHealth(), drains: noDrains, knowledge: 'live' });

test('an explanation reads like a response to "why this provider?"', () => {
  assert.equal(
    explanationText(live(), 'live'),
    [
      'acme/one: 3 of 3 candidates eligible.',
      '1. up1/upstream-one is first: it is healthy (99.8 % of 500 in 30 min), and it is first in the configuration; ₩0.21 + ₩0.63 per 1,000 tokens.',
      '2. up2/upstream-one is second: it is rate-limited, 18 s of its cool-down are left.',
      '3. up3/upstream-one is third: its circuit is open since 12:03:11 KST (5 failures in a row), probe in 8 s.',
      'Health as the running server sees it now.',
    ].join('\n'),
  );
});

test('a skipped candidate has its reason with figures', () => {
  const why = (more: Partial<RouteQuestion>) =>
    live(more)
      .candidates.filter(({ place }) => place === null)
      .map(({ why: sentence }) => sentence);
  assert.deepEqual(why({ promptTokens: 12_345 }), [
    "up2/upstream-one is skipped: its context of 4,096 is smaller than the prompt's 12,345 tokens",
  ]);
  assert.deepEqual(why({ image: true }), [
    'up2/upstream-one is skipped: a kind of input is not supported',
    'up3/upstream-one is skipped: a kind of input is not supported',
  ]);
  assert.deepEqual(why({ provider: '{"max_price":{"prompt":"300"}}' }), [
    'up3/upstream-one is skipped: ₩0.6 + ₩1.8 per 1,000 tokens is more than `provider.max_price` allows',
  ]);
  const drains = { isDrained: ({ label }: { readonly label: string }) => label === 'up2/upstream-one' };
  const drained = explainRoute(question(), { ...offline, drains, knowledge: 'none' });
  assert.equal(
    drained.candidates.at(-1)?.why,
    'up2/upstream-one is skipped: an operator drained it, so it takes no new requests',
  );
  const noCandidate = live({ promptTokens: 1_000_000 });
  assert.match(
    explanationText(noCandidate, 'live'),
    /^No candidate can serve acme\/one for this request: 404/,
  );
});

test('the restrictions of a key remove candidates and models as they do for its calls', () => {
  const restrictions = { allowed_models: ['acme/*'], allowed_providers: ['up3'] };
  const sent = questionOf(new URLSearchParams(queryOf(question({ restrictions }))));
  assert.deepEqual(
    live(sent).candidates.map(({ place, candidate, reason }) => [place, candidate, reason]),
    [
      [1, 'up3/upstream-one', null],
      [null, 'up1/upstream-one', 'not_allowed'],
      [null, 'up2/upstream-one', 'not_allowed'],
    ],
  );
  assert.throws(() => live({ restrictions: { allowed_models: ['acme/two'] } }), /This API key may not use/);
});

test('the reason of a rank is what the request and the configuration state', () => {
  const first = (more: Partial<RouteQuestion>) =>
    explainRoute(question(more), { ...offline, knowledge: 'none' }).candidates[0]?.why ?? '';
  assert.match(
    first({ provider: '{"sort":"price"}' }),
    /^up2\/.*its health is unknown, and it is the cheapest/,
  );
  assert.match(first({ provider: '{"order":["up3"]}' }), /^up3\/.*`provider.order` puts it here/);
  assert.match(first({ provider: '{"only":["up3"]}' }), /the only eligible candidate/);
  assert.match(
    first({ models: ['acme/two'], session: 's' }),
    /it comes first for (80|20) % of requests \(this session keeps/,
  );
  const two = explainRoute(question({ models: ['acme/one', 'acme/two'] }), {
    ...offline,
    knowledge: 'none',
  });
  assert.match(two.candidates[3]?.why ?? '', /\(acme\/two\) is fourth: .*its model comes after acme\/one/);
  assert.match(explanationText(two, 'none'), /Without health data: no running server was found\.$/);
});

test('an explanation changes neither health nor the next explanation', () => {
  const health = someHealth();
  const known = { catalogue, health, drains: noDrains, knowledge: 'live' } as const;
  const before = explainRoute(question(), known);
  assert.deepEqual(explainRoute(question(), known), before);
  assert.equal(health.statusOf('up3/upstream-one').circuit, 'open');
});

test('a question reaches the server unchanged; an invalid one is rejected like a request', () => {
  const request = question({
    models: ['acme/one', 'acme/two'],
    provider: '{"only":["가"]}',
    promptTokens: 7,
    maxTokens: 9,
    image: true,
    tools: true,
    session: 'a&b=c',
    accountId: 3,
  });
  assert.deepEqual(questionOf(new URLSearchParams(queryOf(request))), request);
  assert.deepEqual(questionOf(new URLSearchParams(queryOf(question()))), question());
  assert.deepEqual(questionOf(new URLSearchParams('model=acme/one')).models, ['acme/one']);
  for (const odd of [
    question({ models: [] }),
    question({ models: ['nobody/none'] }),
    question({ provider: '{' }),
    question({ provider: '[]' }),
    question({ provider: '{"only":1}' }),
    question({ maxTokens: -2 }),
  ])
    assert.throws(() => explainRoute(odd, { ...offline, knowledge: 'none' }), {
      name: 'Refusal',
    });
});
