import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { gate, reply, startUpstream, type Upstream } from '../harness/upstream.ts';

let one: Upstream;
let two: Upstream;
let naru: TestGateway;
let account: TestAccount;

before(async () => {
  [one, two] = await Promise.all([startUpstream(), startUpstream()]);
  naru = await startTestGateway({
    models: [
      { id: 'test/race', upstreams: [one.url, two.url] },
      {
        id: 'test/two',
        upstreams: [one.url, two.url],
        candidates: [
          {
            price: { prompt: 9, completion: 9, currency: 'KRW', per: 'token', confirm: true },
            quantization: 'fp16',
          },
          {
            price: { prompt: 1, completion: 1, currency: 'KRW', per: 'token' },
            quantization: 'int4',
            zdr: true,
            distillable: true,
          },
        ],
      },
    ],
  });
  account = await naru.account({ credit: '100000000' });
});
after(async () => {
  await naru?.close();
  await one?.close();
  await two?.close();
});

/**
 * The provider that responds with these preferences; both upstreams are healthy unless the test
 * changed that.
 */
async function servedBy(provider: object, model = 'test/two'): Promise<string | null> {
  one.always(reply.chat('one'));
  two.always(reply.chat('two'));
  const response = await send(provider, model);
  assert.equal(response.status, 200, response.text);
  return response.headers.get('x-service-provider');
}

function send(provider: unknown, model = 'test/two') {
  const body = { model, messages: [{ role: 'user', content: 'x' }], provider };
  return naru.send('POST', '/chat/completions', { key: account.key, body });
}

test('without preferences candidates are tried in configuration order', async () => {
  assert.equal(await servedBy({}), 'up1');
});

test('`order`, `only`, `ignore`, `quantizations`, `zdr` and `sort: price` choose the candidate', async () => {
  assert.equal(await servedBy({ order: ['up2'] }), 'up2');
  assert.equal(await servedBy({ order: ['nobody', 'Upstream 2', 'up1'] }), 'up2');
  assert.equal(await servedBy({ only: ['up2'] }), 'up2');
  assert.equal(await servedBy({ ignore: ['up1'] }), 'up2');
  assert.equal(await servedBy({ quantizations: ['int4'] }), 'up2');
  assert.equal(await servedBy({ zdr: true }), 'up2');
  assert.equal(await servedBy({ enforce_distillable_text: true }), 'up2');
  assert.equal(await servedBy({ enforce_distillable_text: false }), 'up1');
  assert.equal(await servedBy({ sort: 'price' }), 'up2');
  assert.equal(await servedBy({ sort: { by: 'price', partition: 'model' } }), 'up2');
  assert.equal(await servedBy({ sort: 'exacto' }), 'up1');
});

// spec:conformance/46
test('`sort: throughput` follows the measured throughput, not the configuration order', async () => {
  const usage = { prompt_tokens: 5, completion_tokens: 60, total_tokens: 65 };
  const held = gate();
  one.next(reply.chat('slow', { usage }).pauseAt('head', held));
  const slow = send({ only: ['up1'] }, 'test/race');
  await held.reached;
  two.next(reply.chat('quick', { usage }));
  const beganMs = performance.now();
  assert.equal((await send({ only: ['up2'] }, 'test/race')).status, 200);
  // As long again, so that the two do not fall into one bucket of the percentiles on a busy machine.
  await new Promise((resolve) => setTimeout(resolve, performance.now() - beganMs));
  held.open();
  assert.equal((await slow).status, 200);
  assert.equal(await servedBy({ sort: 'throughput' }, 'test/race'), 'up2');
});

test('`allow_fallbacks: false` tries the first candidate only', async () => {
  one.always(reply.status(500));
  two.always(reply.chat('two'));
  const tried = two.requests.length;
  const response = await send({ allow_fallbacks: false });
  assert.equal(response.json.error.metadata.error_type, 'provider_error');
  assert.equal(two.requests.length, tried);
});

test('preferences that no candidate meets return 404 without an attempt, and malformed ones 400', async () => {
  const tried = one.requests.length + two.requests.length;
  assert.equal((await send({ enforce_distillable_text: true }, 'test/race')).status, 404);
  assert.equal((await send({ only: ['nobody'] })).json.error.metadata.error_type, 'no_endpoints_found');
  for (const bad of [{ only: 'up1' }, { order: [1] }, { allow_fallbacks: 'no' }, { sort: 1 }, 'up1', []]) {
    assert.equal((await send(bad)).json.error.metadata.error_type, 'invalid_request', JSON.stringify(bad));
  }
  assert.equal(one.requests.length + two.requests.length, tried);
});

// spec:compat/5
test('a malformed, unknown or misspelt preference is rejected and named, and every documented one is known', async () => {
  const bad: readonly (readonly [name: string, preferences: string])[] = [
    ['data_collection', '{"data_collection":"Deny"}'],
    ['data_collection', '{"data_collection":"none"}'],
    ['data_collection', '{"data_collection":false}'],
    ['sort', '{"sort":"zzz"}'],
    ['sort', '{"sort":{"by":"zzz"}}'],
    ['sort', '{"sort":{"by":"price","partition":"all"}}'],
    ['quantizations[1]', '{"quantizations":["fp8","fp9"]}'],
    ['quantizations[0]', '{"quantizations":["constructor"]}'],
    ['enforce_distillable_text', '{"enforce_distillable_text":"true"}'],
    ['max_price', '{"max_price":{"prompt":"cheap"}}'],
    ['max_price.promt', '{"max_price":{"promt":1}}'],
    ['preferred_max_latency', '{"preferred_max_latency":{"p95":1}}'],
    ['only[1]', '{"only":["up1",null]}'],
    ['onyl', '{"only":["up1"],"onyl":["up1"]}'],
    ['__proto__', '{"__proto__":{}}'],
  ];
  for (const [name, preferences] of bad) {
    const response = await send(JSON.parse(preferences));
    assert.equal(response.json.error.metadata.error_type, 'invalid_request', preferences);
    assert.ok(response.json.error.message.includes(`\`provider.${name}`), response.json.error.message);
  }
  const known = {
    ...{ order: ['up1'], allow_fallbacks: true, require_parameters: false, data_collection: 'allow' },
    ...{ zdr: false, enforce_distillable_text: false, only: ['up1', 'up2'], ignore: [] },
    ...{ quantizations: ['fp16', 'unknown'], sort: { by: null, partition: 'none' } },
    ...{ max_price: { prompt: '1e9', completion: 1e9, request: 5, image: '1', audio: '1' } },
    ...{ preferred_min_throughput: { p50: 1, p75: 1, p90: 1, p99: null }, preferred_max_latency: 5 },
  };
  assert.equal(await servedBy(known), 'up1');
  assert.equal(await servedBy(Object.fromEntries(Object.keys(known).map((name) => [name, null]))), 'up1');
  assert.equal((await send({ data_collection: 'disallow' }, 'test/race')).status, 404);
});
