import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Page, parseExposition } from '../harness/exposition.ts';
import { engineSlot, until } from '../harness/fake-engine.ts';
import { startTestGateway, type TestGateway, testPrice } from '../harness/gateway.ts';
import { gate, reply, startUpstream, type Upstream } from '../harness/upstream.ts';

/* `GET /metrics` on the admin port, as Prometheus reads it (spec:operator/3.3). */

let engine: Upstream;
let naru: TestGateway;

before(async () => {
  engine = await startUpstream();
  engine.answer((received) =>
    received.path.startsWith('/v1/chat') ? reply.chat('네') : reply.json({ data: [] }),
  );
  const { driver } = engineSlot({ crashAtStart: 1 });
  const command = driver.kind === 'process' ? driver.command : [];
  naru = await startTestGateway({
    config: {
      slots: [
        {
          name: 'lane',
          external: { base_url: engine.url.replace(/\/v1$/, ''), health_path: '/v1/models' },
          max_concurrency: 1,
        },
        { name: 'broken', command },
        { name: 'unused', command },
      ],
      models: ['lane', 'broken'].map((slot) => ({
        id: `test/${slot}`,
        context_length: 1000,
        price: testPrice,
        candidates: [{ slot }],
      })),
    } as unknown as Record<string, object>,
  });
});
after(async () => {
  await naru?.close();
  await engine?.close();
});

async function page(): Promise<Page> {
  const response = await fetch(`http://127.0.0.1:${naru.gateway.admin.port}/metrics?x=y`);
  assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  return parseExposition(await response.text());
}

function ask(model: string, key: string): Promise<{ status: number }> {
  const body = { model, messages: [{ role: 'user', content: '안녕' }] };
  return naru.send('POST', '/chat/completions', { key, body });
}

test('a slot without requests has every series at zero', async () => {
  const { value, types, series } = await page();
  const slot = 'unused';
  const names = [...types.keys()].filter((name) => name.startsWith('slot_'));
  assert.deepEqual(names.toSorted(), [
    ...['slot_demand', 'slot_evictions_total', 'slot_in_flight', 'slot_queue_depth', 'slot_restarts_total'],
    ...['slot_start_seconds', 'slot_starts_total', 'slot_state', 'slot_wait_seconds'],
  ]);
  const states = series.filter((one) => one.name === 'slot_state' && one.labels['slot'] === slot);
  assert.equal(states.length, 11);
  assert.deepEqual(
    states.filter((one) => one.value !== 0).map((one) => one.labels['state']),
    ['COLD'],
  );
  const counted = series.filter((one) => one.labels['slot'] === slot && one.name !== 'slot_state');
  assert.ok(counted.length > 30 && counted.every((one) => one.value === 0));
  assert.equal(value('slot_demand', { slot }), 0);
});

test('requests in flight and in the queue are the demand, and their waits are measured', async () => {
  const { key } = await naru.account();
  const hold = gate();
  engine.answer((received) =>
    received.path.startsWith('/v1/chat') ? reply.chat('네').holdAt(0, hold) : reply.json({ data: [] }),
  );
  const answers = Array.from({ length: 3 }, () => ask('test/lane', key));
  await until('the queue', () => {
    const { inFlight, queued } = naru.gateway.slots.status('lane');
    return inFlight === 1 && queued === 2;
  });
  const busy = await page();
  const slot = 'lane';
  assert.deepEqual(
    ['slot_in_flight', 'slot_queue_depth', 'slot_demand'].map((name) => busy.value(name, { slot })),
    [1, 2, 3],
  );
  assert.equal(busy.value('slot_state', { slot, state: 'READY' }), 1);
  assert.equal(busy.value('slot_state', { slot, state: 'COLD' }), 0);
  hold.open();
  assert.deepEqual([...new Set((await Promise.all(answers)).map(({ status }) => status))], [200]);
  await until('free lanes', () => naru.gateway.slots.status(slot).inFlight === 0);
  const { value } = await page();
  assert.equal(value('slot_demand', { slot }), 0);
  assert.equal(value('slot_wait_seconds_count', { slot, outcome: 'lease' }), 3);
  assert.equal(value('slot_starts_total', { slot, outcome: 'ready' }), 1);
  assert.equal(value('slot_start_seconds_count', { slot }), 1);
});

test('a failed start is counted as failed, with its waiting requests', async () => {
  const { key } = await naru.account();
  assert.equal((await ask('test/broken', key)).status, 503);
  const { value } = await page();
  const slot = 'broken';
  assert.equal(value('slot_starts_total', { slot, outcome: 'failed' }), 1);
  assert.equal(value('slot_starts_total', { slot, outcome: 'ready' }), 0);
  assert.equal(value('slot_start_seconds_count', { slot }), 0);
  assert.equal(value('slot_wait_seconds_count', { slot, outcome: 'loading' }), 1);
});

test('requests are counted by the path of their route and their status', async () => {
  await naru.send('GET', '/models');
  const { value } = await page();
  assert.equal(value('naru_requests_total', { route: '/api/v1/models', status: '200' }), 1);
  await until('nothing in flight', async () => (await page()).value('naru_requests_in_flight') === 0);
});

test('an account and its keys are counted from their first request on', async () => {
  const before = await page();
  const { key, another } = await naru.account();
  for (const each of [key, key, (await another()).key]) await naru.send('GET', '/key', { key: each });
  const { value } = await page();
  assert.equal(value('naru_known_accounts') - before.value('naru_known_accounts'), 1);
  assert.equal(value('naru_known_keys') - before.value('naru_known_keys'), 2);
});

test('the admin port serves only GET /metrics', async () => {
  const root = `http://127.0.0.1:${naru.gateway.admin.port}`;
  for (const [method, path] of [
    ['POST', '/metrics'],
    ['GET', '/metrics/'],
    ['GET', '/slots'],
    ['POST', '/slots/lane/stop'],
  ] as const)
    assert.equal((await fetch(`${root}${path}`, { method })).status, 404);
});
