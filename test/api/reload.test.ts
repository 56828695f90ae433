import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LiveCatalog } from '../../src/app/live-catalog.ts';
import { publishPrices } from '../../src/catalogue/publish.ts';
import { acquireTarget, type TargetResolver } from '../../src/inference/upstream-target.ts';
import { silentLog } from '../../src/log/log.ts';
import { callUpstream } from '../../src/upstreams/call.ts';
import { startTestGateway, type TestGateway, type TestModel, testConfig } from '../harness/gateway.ts';
import { reply, startUpstream, type Upstream } from '../harness/upstream.ts';
import { gate } from '../harness/upstream-actions.ts';

let first: Upstream;
let second: Upstream;
let naru: TestGateway;
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

before(async () => {
  [first, second] = await Promise.all([startUpstream(), startUpstream()]);
  first.always(reply.chat('first', { usage }));
  second.always(reply.chat('second', { usage }));
  naru = await startTestGateway({ models: [{ id: 'test/a', upstreams: [first.url] }] });
});
after(async () => {
  await naru?.close();
  await first?.close();
  await second?.close();
});

/** The configuration as it was started with, but for the models. */
function changed(models: readonly TestModel[], config: Readonly<Record<string, object>> = {}) {
  return testConfig({ models, config });
}

function send(key: string, model: string) {
  return naru.send('POST', '/chat/completions', {
    key,
    body: { model, messages: [{ role: 'user', content: 'x' }] },
  });
}

test('a reload adds new models, removes old ones and bills at the new price, without losing a request', async () => {
  const { key } = await naru.account();
  const slow = first.request(first.requests.length + 1);
  const before = send(key, 'test/a');
  await slow;
  const price = { prompt: 3, completion: 4, currency: 'KRW', per: 'token', confirm: true };
  await naru.gateway.reload(changed([{ id: 'test/b', upstreams: [second.url], model: { price } }]));
  assert.equal((await before).status, 200);
  assert.equal((await send(key, 'test/a')).json.error.metadata.error_type, 'model_not_found');
  const response = await send(key, 'test/b');
  assert.equal(response.json.usage.cost, 10 * 3 + 5 * 4);
  assert.deepEqual(
    (await naru.send('GET', '/models')).json.data.map((model: { id: string }) => model.id),
    ['test/b'],
  );
  await naru.settled();
  assert.deepEqual((await naru.operator.verifyLedger()).differences, []);
});

test('a change that needs a restart is rejected, and everything stays unchanged', async () => {
  const { key } = await naru.account();
  await naru.gateway.reload(changed([{ id: 'test/b', upstreams: [second.url] }]));
  const wanted = changed([{ id: 'test/c', upstreams: [first.url] }], { keys: { prefix: 'sk-x-' } });
  await assert.rejects(naru.gateway.reload(wanted), /`keys` changed: that takes a restart/);
  assert.equal((await send(key, 'test/b')).status, 200);
});

test('of two concurrent reloads the later configuration stays, however long the earlier one takes', async () => {
  const parts = { database: naru.database, log: silentLog };
  const models = ['test/b', 'test/c', 'test/d'].map((id) => ({ id, upstreams: [second.url] }));
  await publishPrices(naru.database, changed(models), { atMs: naru.clock.now(), announce: 'edition' });
  const of = (id: string) => changed([{ id, upstreams: [second.url] }]);
  const offer = await LiveCatalog.open(parts, of('test/b'));
  const prepared = Promise.withResolvers<() => void>();
  const earlier = offer.apply(of('test/c'), () => prepared.promise);
  const later = offer.apply(of('test/d'), async () => () => {});
  // The duration of a change that waits for no request.
  await Promise.race([later, naru.database.query('SELECT pg_sleep(0.2)')]);
  prepared.resolve(() => {});
  await Promise.all([earlier, later]);
  assert.deepEqual(
    offer.catalogue.models.map(({ id }) => id),
    ['test/d'],
  );
  await offer.close();
});

// spec:money/2.5
test('a generation keeps the price version that billed it', async () => {
  const { key, accountId } = await naru.account();
  const versions: number[] = [];
  for (const prompt of [1, 2, 2]) {
    const price = { prompt, completion: 1, currency: 'KRW', per: 'token', confirm: true };
    await naru.gateway.reload(changed([{ id: 'test/b', upstreams: [second.url], model: { price } }]));
    const { json } = await send(key, 'test/b');
    const record = await naru.send('GET', `/generation?id=${json.id}`, { key });
    versions.push(record.json.data.price_version);
    assert.equal(record.json.data.total_cost, 10 * prompt + 5);
  }
  assert.equal(new Set(versions).size, 2, `a new price is a new version, the same price is not: ${versions}`);
  assert.ok(accountId > 0);
});

test('a reload waits for no request in flight, nor does the next one; requests end with the configuration they began with', async () => {
  const { key } = await naru.account({ credit: '10000000' });
  const barrier = gate();
  await naru.gateway.reload(changed([{ id: 'test/b', upstreams: [second.url] }]));
  second.next(reply.chat('slow', { usage }).pauseAt('head', barrier));
  const slow = send(key, 'test/b');
  await barrier.reached;
  for (const prompt of [7, 8]) {
    const price = { prompt, completion: 1, currency: 'KRW', per: 'token', confirm: true };
    await naru.gateway.reload(changed([{ id: 'test/b', upstreams: [second.url], model: { price } }]));
    const meanwhile = await send(key, 'test/b');
    assert.equal(meanwhile.json.usage?.cost, 10 * prompt + 5, meanwhile.text);
  }
  barrier.open();
  const response = await slow;
  assert.equal(response.json.choices[0].message.content, 'slow');
  assert.equal(response.json.usage.cost, 10 + 5 * 2);
});

test('a candidate that is removed from the configuration before its attempt fails, and the request continues', async () => {
  const { key } = await naru.account({ credit: '10000000' });
  const gone = changed([{ id: 'test/b', upstreams: [first.url, second.url] }]);
  await naru.gateway.reload(gone);
  const hold = gate();
  first.next(reply.status(503).pauseAt('head', hold));
  const sent = send(key, 'test/b');
  await hold.reached;
  await naru.gateway.reload(changed([{ id: 'test/b', upstreams: [first.url] }]));
  hold.open();
  const { status, json } = await sent;
  assert.deepEqual([status, json.error.metadata.error_type], [502, 'provider_error']);
});

test('a request that is being encoded when its provider is replaced uses that provider', async () => {
  const parts = { database: naru.database, log: silentLog };
  const of = (id: string) => changed([{ id, upstreams: [second.url] }]);
  const offer = await LiveCatalog.open(parts, of('test/b'));
  const [candidate] = offer.catalogue.models.flatMap(({ candidates }) => candidates);
  assert.ok(candidate !== undefined);
  const signal = new AbortController().signal;
  const callers = { provider: (slug: string) => offer.provider(slug) } as TargetResolver;
  const target = await acquireTarget(callers, candidate, {
    accountId: 1,
    exchange: { requestId: 'r', startedMs: 0, signal, memory: null },
    trace: null,
    attempts: [],
  });
  assert.ok(target.kind === 'acquired');
  await offer.apply(of('test/c'), async () => () => {});
  const request = target.request({ path: '/chat/completions', headers: {}, body: '{}' });
  const response = await callUpstream(request, { cancelReason: null, onCancel: null });
  assert.equal(response.status, 200);
  response.body.cancel(new Error('enough'));
  target.release('served');
  await offer.close();
});

test('a configuration whose providers cannot be opened publishes no price', async () => {
  const published = async () => (await naru.operator.readPublished()).map(({ id }) => id);
  const before = await published();
  const price = { prompt: 99, completion: 1, currency: 'KRW', per: 'token', confirm: true };
  const wanted = changed([{ id: 'test/b', upstreams: [second.url], model: { price } }]);
  const providers = wanted.providers.map((provider) => ({ ...provider, dialect: 'unheard' as 'openai' }));
  await assert.rejects(naru.gateway.reload({ ...wanted, providers }), /dialect/);
  assert.deepEqual(await published(), before);
});

test('a reload changes limits from the next request on', async () => {
  const { key } = await naru.account();
  const models = [{ id: 'test/b', upstreams: [second.url] }];
  const body = { model: 'test/b', messages: [{ role: 'user', content: 'x'.repeat(2000) }] };
  const send = () => naru.send('POST', '/chat/completions', { key, body });
  assert.equal((await send()).status, 200);
  await naru.gateway.reload(changed(models, { limits: { body_bytes: 1024 } }));
  assert.equal((await send()).status, 413);
  await naru.gateway.reload(changed(models));
  assert.equal((await send()).status, 200);
});

test('a reload adds, changes and removes slots under load without losing a request', async (t) => {
  const engines = await Promise.all(['one', 'two'].map(() => startUpstream()));
  t.after(() => Promise.all(engines.map((engine) => engine.close())));
  engines.forEach((engine, n) => {
    engine.respond((received) =>
      received.path.startsWith('/v1/chat') ? reply.chat(`engine ${n}`, { usage }) : reply.json({ data: [] }),
    );
  });
  const { key } = await naru.account({ credit: '100000000' });
  const local = { id: 'test/local', upstreams: [], model: { candidates: [{ slot: 'lane' }] } };
  const withSlot = (engine: number, lanes: number) => {
    const base_url = engines[engine]?.url.replace(/\/v1$/, '');
    const slot = { name: 'lane', external: { base_url, health_path: '/v1/models' }, max_concurrency: lanes };
    return changed([local], { slots: [slot] });
  };
  await naru.gateway.reload(withSlot(0, 1));
  assert.equal((await send(key, 'test/local')).json.choices[0].message.content, 'engine 0');
  const responses = Array.from({ length: 20 }, () => send(key, 'test/local'));
  await naru.gateway.reload(withSlot(0, 4));
  responses.push(...Array.from({ length: 20 }, () => send(key, 'test/local')));
  await naru.gateway.reload(withSlot(1, 2));
  responses.push(...Array.from({ length: 20 }, () => send(key, 'test/local')));
  const all = await Promise.all(responses);
  assert.deepEqual(
    all.map(({ status }) => status),
    Array(60).fill(200),
  );
  assert.equal(all.at(-1)?.json.choices[0].message.content, 'engine 1');
  await naru.gateway.reload(changed([{ id: 'test/b', upstreams: [second.url] }]));
  assert.deepEqual(naru.gateway.slots.statuses(), []);
});
