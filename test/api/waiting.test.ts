/*
 * spec:money/6: requests in flight never cause a rejection; their possible cost makes later ones
 * wait in the queue.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startTestGateway, type TestGateway, type TestResponse } from '../harness/gateway.ts';
import { assertError } from '../harness/response-rules.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { gate, reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';

let upstream: Upstream;
let naru: TestGateway;

before(async () => {
  upstream = await startUpstream();
  naru = await startTestGateway({
    models: [
      { id: 'test/echo', upstreams: [upstream.url] },
      // 10 prompt tokens and 5 completion tokens cost 100 won; without max_tokens 1,024 of them are
      // expected: 10,240 won.
      {
        id: 'test/expensive',
        upstreams: [upstream.url],
        model: { price: { prompt: 5, completion: 10, per: 'token', confirm: true } },
      },
      {
        id: 'test/free',
        upstreams: [upstream.url],
        model: { price: { prompt: 0, completion: 0, per: 'token' } },
      },
    ],
    config: { limits: { debt_floor_krw: 0 } },
  });
});
after(async () => {
  await naru?.close();
  await upstream?.close();
});
afterEach(async () => {
  await naru.settled();
  assert.equal(await naru.metric(metric), 0);
});

const metric = 'naru_requests_waiting_for_credit';
const messages = [{ role: 'user', content: 'hi' }];
/** The upstream receives requests in the order of admission; each one names itself. */
const body = (more: object = {}) => ({ model: 'test/echo', max_tokens: 100, messages, ...more });
const send = (key: string, more: object = {}, signal?: AbortSignal): Promise<TestResponse> =>
  naru.send('POST', '/chat/completions', { key, body: body(more), ...(signal && { signal }) });
const respond = () => reply.chat('hello there', { usage: usage(10, 5) });

/** Resolves when so many requests wait in line. */
async function inLine(count: number): Promise<void> {
  const endMs = performance.now() + 10_000;
  for (let waiting = -1; waiting !== count; waiting = await naru.metric(metric)) {
    assert.ok(performance.now() < endMs, `${waiting} wait, not ${count}`);
    await pause(2);
  }
}

/**
 * A request that is in flight until it is released: it costs 20 won, and its estimate is that of
 * `max_tokens`.
 */
async function inFlight(key: string, more: object = {}) {
  const barrier = gate();
  upstream.next(respond().pauseAt(0, barrier));
  const response = send(key, more);
  await barrier.reached;
  return {
    async end(): Promise<void> {
      barrier.open();
      assert.equal((await response).status, 200);
    },
  };
}

const balanceOf = async (accountId: number): Promise<bigint> => {
  await naru.settled();
  const row = (await naru.operator.readAccount(accountId)) ?? assert.fail('no account');
  return row.credits - row.usage;
};

for (const agents of [4, 8]) {
  test(`${agents} parallel agents on 1,000 won with an expensive model all complete`, async () => {
    upstream.always(respond());
    const { key, accountId } = await naru.account({ credit: '1000' });
    const responses = await Promise.all(
      Array.from({ length: agents }, () => send(key, { model: 'test/expensive', max_tokens: undefined })),
    );
    assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]));
    assert.equal(await balanceOf(accountId), BigInt(1000 - 100 * agents) * 1_000_000n);
  });
}

test('two concurrent streams at 8,815 won both succeed', async () => {
  upstream.always(respond());
  const other = await startTestGateway({ models: [{ id: 'test/echo', upstreams: [upstream.url] }] });
  try {
    const { key } = await other.account({ credit: '8815' });
    const request = { key, body: { model: 'test/echo', stream: true, messages } };
    const streams = [1, 2].map(() => other.send('POST', '/chat/completions', request));
    for (const { status, text } of await Promise.all(streams)) {
      assert.equal(status, 200);
      assert.match(text, /data: \[DONE\]\n\n$/);
    }
  } finally {
    await other.close();
  }
});

test('two concurrent requests with a new key of limit 1,000 both succeed', async () => {
  upstream.always(respond());
  const { key } = await naru.account({ credit: '1000000', limit: '1000' });
  const responses = await Promise.all([1, 2].map(() => send(key, { max_tokens: undefined })));
  assert.deepEqual(
    responses.map(({ status }) => status),
    [200, 200],
  );
});

// spec:conformance/219,240
test("of many concurrent requests near a key's limit all that settle below it succeed, and the rest report the actual usage", async () => {
  upstream.always(respond());
  const account = await naru.account({ credit: '100000000', limit: '50' });
  const responses = await Promise.all(Array.from({ length: 20 }, () => send(account.key)));
  assert.equal(
    responses.filter(({ status }) => status === 200).length,
    3,
    '20 won each: usage is below 50 before the third',
  );
  for (const response of responses.filter(({ status }) => status !== 200))
    assert.deepEqual(assertError(response, 402, 'key_limit_exceeded'), {
      error_type: 'key_limit_exceeded',
      limit_krw: '50.000000',
      usage_krw: '60.000000',
    });
});

// spec:conformance/77,218
test('of many concurrent requests near the floor all succeed while credit is left, and the rest report the settled balance', async () => {
  upstream.always(respond());
  const { key, accountId } = await naru.account({ credit: '110' });
  const responses = await Promise.all(Array.from({ length: 20 }, () => send(key)));
  assert.equal(responses.filter(({ status }) => status === 200).length, 6);
  for (const response of responses.filter(({ status }) => status !== 200))
    assert.deepEqual(assertError(response, 402, 'insufficient_credits'), {
      error_type: 'insufficient_credits',
      balance_krw: '-10.000000',
    });
  assert.equal(await balanceOf(accountId), -10_000_000n, 'less than one request below the floor');
});

test('a queued request is admitted when the one before it ends, and its record and log line have its wait', async () => {
  const { key } = await naru.account({ credit: '100' });
  const first = await inFlight(key);
  const attempts = upstream.requests.length;
  upstream.always(respond());
  const second = send(key);
  await inLine(1);
  assert.equal(upstream.requests.length, attempts, 'nothing of it went upstream');
  await first.end();
  const response = await second;
  assert.equal(response.status, 200);
  const id = response.headers.get('x-service-generation-id');
  const { data } = (await naru.send('GET', `/generation?id=${id}`, { key })).json;
  assert.ok(
    data.admission_wait >= 0 && data.admission_wait <= data.generation_time,
    `${data.admission_wait}`,
  );
  const line = naru.logged.find((entry) => entry['generation_id'] === id);
  assert.equal(line?.['admission_wait_ms'], data.admission_wait);
});

test('a request that fits does not wait for what others may cost, and free requests never wait', async () => {
  upstream.always(respond());
  const { key } = await naru.account({ credit: '1000' });
  const first = await inFlight(key, { max_tokens: 100 });
  const response = await send(key, { max_tokens: 100 });
  assert.equal(response.status, 200);
  const large = send(key, { max_tokens: 30_000 });
  await inLine(1);
  assert.equal((await send(key, { model: 'test/free', max_tokens: 30_000 })).status, 200);
  await first.end();
  assert.equal((await large).status, 200);
});

test('first come, first served: a small request does not pass a large one of its account', async () => {
  const { key } = await naru.account({ credit: '1000' });
  const first = await inFlight(key, { max_tokens: 100 });
  const order: string[] = [];
  upstream.respond(({ body: request }) => {
    order.push(String(request['user'] ?? ''));
    return respond();
  });
  const large = send(key, { max_tokens: 30_000, user: 'large' });
  await inLine(1);
  const small = send(key, { max_tokens: 1, user: 'small' });
  await inLine(2);
  await first.end();
  assert.deepEqual([(await large).status, (await small).status], [200, 200]);
  assert.deepEqual(order, ['large', 'small']);
});

test('requests that wait for the limit of their key do not delay other keys of the account', async () => {
  const account = await naru.account({ credit: '10000', limit: '150' });
  const other = await account.another();
  const first = await inFlight(account.key);
  upstream.always(respond());
  const second = send(account.key);
  await inLine(1);
  assert.equal((await send(other.key)).status, 200);
  await first.end();
  assert.equal((await second).status, 200);
});

test('a client that disconnects ends its wait at once, and the next one in the queue is admitted', async () => {
  const { key } = await naru.account({ credit: '1000' });
  const first = await inFlight(key, { max_tokens: 100 });
  upstream.always(respond());
  const leave = new AbortController();
  const large = send(key, { max_tokens: 30_000 }, leave.signal);
  await inLine(1);
  const small = send(key, { max_tokens: 1 });
  await inLine(2);
  leave.abort();
  await assert.rejects(large);
  assert.equal((await small).status, 200, 'while the first is still in flight');
  await first.end();
});

test('a key that is revoked, disabled or suspended ends the wait of its requests with its own error', async () => {
  const account = await naru.account({ credit: '100' });
  const first = await inFlight(account.key);
  upstream.always(respond());
  const management = (await account.another({ kind: 'management' })).key;
  const [revoked, off, suspended] = [
    await account.another(),
    await account.another(),
    await account.another(),
  ] as const;
  const waiting = [revoked, off, suspended].map(({ key }) => send(key));
  await inLine(3);
  assert.equal((await naru.send('DELETE', `/keys/${revoked.hash}`, { key: management })).status, 200);
  await naru.send('PATCH', `/keys/${off.hash}`, { key: management, body: { disabled: true } });
  await naru.operator.suspendKey({ hash: suspended.hash, suspended: true, reason: null });
  const [one, two, three] = await Promise.all(waiting);
  assertError(one as TestResponse, 401, 'invalid_api_key');
  assertError(two as TestResponse, 401, 'invalid_api_key');
  assertError(three as TestResponse, 403, 'key_suspended');
  await first.end();
});

test('a top-up releases the queue within a second', async () => {
  const account = await naru.account({ credit: '100' });
  const first = await inFlight(account.key);
  upstream.always(respond());
  const waiting = [1, 2, 3].map(() => send(account.key));
  await inLine(3);
  const startedMs = performance.now();
  await account.topUp('100000');
  for (const response of await Promise.all(waiting)) assert.equal(response.status, 200);
  const tookMs = performance.now() - startedMs;
  assert.ok(tookMs < scaledLimit(1_000), `${tookMs} ms`);
  await first.end();
});

for (const [change, limit] of [
  ['raised', 100_000],
  ['removed', null],
] as const) {
  test(`a limit that is ${change} releases waiting requests within a second`, async () => {
    const account = await naru.account({ credit: '1000000', limit: '100' });
    const management = (await account.another({ kind: 'management' })).key;
    const first = await inFlight(account.key);
    upstream.always(respond());
    const waiting = [1, 2].map(() => send(account.key));
    await inLine(2);
    const startedMs = performance.now();
    await naru.send('PATCH', `/keys/${account.hash}`, { key: management, body: { limit } });
    for (const response of await Promise.all(waiting)) assert.equal(response.status, 200);
    assert.ok(performance.now() - startedMs < scaledLimit(1_000));
    await first.end();
  });
}

test('a limit that is lowered to the usage rejects waiting requests', async () => {
  const account = await naru.account({ credit: '1000000', limit: '100' });
  const management = (await account.another({ kind: 'management' })).key;
  const first = await inFlight(account.key);
  const second = send(account.key);
  await inLine(1);
  await naru.send('PATCH', `/keys/${account.hash}`, { key: management, body: { limit: 0 } });
  assert.equal(assertError(await second, 402, 'key_limit_exceeded')['usage_krw'], '0.000000');
  await first.end();
});

test("a wait is bounded by the upstream time limit, and uses none of the upstream's own budget", async () => {
  const limitMs = 400;
  const other = await startTestGateway({
    models: [{ id: 'test/echo', upstreams: [upstream.url] }],
    config: { limits: { debt_floor_krw: 0, upstream_timeout_ms: limitMs } },
  });
  try {
    upstream.always(respond());
    const request = (key: string) => other.send('POST', '/chat/completions', { key, body: body() });
    const { key } = await other.account({ credit: '100' });
    const hold = gate();
    // The response has begun, so its budget is over.
    const streamed = reply.stream(['aaaa', 'bbbb'], { usage: usage(10, 5) });
    upstream.next(streamed.pauseAt(streamed.bytes({ stream: true }).indexOf('bbbb'), hold));
    const first = other.send('POST', '/chat/completions', { key, body: { ...body(), stream: true } });
    await hold.reached;
    const startedMs = performance.now();
    const metadata = assertError(await request(key), 408, 'timeout');
    assert.equal(metadata['timeout_sec'], limitMs / 1000);
    assert.ok(performance.now() - startedMs >= limitMs - 5);
    hold.open();
    await first;
  } finally {
    await other.close();
  }
});

// spec:conformance/252
test('200 concurrent requests on a balance for ten at the estimate all succeed', async () => {
  upstream.always(respond());
  // Each is expected to cost some 330 won, and costs 20.
  const { key, accountId } = await naru.account({ credit: '4100' });
  const responses = await Promise.all(Array.from({ length: 200 }, () => send(key)));
  assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]));
  assert.equal(await balanceOf(accountId), 100_000_000n);
});
