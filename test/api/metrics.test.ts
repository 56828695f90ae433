import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { type Page, parseExposition } from '../harness/exposition.ts';
import { engineSlot } from '../harness/fake-engine.ts';
import { startTestGateway, type TestGateway, testPrice } from '../harness/gateway.ts';
import { until } from '../harness/until.ts';
import { gate, reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';

/* `GET /metrics` on the admin port, as Prometheus reads it (spec:operator/3.3). */

let engine: Upstream;
let upstream: Upstream;
let naru: TestGateway;

before(async () => {
  engine = await startUpstream();
  engine.respond((received) =>
    received.path.startsWith('/v1/chat') ? reply.chat('네') : reply.json({ data: [] }),
  );
  const { driver } = engineSlot({ crashAtStart: 1 });
  const command = driver.kind === 'process' ? driver.command : [];
  upstream = await startUpstream();
  naru = await startTestGateway({
    models: [{ id: 'test/echo', upstreams: [upstream.url] }],
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
      models: [
        ...['lane', 'broken'].map((slot) => ({ id: `test/${slot}`, candidates: [{ slot }] })),
        { id: 'test/echo', candidates: [{ provider: 'up1', model: 'echo' }] },
      ].map((model) => ({ ...model, context_length: 1000, price: testPrice })),
    } as unknown as Record<string, object>,
  });
});
after(async () => {
  await naru?.close();
  await engine?.close();
  await upstream?.close();
});

async function page(): Promise<Page> {
  const response = await fetch(`http://127.0.0.1:${naru.gateway.admin.port}/metrics?x=y`);
  assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  return parseExposition(await response.text());
}

function send(model: string, key: string, more: object = {}): Promise<{ status: number }> {
  const body = { ...more, model, messages: [{ role: 'user', content: '안녕' }] };
  return naru.send('POST', '/chat/completions', { key, body });
}

test('a slot without requests has every series at zero', async () => {
  const { value, types, series } = await page();
  const slot = 'unused';
  const names = [...types.keys()].filter((name) => name.startsWith('naru_slot_'));
  assert.deepEqual(names.toSorted(), [
    ...[
      'naru_slot_demand',
      'naru_slot_evictions_total',
      'naru_slot_in_flight',
      'naru_slot_queue_depth',
      'naru_slot_restarts_total',
    ],
    ...['naru_slot_start_seconds', 'naru_slot_starts_total', 'naru_slot_state', 'naru_slot_wait_seconds'],
  ]);
  const states = series.filter((one) => one.name === 'naru_slot_state' && one.labels['slot'] === slot);
  assert.equal(states.length, 11);
  assert.deepEqual(
    states.filter((one) => one.value !== 0).map((one) => one.labels['state']),
    ['COLD'],
  );
  const counted = series.filter((one) => one.labels['slot'] === slot && !one.name.endsWith('slot_state'));
  assert.ok(counted.length > 30 && counted.every((one) => one.value === 0));
  assert.equal(value('naru_slot_demand', { slot }), 0);
});

test('requests in flight and in the queue are the demand, and their waits are measured', async () => {
  const { key } = await naru.account();
  const barrier = gate();
  engine.respond((received) =>
    received.path.startsWith('/v1/chat') ? reply.chat('네').pauseAt(0, barrier) : reply.json({ data: [] }),
  );
  const responses = Array.from({ length: 3 }, () => send('test/lane', key));
  await until('the queue', () => {
    const { inFlight, queued } = naru.gateway.slots.status('lane');
    return inFlight === 1 && queued === 2;
  });
  const busy = await page();
  const slot = 'lane';
  assert.deepEqual(
    ['naru_slot_in_flight', 'naru_slot_queue_depth', 'naru_slot_demand'].map((name) =>
      busy.value(name, { slot }),
    ),
    [1, 2, 3],
  );
  assert.equal(busy.value('naru_slot_state', { slot, state: 'READY' }), 1);
  assert.equal(busy.value('naru_slot_state', { slot, state: 'COLD' }), 0);
  barrier.open();
  assert.deepEqual([...new Set((await Promise.all(responses)).map(({ status }) => status))], [200]);
  await until('free lanes', () => naru.gateway.slots.status(slot).inFlight === 0);
  const { value } = await page();
  assert.equal(value('naru_slot_demand', { slot }), 0);
  assert.equal(value('naru_slot_wait_seconds_count', { slot, outcome: 'lease' }), 3);
  assert.equal(value('naru_slot_starts_total', { slot, outcome: 'ready' }), 1);
  assert.equal(value('naru_slot_start_seconds_count', { slot }), 1);
});

test('a failed start is counted as failed, with its waiting requests', async () => {
  const { key } = await naru.account();
  assert.equal((await send('test/broken', key)).status, 503);
  const { value } = await page();
  const slot = 'broken';
  assert.equal(value('naru_slot_starts_total', { slot, outcome: 'failed' }), 1);
  assert.equal(value('naru_slot_starts_total', { slot, outcome: 'ready' }), 0);
  assert.equal(value('naru_slot_start_seconds_count', { slot }), 0);
  assert.equal(value('naru_slot_wait_seconds_count', { slot, outcome: 'loading' }), 1);
});

test('requests change the histograms, streamed and whole, of an own slot and of an upstream', async () => {
  const { key } = await naru.account();
  upstream.respond(() => reply.chat('네, 안녕하세요', { usage: usage(10, 5) }));
  engine.respond((received) =>
    received.path.startsWith('/v1/chat')
      ? reply.chat('네', { usage: usage(10, 5) })
      : reply.json({ data: [] }),
  );
  const route = { route: '/api/v1/chat/completions', status: '200' };
  for (const source of [
    { model: 'test/lane', provider: 'naru/lane' },
    { model: 'test/echo', provider: 'up1' },
  ]) {
    const count = (one: Page, name: string, labels: Record<string, string>): number =>
      one.series.find((series) => series.name === `${name}_count` && isDeepStrictEqual(series.labels, labels))
        ?.value ?? 0;
    const before = await page();
    for (const stream of [true, false])
      assert.equal((await send(source.model, key, { stream })).status, 200, source.model);
    await naru.settled();
    await until('both are counted', async () => {
      const name = 'naru_request_duration_seconds';
      return count(await page(), name, route) === count(before, name, route) + 2;
    });
    const current = await page();
    const added = (name: string, labels: Record<string, string>): number =>
      count(current, name, labels) - count(before, name, labels);
    assert.equal(added('naru_time_to_first_token_seconds', source), 1, 'the streamed one');
    assert.equal(added('naru_generation_duration_seconds', { ...source, status: '200' }), 2);
    for (const name of ['naru_prompt_tokens', 'naru_completion_tokens', 'naru_cost_won'])
      assert.equal(added(name, source), 2, name);
    assert.ok(added('naru_settlement_lag_seconds', {}) >= 2);
    const sum = (name: string): number =>
      current.value(`${name}_sum`, source) -
      (before.series.find((one) => one.name === `${name}_sum` && isDeepStrictEqual(one.labels, source))
        ?.value ?? 0);
    assert.deepEqual(
      ['naru_prompt_tokens', 'naru_completion_tokens', 'naru_cost_won'].map(sum),
      [20, 10, 40],
    );
  }
});

test('a finish reason that no table has is counted, and in the record as it came', async () => {
  const { key } = await naru.account();
  for (const [finish, added] of [
    ['eos_v9', 1],
    ['stop', 0],
  ] as const)
    for (const stream of [true, false]) {
      const count = (): Promise<number> => naru.metric('naru_unknown_finish_reasons_total');
      const before = await count();
      upstream.respond(() => reply.chat('네', { finish }));
      const body = { model: 'test/echo', messages: [{ role: 'user', content: 'x' }], stream };
      const { status, headers } = await naru.send('POST', '/chat/completions', { key, body });
      assert.equal(status, 200);
      await naru.settled();
      assert.equal((await count()) - before, added, `${finish} ${stream}`);
      const id = headers.get('x-generation-id');
      const record = (await naru.send('GET', `/generation?id=${id}`, { key })).json.data;
      assert.equal(record.native_finish_reason, finish);
    }
});

test('what failed or was refused has no model of a client in its labels', async () => {
  const { key } = await naru.account();
  await send('no/such-model-of-a-client', key);
  upstream.respond(() => reply.status(500));
  assert.equal((await send('test/echo', key)).status, 502);
  await naru.settled();
  const { value, series } = await page();
  assert.ok(!series.some(({ labels }) => Object.values(labels).some((each) => each.includes('no/such'))));
  const none = { model: 'none', provider: 'none' };
  assert.equal(value('naru_generation_duration_seconds_count', { ...none, status: '400' }), 1);
  assert.equal(value('naru_generation_duration_seconds_count', { ...none, status: '502' }), 1);
  assert.ok(
    !series.some(({ name, labels }) => name.startsWith('naru_cost_won') && labels['model'] === 'none'),
  );
});

test('the event loop is measured all the time', async () => {
  await until('a sample', async () => (await naru.metric('naru_event_loop_delay_seconds')) > 0);
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
