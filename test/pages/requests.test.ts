/** What the dashboard shows of an account: balance, requests, prices, transactions and models. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { krwFromDecimal } from '../../src/money/krw.ts';
import { parseGenerationId } from '../../src/wire/ids/generation-id.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';

const sessions = new TestSessions();
let bad: Upstream;
let upstream: Upstream;
let gateway: TestGateway;
let account: TestAccount;
let browser: PageBrowser;

before(async () => {
  bad = await startUpstream();
  bad.always(reply.status(503));
  upstream = await startUpstream();
  upstream.always(reply.chat('answer', { usage: usage(10, 5) }));
  gateway = await startTestGateway({
    sessions,
    models: [
      { id: 'test/two', upstreams: [bad.url, upstream.url] },
      { id: 'test/one', upstreams: [upstream.url] },
      { id: 'test/bad', upstreams: [bad.url] },
      {
        id: 'test/tiers',
        upstreams: [upstream.url],
        model: {
          price: {
            ...{ prompt: 1, completion: 2, cache_write_1h: 3, per: 'token', confirm: true },
            tiers: [{ tier: 'priority', prompt: 4, completion: 5, cache_write_1h: 6 }],
          },
        },
      },
    ],
  });
  account = await gateway.account({ credit: '1000000' });
  browser = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(account.accountId));
});
after(async () => {
  await gateway?.close();
  await upstream?.close();
  await bad?.close();
});

async function call(model: string, options: { key?: string; title?: string } = {}) {
  const response = await gateway.send('POST', '/chat/completions', {
    key: options.key ?? account.key,
    body: { model, messages: [{ role: 'user', content: 'question' }] },
    headers: options.title === undefined ? {} : { 'x-title': options.title },
  });
  await gateway.settled();
  return {
    status: response.status,
    id: response.headers.get('x-service-generation-id') ?? '',
    requestId: response.headers.get('x-service-request-id') ?? '',
  };
}

// pages:U1,U7
test('the account has the same money as GET /credits, to the micro-won', async () => {
  await call('test/one');
  const shown = await browser.get('/account');
  const { data } = (await gateway.send('GET', '/credits', { key: account.key })).json;
  assert.equal(Number(shown.total_credits_micro) / 1e6, data.total_credits);
  assert.equal(Number(shown.total_usage_micro) / 1e6, data.total_usage);
  assert.deepEqual(
    [shown.used_micro, shown.expired_micro, shown.deducted_micro],
    [shown.total_usage_micro, '0', '0'],
  );
  assert.equal(
    BigInt(shown.balance_micro),
    BigInt(shown.total_credits_micro) - BigInt(shown.total_usage_micro),
  );
  assert.equal(shown.standing, 'active');
  assert.ok(BigInt(shown.floor_micro) <= 0n);
  const poor = await gateway.account({ credit: '0' });
  const other = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(poor.accountId));
  assert.equal((await other.get('/account')).standing, 'suspended_no_credit');
});

// pages:U3d
test('a request shows each attempt, why it was dropped, and the arithmetic of its cost', async () => {
  const { id, requestId } = await call('test/two');
  const shown = await browser.get(`/generations/${id}`);
  assert.equal(shown.attempts.length, 2);
  const [first, second] = shown.attempts;
  assert.deepEqual([first.status, first.failure, first.is_winner], [503, 'refused', false]);
  assert.deepEqual([second.status, second.failure, second.is_winner], [200, null, true]);
  // Each of the figures is rounded.
  assert.ok(second.starts_at_ms >= first.starts_at_ms + first.latency_ms - 1);
  const { price, listing } = shown;
  assert.deepEqual(
    price.lines.map(({ item, units, rate_pico }: Record<string, unknown>) => [item, units, rate_pico]),
    [
      ['prompt', 10, '1000000000000'],
      ['completion', 5, '2000000000000'],
    ],
  );
  const sum = price.lines.reduce(
    (all: bigint, line: { amount_pico: string }) => all + BigInt(line.amount_pico),
    0n,
  );
  assert.equal(String(sum), price.sum_pico);
  assert.equal((sum + 500_000n) / 1_000_000n, BigInt(listing.cost_micro));
  assert.equal(listing.cost_micro, '20000000');
  assert.equal(price.is_free, false);
  const { data } = (await gateway.send('GET', `/generation?id=${id}`, { key: account.key })).json;
  assert.deepEqual(shown.record, data);
  assert.deepEqual(await browser.get(`/generations/${requestId}`), shown);
});

// pages:U3d spec:money/4.15
test('the arithmetic of a cost is that of the tier that was billed, and names one without a price', async () => {
  const written = { cache_creation: { ephemeral_1h_input_tokens: 3 }, cache_creation_input_tokens: 3 };
  const costs: string[] = [];
  for (const tier of ['priority', 'scale', 'default']) {
    const over = { service_tier: tier };
    upstream.next(reply.chat('answer', { usage: { ...usage(10, 5), ...written }, over }));
    const { id } = await call('test/tiers');
    const { price, listing } = await browser.get(`/generations/${id}`);
    assert.deepEqual(
      [price.tier, price.unpriced_tier],
      [tier === 'priority' ? tier : null, tier === 'scale' ? tier : null],
    );
    assert.deepEqual(
      price.lines.map(({ item, units }: Record<string, unknown>) => [item, units]),
      [
        ['prompt', 7],
        ['cache_write_1h', 3],
        ['completion', 5],
      ],
    );
    assert.equal(price.sum_pico, `${listing.cost_micro}000000`);
    costs.push(listing.cost_micro);
  }
  assert.deepEqual(costs, ['71000000', '26000000', '26000000']);
});

// pages:U3d
test('a refund is shown with its request', async () => {
  const { id } = await call('test/one');
  const { listing } = await browser.get(`/generations/${id}`);
  await refund(id, '5');
  const shown = await browser.get(`/generations/${id}`);
  assert.equal(shown.refunded_micro, '5000000');
  assert.equal(shown.listing.cost_micro, listing.cost_micro);
  const { items } = await browser.get('/ledger?kind=refund');
  assert.deepEqual([items[0].generation_id, items[0].amount_micro], [id, '5000000']);
});

// pages:U3
test('the list of requests has filters, finds ids, and pages without gaps', async () => {
  const own = await gateway.account();
  const second = await own.another();
  const mine = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(own.accountId));
  const calls = [];
  for (const [model, key, title] of [
    ['test/one', own.key, 'App A'],
    ['test/bad', own.key, 'App A'],
    ['test/two', second.key, 'App B'],
    ['test/one', second.key, undefined],
  ] as const)
    calls.push(await call(model, { key, ...(title === undefined ? {} : { title }) }));
  const ids = calls.map(({ id, requestId }) => id || requestId);
  const idsOf = async (query: string) =>
    (await mine.get(`/generations${query}`)).items.map((item: { id: string; request_id: string }) =>
      ids.indexOf(ids.includes(item.id) ? item.id : item.request_id),
    );
  assert.deepEqual(await idsOf(''), [3, 2, 1, 0]);
  assert.deepEqual(await idsOf('?outcome=failed'), [1]);
  assert.deepEqual(await idsOf('?outcome=ok'), [3, 2, 0]);
  assert.deepEqual(await idsOf('?outcome=cancelled'), []);
  assert.deepEqual(await idsOf('?model=test/two'), [2]);
  assert.deepEqual(await idsOf(`?key=${second.hash}`), [3, 2]);
  assert.deepEqual(await idsOf(`?key=${account.hash}`), []);
  assert.deepEqual(await idsOf('?status=502&error_type=provider_error'), [1]);
  assert.deepEqual(await idsOf(`?find=${calls[2]?.id}`), [2]);
  assert.deepEqual(await idsOf(`?find=${calls[1]?.requestId}`), [1]);
  assert.deepEqual(await idsOf('?find=nothing'), []);
  const { items } = await mine.get('/generations');
  assert.equal(items[2].app.name, 'App A');
  assert.deepEqual(await idsOf(`?app=${items[2].app.id}`), [1, 0]);
  assert.equal(items[0].app.name, 'Node.js');
  assert.deepEqual(items[0].key.hash, second.hash);
  const from = encodeURIComponent(items[1].created_at);
  assert.deepEqual(await idsOf(`?from=${from}`), [3, 2]);
  assert.deepEqual(await idsOf(`?to=${from}`), [1, 0]);
  const paged: number[] = [];
  for (let query = '?limit=1'; ; ) {
    const page = await mine.get(`/generations${query}`);
    paged.push(
      ...page.items.map((item: { id: string; request_id: string }) =>
        ids.indexOf(ids.includes(item.id) ? item.id : item.request_id),
      ),
    );
    if (page.next === null) break;
    query = `?limit=1&cursor=${page.next}`;
  }
  assert.deepEqual(paged, [3, 2, 1, 0]);
  for (const query of ['?cursor=x', '?status=9', '?from=yesterday', '?key=abc', '?limit=1&limit=2'])
    assert.equal((await mine.send('GET', `/generations${query}`)).status, 400, query);
});

test("another account's request is the same 404 as one that does not exist", async () => {
  const other = await gateway.account();
  const { id, requestId } = await call('test/one', { key: other.key });
  const unknown = await browser.send('GET', '/generations/gen-1700000000-000000000000000');
  for (const foreign of [id, requestId]) {
    const response = await browser.send('GET', `/generations/${foreign}`);
    assert.equal(response.status, 404);
    assert.deepEqual(response.json, unknown.json);
    assert.deepEqual((await browser.get(`/generations?find=${foreign}`)).items, []);
  }
});

// pages:U8
test('transactions sum usage by day, and their last balance is that of the account', async () => {
  const own = await gateway.account({ credit: '1000' });
  const mine = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(own.accountId));
  await own.topUp('0.000001');
  for (let n = 0; n < 3; n += 1) await call('test/one', { key: own.key });
  const { items, next } = await mine.get('/ledger');
  assert.equal(next, null);
  assert.deepEqual(
    items.map((item: Record<string, unknown>) => [item['kind'], item['amount_micro'], item['requests']]),
    [
      ['usage', '-60000000', 3],
      ['topup', '1', null],
      ['topup', '1000000000', null],
    ],
  );
  const { balance_micro } = await mine.get('/account');
  assert.equal(items[0].balance_micro, balance_micro);
  const { month } = { month: items[0].day.slice(0, 7) };
  assert.equal((await mine.get(`/ledger?month=${month}`)).items.length, 3);
  assert.equal((await mine.get('/ledger?month=2001-01')).items.length, 0);
  assert.equal((await mine.send('GET', '/ledger?month=2001-13')).status, 400);
});

// pages:U8
test('transactions page without gaps', async () => {
  const own = await gateway.account({ credit: '1' });
  const mine = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(own.accountId));
  for (let n = 0; n < 150; n += 1) await own.topUp('1');
  const first = await mine.get('/ledger');
  assert.equal(first.items.length, 100);
  const second = await mine.get(`/ledger?cursor=${first.next}`);
  assert.equal(second.items.length, 51);
  assert.equal(second.next, null);
  const ids = [...first.items, ...second.items].map(({ id }: { id: string }) => id);
  assert.equal(new Set(ids).size, 151);
});

// pages:U9
test('models have the prices of the public listing, per million tokens', async () => {
  const { items } = await browser.get('/models');
  const listed = (await gateway.send('GET', '/models')).json.data;
  assert.deepEqual(
    items.map(({ id }: { id: string }) => id),
    listed.map(({ id }: { id: string }) => id),
  );
  for (const [at, model] of items.entries()) {
    assert.equal(Number(model.price.prompt_micro) / 1e12, Number(listed[at].pricing.prompt));
    assert.equal(Number(model.price.completion_micro) / 1e12, Number(listed[at].pricing.completion));
  }
  const two = items.find(({ id }: { id: string }) => id === 'test/two');
  assert.equal(two.candidates.length, 2);
  assert.equal(two.candidates[0].is_local, false);
});

async function refund(id: string, won: string): Promise<void> {
  const generation = parseGenerationId(id);
  const amount = krwFromDecimal(won);
  assert.ok(generation !== null && amount !== null);
  await gateway.operator.refundGeneration({ generation, amount, idempotencyKey: null, reason: 'test' });
}

// pages:U3
test('following shows each request of the account when it has ended, and none of another', async () => {
  const own = await gateway.account();
  const token = sessions.owner(own.accountId);
  const abort = new AbortController();
  const response = await fetch(`${gateway.origin}/dashboard/api/generations/live?model=test/one`, {
    headers: { cookie: `naru_session=${token}` },
    signal: abort.signal,
  });
  assert.equal(response.status, 200);
  await call('test/one');
  await call('test/two', { key: own.key });
  const { id } = await call('test/one', { key: own.key });
  let text = '';
  for await (const piece of response.body ?? []) {
    text += Buffer.from(piece).toString();
    if (/event: request\n.*\n\n/.test(text)) break;
  }
  abort.abort();
  const items = [...text.matchAll(/event: request\ndata: (.*)\n\n/g)].map(([, data]) =>
    JSON.parse(data ?? ''),
  );
  assert.deepEqual(
    items.map((item) => item.id),
    [id],
  );
});
