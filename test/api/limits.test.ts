import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { krwFromDecimal } from '../../src/money/krw.ts';
import { parseGenerationId } from '../../src/wire/ids/generation-id.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { RawClient } from '../harness/raw-client.ts';
import { assertError } from '../harness/response-rules.ts';
import { until } from '../harness/until.ts';
import { gate, reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';

let upstream: Upstream;
let naru: TestGateway;

before(async () => {
  upstream = await startUpstream();
  upstream.always(reply.chat('hello there', { usage: usage(10, 5) }));
  naru = await startTestGateway({
    models: [
      { id: 'test/echo', upstreams: [upstream.url] },
      // One prompt token costs one micro-won, and nothing else has a cost: for boundaries.
      {
        id: 'test/micro',
        upstreams: [upstream.url],
        model: { price: { prompt: '0.000001', completion: 0, per: 'token' } },
      },
    ],
  });
});
after(async () => {
  await naru?.close();
  await upstream?.close();
});

/** Costs 20 won. */
const chat = (key: string, gateway = naru) =>
  gateway.send('POST', '/chat/completions', {
    key,
    body: { model: 'test/echo', messages: [{ role: 'user', content: 'hi' }] },
  });
/** Costs `promptTokens` micro-won. */
const micro = (key: string, promptTokens: number) => {
  upstream.next(reply.chat('ok', { usage: usage(promptTokens, 1) }));
  return naru.send('POST', '/chat/completions', {
    key,
    body: { model: 'test/micro', messages: [{ role: 'user', content: 'word '.repeat(100) }] },
  });
};
const usageOf = async (key: string): Promise<number> =>
  (await naru.send('GET', '/key', { key })).json.data.usage;

// spec:conformance/219,238,239,240 spec:money/6.2
test('a key works one micro-won below its limit and is rejected exactly at the limit, without an upstream attempt', async () => {
  const { key } = await naru.account({ limit: '0.000011' });
  assert.equal((await micro(key, 10)).json.usage.cost, 0.00001);
  assert.equal((await micro(key, 1)).json.usage.cost, 0.000001);
  assert.equal(await usageOf(key), 0.000011);
  const attempts = upstream.requests.length;
  const response = await chat(key);
  const metadata = assertError(response, 402, 'key_limit_exceeded');
  assert.deepEqual(metadata, {
    error_type: 'key_limit_exceeded',
    limit_krw: '0.000011',
    usage_krw: '0.000011',
  });
  assert.equal(upstream.requests.length, attempts);
});

// spec:conformance/219
test('usage beyond the limit is reported as it is', async () => {
  const { key } = await naru.account({ limit: '19.999999' });
  assert.equal((await chat(key)).status, 200);
  const metadata = assertError(await chat(key), 402, 'key_limit_exceeded');
  assert.equal(metadata['limit_krw'], '19.999999');
  assert.equal(metadata['usage_krw'], '20.000000');
});

// spec:conformance/149 spec:money/7.4
test('a limit of zero rejects every request', async () => {
  const { key } = await naru.account({ limit: '0' });
  assertError(await chat(key), 402, 'key_limit_exceeded');
});

// spec:money/7.10 spec:api/5.8
test('a refund counts against the limit of its key unless it is given back to it; total usage stays', async () => {
  const account = await naru.account({ limit: '20', limitReset: 'daily' });
  const { key } = account;
  const { headers } = await chat(key);
  await naru.settled();
  const generation = parseGenerationId(headers.get('x-service-generation-id') ?? '') ?? assert.fail();
  const refund = (won: string, toKeyLimit: boolean) =>
    naru.operator.refundGeneration({
      generation,
      amount: krwFromDecimal(won) ?? assert.fail(),
      reason: 'test',
      toKeyLimit,
      idempotencyKey: null,
    });
  assert.equal((await refund('5', false)).kind, 'done');
  assertError(await chat(key), 402, 'key_limit_exceeded');
  assert.equal((await refund('15', true)).kind, 'done');
  await until('the key reads its limit again', async () => (await usageOf(key)) === 5);
  const { data } = (await naru.send('GET', '/key', { key })).json;
  assert.deepEqual(
    [data.limit_remaining, data.usage_daily, data.usage_weekly, data.usage_monthly],
    [15, 5, 5, 5],
  );
  assert.equal((await chat(key)).status, 200);
  const metadata = assertError(await chat(key), 402, 'key_limit_exceeded');
  assert.equal(metadata['usage_krw'], '25.000000');
  await naru.settled();
  const { key: management } = await account.another({ kind: 'management' });
  assert.equal((await naru.send('GET', '/credits', { key: management })).json.data.total_usage, 40);
});

// spec:errors/5.4
test('the key limit is checked before the body', async () => {
  const { key } = await naru.account({ limit: '0' });
  for (const body of ['{bad', { model: 'no/such', messages: [] }, {}])
    assertError(await naru.send('POST', '/chat/completions', { key, body }), 402, 'key_limit_exceeded');
});

// spec:conformance/243
test('a key at its limit does not affect another key of the account', async () => {
  const account = await naru.account({ limit: '20' });
  const other = await account.another();
  assert.equal((await chat(account.key)).status, 200);
  assertError(await chat(account.key), 402, 'key_limit_exceeded');
  assert.equal((await chat(other.key)).status, 200);
});

// spec:conformance/244
test('a key without a limit is never rejected for one', async () => {
  const { key } = await naru.account({ credit: '1000000' });
  for (let n = 0; n < 5; n += 1) assert.equal((await chat(key)).status, 200);
  const { data } = (await naru.send('GET', '/key', { key })).json;
  assert.equal(data.limit, null);
  assert.equal(data.limit_remaining, null);
});

/** The last millisecond of a period and the first of the next, in Seoul. */
const turns: Readonly<Record<'daily' | 'weekly' | 'monthly', readonly [string, string]>> = {
  daily: ['2027-03-09T23:59:59.999+09:00', '2027-03-10T00:00:00.000+09:00'],
  // A Sunday and a Monday.
  weekly: ['2027-03-14T23:59:59.999+09:00', '2027-03-15T00:00:00.000+09:00'],
  monthly: ['2028-02-29T23:59:59.999+09:00', '2028-03-01T00:00:00.000+09:00'],
};

// spec:conformance/71,241,242 spec:money/7.1,7.2
for (const limitReset of ['daily', 'weekly', 'monthly'] as const) {
  test(`a ${limitReset} limit reached in the last millisecond of its Seoul period is free in the first of the next`, async () => {
    const [last, first] = turns[limitReset];
    naru.clock.freeze(last);
    try {
      const account = await naru.account({ limit: '20', limitReset, credit: '1000000' });
      const unlimited = await account.another({ limit: '20', limitReset: 'never' });
      for (const { key } of [account, unlimited]) {
        assert.equal((await chat(key)).status, 200);
        assertError(await chat(key), 402, 'key_limit_exceeded');
        assert.equal(await usageOf(key), 20);
      }
      naru.clock.freeze(first);
      assert.equal(await usageOf(account.key), 0);
      const { data } = (await naru.send('GET', '/key', { key: account.key })).json;
      assert.equal(data.limit_remaining, 20);
      assert.equal(data.usage, data[`usage_${limitReset}`]);
      assert.equal((await chat(account.key)).status, 200);
      assertError(await chat(account.key), 402, 'key_limit_exceeded');
      assertError(await chat(unlimited.key), 402, 'key_limit_exceeded');
      assert.equal(await usageOf(unlimited.key), 20, 'never does not reset');
    } finally {
      naru.clock.thaw();
    }
  });
}

// spec:conformance/242
test('a weekly limit does not reset in the middle of a week, nor a monthly one at the end of a week', async () => {
  naru.clock.freeze('2027-03-10T12:00:00+09:00');
  try {
    const weekly = await naru.account({ limit: '20', limitReset: 'weekly' });
    const monthly = await naru.account({ limit: '20', limitReset: 'monthly' });
    for (const { key } of [weekly, monthly]) assert.equal((await chat(key)).status, 200);
    naru.clock.freeze('2027-03-11T00:00:00+09:00');
    assertError(await chat(weekly.key), 402, 'key_limit_exceeded');
    naru.clock.freeze('2027-03-15T00:00:00+09:00');
    assert.equal((await chat(weekly.key)).status, 200);
    assertError(await chat(monthly.key), 402, 'key_limit_exceeded');
  } finally {
    naru.clock.thaw();
  }
});

// spec:money/7.1
for (const limitReset of ['daily', 'weekly', 'monthly'] as const) {
  test(`a ${limitReset} limit stays reached for a clock that moves into another period and back`, async () => {
    const [last, first] = turns[limitReset];
    naru.clock.freeze(last);
    try {
      const { key } = await naru.account({ limit: '40', limitReset, credit: '1000000' });
      for (let n = 0; n < 2; n += 1) assert.equal((await chat(key)).status, 200);
      await naru.settled();
      naru.clock.freeze(first);
      assert.equal((await chat(key)).status, 200);
      await naru.settled();
      naru.clock.freeze(last);
      assertError(await chat(key), 402, 'key_limit_exceeded');
      assert.equal(await usageOf(key), 40);
      naru.clock.freeze(first);
      assert.equal(await usageOf(key), 20);
      assert.equal((await chat(key)).status, 200);
      assertError(await chat(key), 402, 'key_limit_exceeded');
    } finally {
      naru.clock.thaw();
    }
  });
}

// spec:money/7.2
test('a debit belongs to the period of its settlement, not of its request', async () => {
  naru.clock.freeze('2027-05-01T23:59:59.999+09:00');
  try {
    const { key, hash } = await naru.account({ limit: '1000', limitReset: 'daily', credit: '1000000' });
    const barrier = gate();
    upstream.next(reply.chat('x', { usage: usage(10, 5) }).pauseAt(0, barrier));
    const response = chat(key);
    await barrier.reached;
    naru.clock.freeze('2027-05-02T00:00:00.000+09:00');
    barrier.open();
    assert.equal((await response).status, 200);
    assert.equal(await usageOf(key), 20);
    await naru.settled();
    const row = await naru.operator.readKey(hash);
    assert.ok(row !== null);
    assert.equal((await naru.operator.readSpend(row)).daily, 20_000_000n, 'in the database too');
  } finally {
    naru.clock.thaw();
  }
});

/**
 * A request that is authenticated with its head; its body arrives when the balance is as far below
 * zero as the credit was below 5,001 won.
 */
async function late(
  credit: string,
  {
    body = hi,
    gateway = naru,
    costWon = 5001,
  }: { body?: string; gateway?: TestGateway; costWon?: number } = {},
): Promise<{ readonly status: number; readonly text: string; readonly credits: () => Promise<unknown> }> {
  const account = await gateway.account({ credit });
  const client = await RawClient.open(gateway.gateway.server.port);
  client.write(
    `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\n` +
      `content-length: ${body.length}\r\nexpect: 100-continue\r\n\r\n`,
  );
  assert.match(await client.some(), /^HTTP\/1\.1 100 /);
  upstream.next(reply.chat('ok', { usage: usage(costWon - 2, 1) }));
  const messages = [{ role: 'user', content: 'word '.repeat(costWon) }];
  const spent = await gateway.send('POST', '/chat/completions', {
    key: account.key,
    body: { model: 'test/echo', messages },
  });
  assert.equal(spent.json.usage.cost, costWon);
  const response = (await client.write(body).response()) ?? assert.fail('no response');
  client.close();
  return {
    status: response.status,
    text: response.body,
    credits: async () => {
      const row = (await gateway.operator.readAccount(account.accountId)) ?? assert.fail('no account');
      return row.credits - row.usage;
    },
  };
}

const hi = JSON.stringify({ model: 'test/echo', messages: [{ role: 'user', content: 'hi' }] });
const metadataOf = ({ text }: { readonly text: string }) => JSON.parse(text).error.metadata;

// spec:conformance/235,77 spec:money/6.2,6.4
test('the settled balance decides at the floor: exactly at it is admitted, one micro-won below is not', async () => {
  assert.equal((await late('1')).status, 200);
  assert.equal((await late('1.000001')).status, 200);
  const attempts = upstream.requests.length;
  const below = await late('0.999999');
  assert.equal(below.status, 402);
  assert.deepEqual(metadataOf(below), {
    error_type: 'insufficient_credits',
    balance_krw: '-5000.000001',
  });
  assert.equal(upstream.requests.length, attempts + 1, 'only what was spent went upstream');
  await naru.settled();
  assert.equal(
    await below.credits(),
    -5_000_000_001n,
    'total_credits - total_usage is the figure of the refusal',
  );
});

// spec:conformance/236
test('an account below its floor is rejected before its body is parsed', async () => {
  const { key, topUp } = await naru.account({ credit: '1' });
  upstream.next(reply.chat('ok', { usage: usage(6000, 1) }));
  const messages = [{ role: 'user', content: 'word '.repeat(6000) }];
  await naru.send('POST', '/chat/completions', { key, body: { model: 'test/echo', messages } });
  const attempts = upstream.requests.length;
  for (const body of [
    '{bad',
    { model: 'no/such', messages: [{ role: 'user', content: 'x' }] },
    { model: 'test/echo' },
    '',
  ])
    assertError(await naru.send('POST', '/chat/completions', { key, body }), 402, 'insufficient_credits');
  assert.equal(upstream.requests.length, attempts);
  await topUp('100000');
});

// spec:conformance/237
test('a configured floor applies', async () => {
  const gateway = await startTestGateway({
    models: [{ id: 'test/echo', upstreams: [upstream.url] }],
    config: { limits: { debt_floor_krw: '100.5' } },
  });
  try {
    assert.equal((await late('0.5', { gateway, costWon: 101 })).status, 200);
    assert.equal((await late('0.499999', { gateway, costWon: 101 })).status, 402);
  } finally {
    await gateway.close();
  }
});

// spec:conformance/119
test('one request may take a balance below zero, and the next is rejected with the debt in won', async () => {
  const account = await naru.account({ credit: '0.000001' });
  assert.equal((await chat(account.key)).status, 200);
  assert.equal(
    assertError(await chat(account.key), 402, 'insufficient_credits')['balance_krw'],
    '-19.999999',
  );
});

// spec:money/6.12
test('an account far above the floor is not affected by reservations', async () => {
  const account = await naru.account({ credit: '1000000000' });
  const responses = await Promise.all(Array.from({ length: 60 }, () => chat(account.key)));
  assert.deepEqual(new Set(responses.map((response) => response.status)), new Set([200]));
});

// spec:money/6.6
test('a reservation ends with its request, however that ends', async () => {
  const account = await naru.account({ credit: '10' });
  const { key } = account;
  const body = { model: 'test/echo', messages: [{ role: 'user', content: 'hi' }] };
  // A dropped connection that was not fresh is tried once more.
  for (const failure of [reply.status(500), reply.drop(), reply.status(400)]) {
    upstream.always(failure);
    assertError(await chat(key), 502, 'provider_error');
  }
  upstream.always(reply.chat('hello there', { usage: usage(10, 5) }));
  assertError(await naru.send('POST', '/chat/completions', { key, body: '{bad' }), 400, 'invalid_request');
  assertError(
    await naru.send('POST', '/chat/completions', { key, body: { ...body, model: 'no/such' } }),
    400,
    'model_not_found',
  );
  const leave = new AbortController();
  const hold = gate();
  upstream.next(reply.chat('x').pauseAt(0, hold));
  const lost = naru.send('POST', '/chat/completions', { key, body, signal: leave.signal });
  await hold.reached;
  leave.abort();
  await assert.rejects(lost);
  // With a leaked reservation this one would wait forever: its estimate is beyond the floor.
  const large = { model: 'test/echo', max_tokens: 30_000, messages: body.messages };
  const response = await naru.send('POST', '/chat/completions', {
    key,
    body: large,
    signal: AbortSignal.timeout(10_000),
  });
  assert.equal(response.status, 200, response.text);
});
