/** What a key may use besides its spend limit (spec:api/21): models, providers, requests a minute. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway, type TestResponse } from '../harness/gateway.ts';
import { type Manager, manager } from '../harness/management.ts';
import { assertError } from '../harness/response-rules.ts';
import { TestClock } from '../harness/test-clock.ts';
import { eventually, until } from '../harness/until.ts';
import { reply, startUpstream, type Upstream } from '../harness/upstream.ts';

let one: Upstream;
let two: Upstream;
let naru: TestGateway;
let mine: Manager;
/** Another node on the same database. */
let beside: TestGateway;
/** That of the first node stands still; that of the second is its own. */
const clocks = [new TestClock(), new TestClock()] as const;
const minuteMs = 60_000;
const beginningMs = Math.ceil(Date.now() / minuteMs) * minuteMs;

before(async () => {
  [one, two] = await Promise.all([startUpstream(), startUpstream()]);
  one.always(reply.chat('one'));
  two.always(reply.chat('two'));
  const models = ['a/first', 'a/second', 'b/third'].map((id) => ({
    id,
    upstreams: id === 'b/third' ? [two.url] : [one.url, two.url],
  }));
  naru = await startTestGateway({ models, clock: clocks[0] });
  beside = await startTestGateway({ models, clock: clocks[1], beside: naru });
  mine = await manager(naru);
});
after(async () => {
  await beside?.close();
  await naru?.close();
  await one?.close();
  await two?.close();
});

const chat = (key: string, more: object, node = naru): Promise<TestResponse> =>
  node.send('POST', '/chat/completions', {
    key,
    body: { messages: [{ role: 'user', content: 'x' }], ...more },
  });

async function served(key: string, more: object): Promise<readonly [model: string, provider: string | null]> {
  const response = await chat(key, more);
  assert.equal(response.status, 200, response.text);
  return [response.json.model, response.headers.get('x-service-provider')];
}

// spec:api/21.1,21.6
test('a key shows its restrictions, and a change sets, keeps and removes each', async () => {
  const { hash } = await mine.issue();
  const none = { allowed_models: null, allowed_providers: null, rpm_limit: null };
  const shown = async (body: object): Promise<object> => {
    const response = await mine.change(hash, body);
    assert.equal(response.status, 200, response.text);
    const { data } = (await mine.read(hash)).json;
    assert.deepEqual(data, response.json.data);
    return Object.fromEntries(Object.keys(none).map((name) => [name, data[name]]));
  };
  assert.deepEqual(await shown({}), none);
  assert.deepEqual(await shown({ rpm_limit: 5 }), { ...none, rpm_limit: 5 });
  const all = { allowed_models: ['a/*', 'b/third'], allowed_providers: ['UP1'], rpm_limit: 6 };
  assert.deepEqual(await shown(all), all);
  assert.deepEqual(await shown({ name: 'renamed' }), all);
  assert.deepEqual(await shown({ allowed_models: null }), { ...all, allowed_models: null });
  assert.deepEqual(await shown(none), none);
  const created = await mine.create({ name: 'restricted', ...all });
  assert.equal(created.status, 201);
  for (const [name, value] of Object.entries(all)) assert.deepEqual(created.json.data[name], value);
});

// spec:api/21.1
test('restrictions that no request could meet, and malformed ones, are rejected', async () => {
  const { hash } = await mine.issue();
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ allowed_models: ['a/first', 'a/frist'] }, /No model matches a\/frist of/],
    [{ allowed_models: ['c/*'] }, /No model matches c\/\*/],
    [{ allowed_models: ['a/*/x'] }, /No model matches/],
    [{ allowed_models: [] }, /allowed_models.*1 to 100 names/],
    [{ allowed_models: Array(101).fill('a/first') }, /allowed_models.*1 to 100 names/],
    [{ allowed_models: 'a/first' }, /allowed_models.*1 to 100 names/],
    [{ allowed_models: [1] }, /allowed_models\[0\].*must be a string/],
    [{ allowed_providers: ['up3'] }, /No provider matches up3/],
    [{ allowed_providers: {} }, /allowed_providers.*1 to 100 names/],
    ...[0, -1, 1.5, 1_000_001, '5', true].map(
      (value) => [{ rpm_limit: value }, /rpm_limit.*from 1/] as const,
    ),
  ];
  const before = (await mine.read(hash)).text;
  for (const [body, message] of wrong) {
    for (const response of [await mine.change(hash, body), await mine.create({ name: 'x', ...body })]) {
      assertError(response, 400, 'invalid_request');
      assert.match(response.json.error.message, message);
    }
  }
  assert.equal((await mine.read(hash)).text, before);
});

// spec:api/21.2
test('a key calls only its models, streamed or not, and of a list of models only those', async () => {
  const { key } = await mine.issue({ allowed_models: ['a/*'] });
  for (const stream of [false, true]) {
    const calls = one.requests.length + two.requests.length;
    const response = await chat(key, { model: 'b/third', stream });
    assert.deepEqual(assertError(response, 400, 'model_not_found'), {
      error_type: 'model_not_found',
      model: 'b/third',
    });
    assert.match(response.json.error.message, /This API key may not use b\/third/);
    assert.equal(one.requests.length + two.requests.length, calls);
  }
  assert.equal((await served(key, { model: 'a/second' }))[0], 'a/second');
  assert.equal((await served(key, { models: ['b/third', 'a/second'] }))[0], 'a/second');
  one.next(reply.status(500));
  two.next(reply.status(500));
  assertError(await chat(key, { models: ['a/first', 'b/third'] }), 502, 'provider_error');
  assertError(await chat(key, { model: 'a/none' }), 400, 'model_not_found');
  const exact = await mine.issue({ allowed_models: ['a/first'] });
  assertError(await chat(exact.key, { model: 'a/second' }), 400, 'model_not_found');
  const text = { model: 'b/third', prompt: 'x' };
  assertError(await naru.send('POST', '/completions', { key, body: text }), 400, 'model_not_found');
});

// spec:api/21.3
test('the providers of a key restrict those of its requests, whatever these prefer', async () => {
  const { key } = await mine.issue({ allowed_providers: ['up2'] });
  assert.deepEqual(await served(key, { model: 'a/first' }), ['a/first', 'up2']);
  for (const provider of [{ order: ['up1'] }, { only: ['up1', 'up2'] }, { sort: 'price' }])
    assert.equal((await served(key, { model: 'a/first', provider }))[1], 'up2');
  for (const provider of [
    { only: ['up1'] },
    { ignore: ['up2'] },
    { order: ['up1'], allow_fallbacks: false },
  ]) {
    const response = await chat(key, { model: 'a/first', provider });
    assert.deepEqual(assertError(response, 404, 'no_endpoints_found')['models'], ['a/first']);
    assert.match(response.json.error.message, /this API key may not use the provider/);
  }
  const other = await mine.issue({ allowed_providers: ['up1'] });
  assertError(await chat(other.key, { model: 'b/third', stream: true }), 404, 'no_endpoints_found');
  assert.equal((await served(other.key, { models: ['b/third', 'a/first'] }))[1], 'up1');
});

// spec:api/21.4
test('the models of a key are those that it may call; the public list stays whole', async () => {
  const listed = async (path: string, body: object): Promise<readonly string[]> => {
    const { key } = await mine.issue(body);
    return (await naru.send('GET', path, { key })).json.data.map(({ id }: { id: string }) => id);
  };
  const all = ['a/first', 'a/second', 'b/third'];
  const own = '/models/user';
  assert.deepEqual(await listed(own, {}), all);
  assert.deepEqual(await listed(own, { allowed_models: ['*'] }), all);
  assert.deepEqual(await listed(own, { allowed_models: ['b/*', 'a/second'] }), ['a/second', 'b/third']);
  assert.deepEqual(await listed(own, { allowed_providers: ['up1'] }), ['a/first', 'a/second']);
  assert.deepEqual(await listed('/models', { allowed_models: ['b/*'] }), all);
});

// spec:api/21.5 spec:errors/5.8
test('a key sends so many requests in each minute of the clock; the next gets 429 with its end', async () => {
  const { key, hash } = await mine.issue({ rpm_limit: 3 });
  const at = (seconds: number) => clocks[0].freeze(beginningMs + seconds * 1000);
  const statuses = async (count: number, more: object = {}) => {
    const sent = Array.from({ length: count }, () => chat(key, { model: 'a/first', ...more }));
    return (await Promise.all(sent)).map(({ status }) => status).sort();
  };
  at(10);
  assert.deepEqual(await statuses(5), [200, 200, 200, 429, 429]);
  for (const stream of [false, true]) {
    const response = await chat(key, { model: 'a/first', stream });
    const metadata = assertError(response, 429, 'rate_limit_exceeded');
    assert.deepEqual(metadata, { error_type: 'rate_limit_exceeded', retry_after_sec: 50 });
    assert.equal(response.headers.get('retry-after'), '50');
    assert.match(response.json.error.message, /3 requests a minute/);
  }
  const free = await mine.issue();
  assert.equal((await chat(free.key, { model: 'a/first' })).status, 200);
  at(59.999);
  assert.equal((await chat(key, { model: 'a/first' })).headers.get('retry-after'), '1');
  at(60);
  assert.deepEqual(await statuses(4), [200, 200, 200, 429]);
  assert.equal((await mine.change(hash, { rpm_limit: 4 })).status, 200);
  assert.deepEqual(await statuses(2), [200, 429]);
  assert.equal((await mine.change(hash, { rpm_limit: null })).status, 200);
  assert.deepEqual(await statuses(2), [200, 200]);
  clocks[0].thaw();
});

// spec:api/16.6,16.7
test('rejections for the rate are recorded with a count, as others of a key are', async () => {
  clocks[0].freeze(beginningMs);
  const { key, hash } = await mine.issue({ rpm_limit: 1 });
  assert.equal((await chat(key, { model: 'a/first' })).status, 200);
  for (let left = 3; left > 0; left -= 1)
    assertError(await chat(key, { model: 'a/first' }), 429, 'rate_limit_exceeded');
  clocks[0].thaw();
  await until('the records are written', async () => {
    const [row] = await naru.database.query<{ count: bigint | null }>(
      `SELECT sum((detail->>'refusals')::int) AS count FROM generation g JOIN api_key k ON k.id = g.key_id
       WHERE k.hash = $1 AND status = 429 AND error_type = 'rate_limit_exceeded' AND cost = 0`,
      [Buffer.from(hash, 'hex')],
    );
    return row?.count === 3n;
  });
});

// spec:api/21.5,21.6
test('a change applies on every node within a second, and each node counts for itself', async () => {
  clocks[1].freeze(beginningMs);
  const { key, hash } = await mine.issue();
  const statusThere = async (model = 'a/first') => (await chat(key, { model }, beside)).status;
  assert.equal(await statusThere('b/third'), 200);
  await mine.change(hash, { allowed_models: ['a/*'], rpm_limit: 2 });
  await eventually('the other node follows', 1_000, async () =>
    (await statusThere('b/third')) === 200 ? null : true,
  );
  await eventually('the other node counts', 10_000, async () =>
    (await statusThere()) === 429 ? true : null,
  );
  assert.equal((await chat(key, { model: 'a/first' })).status, 200);
  clocks[1].thaw();
});
