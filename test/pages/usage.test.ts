/** Usage as the pages ask for it, beside what the ledger and the API report. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { reply, startUpstream, type Upstream } from '../harness/upstream.ts';

const sessions = new TestSessions();
let upstream: Upstream;
let gateway: TestGateway;
let account: TestAccount;
let other: TestAccount;
let browser: PageBrowser;
let operator: PageBrowser;

before(async () => {
  upstream = await startUpstream();
  gateway = await startTestGateway({
    sessions,
    models: [
      { id: 'a/one', upstreams: [upstream.url] },
      { id: 'a/two', upstreams: [upstream.url] },
    ],
  });
  account = await gateway.account();
  other = await gateway.account();
  browser = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(account.accountId));
  operator = new PageBrowser(
    `http://127.0.0.1:${gateway.gateway.admin.port}`,
    'console',
    sessions.operator('viewer'),
  );
  for (const [key, model, title] of [
    [account.key, 'a/one', 'First app'],
    [account.key, 'a/one', 'First app'],
    [account.key, 'a/two', 'Second app'],
    [other.key, 'a/two', 'First app'],
  ] as const)
    await gateway.send('POST', '/chat/completions', {
      key,
      headers: { 'x-title': title },
      body: { model, messages: [{ role: 'user', content: 'hello' }] },
    });
  upstream.next(reply.status(500));
  await gateway.send('POST', '/chat/completions', {
    key: account.key,
    body: { model: 'a/one', messages: [{ role: 'user', content: 'hello' }] },
  });
  await gateway.settled();
});
after(async () => {
  await gateway?.close();
  await upstream?.close();
});

// pages:U1
test('the sums of today equal the usage of the key and the credits of the account to the micro-won', async () => {
  const { sums } = await browser.get('/usage/totals?range=today');
  assert.deepEqual([sums.requests, sums.failures], [4, 1]);
  const key = await gateway.send('GET', '/key', { key: account.key });
  assert.equal(Number(sums.cost_micro) / 1e6, key.json.data.usage_daily);
  const { json } = await gateway.send('GET', '/credits', { key: account.key });
  assert.equal(Number(sums.cost_micro) / 1e6, json.data.total_usage);
});

// pages:U2
test('groups have their names, and an account sees its own only', async () => {
  const models = await browser.get('/usage/groups?by=model&ranking=requests&range=today');
  assert.deepEqual(
    models.items.map((item: { value: string; sums: { requests: number } }) => [
      item.value,
      item.sums.requests,
    ]),
    [
      ['a/one', 3],
      ['a/two', 1],
    ],
  );
  const keys = await browser.get('/usage/groups?by=key&range=today');
  assert.deepEqual(
    keys.items.map(({ value }: { value: string }) => value),
    [account.hash],
  );
  const apps = await browser.get('/usage/groups?by=app&range=today');
  assert.ok(apps.items.some(({ label }: { label: string }) => label === 'Second app'));
  const one = await browser.get('/usage/groups?by=model&limit=1&range=today');
  assert.equal(one.items.at(-1).value, null);
});

// pages:U2
test('a filter by a key of another account finds nothing', async () => {
  const foreign = await browser.get(`/usage/totals?range=today&key=${other.hash}`);
  const unknown = await browser.get(`/usage/totals?range=today&key=${'f'.repeat(64)}`);
  assert.deepEqual(foreign.sums, unknown.sums);
  assert.equal(foreign.sums.requests, 0);
  const own = await browser.get(`/usage/totals?range=today&key=${account.hash}`);
  assert.equal(own.sums.requests, 4);
});

// pages:U2
test('the points of a series add up to the totals, and latency has its percentiles', async () => {
  const { sums } = await browser.get('/usage/totals?range=7d');
  const { points } = await browser.get('/usage/series?range=7d&step=day&by=model');
  const total = points.reduce(
    (sum: bigint, point: { sums: { cost_micro: string } }) => sum + BigInt(point.sums.cost_micro),
    0n,
  );
  assert.equal(String(total), sums.cost_micro);
  const latency = await browser.get('/usage/latency?range=7d&of=duration');
  assert.ok(latency.points[0].p95 >= latency.points[0].p50 && latency.points[0].p50 > 0);
  // pages:U2
  const ofModels = await browser.get('/usage/latency?range=7d&of=duration&by=model&ranking=requests&limit=1');
  assert.deepEqual(
    ofModels.points.map((point: { value: string | null; count: number }) => [point.value, point.count]),
    [
      // The failed one has no duration.
      ['a/one', 2],
      [null, 1],
    ],
  );
});

// pages:A1
test('the console sees all accounts, without their keys', async () => {
  const { sums } = await operator.get('/usage/totals?range=today');
  assert.equal(sums.requests, 5);
  const keys = await operator.get('/usage/groups?by=key&range=today');
  assert.deepEqual(
    keys.items.map(({ value }: { value: string }) => value),
    ['0'],
  );
});

// pages:U2
test('malformed parameters are rejected by name', async () => {
  for (const [query, name] of [
    ['range=yesterday', 'range'],
    ['range=custom&from=now', 'from'],
    ['step=minute', 'step'],
    ['range=30d&step=hour', 'step'],
  ] as const) {
    const response = await browser.send(
      'GET',
      `/usage/series?${query.includes('step=') ? '' : 'step=day&'}${query}`,
    );
    assert.equal(response.status, 400, query);
    assert.match(response.json.error.message.en, new RegExp(name));
  }
});
