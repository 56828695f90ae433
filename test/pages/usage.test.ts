/** Usage as the pages ask for it, beside what the ledger and the API report. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';

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

/** What a client may state of itself. */
const users = ['alice', 'a,b', '\u202eشبكة', '👩‍👩‍👧', '__proto__', '사'.repeat(500), '', undefined];
const tags: readonly unknown[] = [
  { team: 'red', latency_ms: '"7"' },
  { team: 'blue', reasoning_tokens: 'x' },
  { team: 'red', ['__proto__']: 'own', generation_ms: '}' },
  { team: '가'.repeat(512), count: 7 },
  Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`name ${n}`, `${n}`])),
  { ['n'.repeat(65)]: 'too long a name', '': 'no name', team: '' },
  {},
  undefined,
];

// pages:U2 spec:compat/4.7
test('usage by end user and by tag adds up to the ledger, whatever their values are', async () => {
  const own = await gateway.account();
  const mine = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(own.accountId));
  const costs = new Map<string, bigint>();
  const add = (name: string, cost: bigint) => costs.set(name, (costs.get(name) ?? 0n) + cost);
  for (const [n, user] of users.entries()) {
    upstream.next(reply.chat('x', { usage: usage(n + 1, 2 ** n) }));
    const { json } = await gateway.send('POST', '/chat/completions', {
      key: own.key,
      body: { model: 'a/one', user, metadata: tags[n], messages: [{ role: 'user', content: 'hello' }] },
    });
    const cost = BigInt(Math.round(json.usage.cost * 1e6));
    add('all', cost);
    add(`user ${user ?? ''}`, cost);
    add(`team ${(tags[n] as { team?: string } | undefined)?.team ?? ''}`, cost);
  }
  await gateway.settled();
  const { sums } = await mine.get('/usage/totals?range=today');
  assert.equal(BigInt(sums.cost_micro), costs.get('all'));
  type Groups = readonly { readonly value: string | null; readonly sums: { readonly cost_micro: string } }[];
  const groupsOf = async (query: string): Promise<Groups> =>
    (await mine.get(`/usage/groups?range=today&${query}`)).items;
  const sumOf = (groups: Groups) => groups.reduce((sum, one) => sum + BigInt(one.sums.cost_micro), 0n);
  for (const [query, name] of [
    ['by=user', 'user'],
    ['by=tag&tag=team', 'team'],
  ] as const) {
    const groups = await groupsOf(query);
    for (const { value, sums: found } of groups)
      assert.equal(BigInt(found.cost_micro), costs.get(`${name} ${value}`), `${name} ${value}`);
    assert.equal(sumOf(groups), costs.get('all'));
    const first = await groupsOf(`${query}&limit=2`);
    assert.deepEqual(first.slice(0, 2), groups.slice(0, 2));
    assert.deepEqual([first.length, first[2]?.value, sumOf(first)], [3, null, costs.get('all')]);
    const { points } = await mine.get(`/usage/series?range=today&step=day&limit=1&${query}`);
    assert.equal(sumOf(points), costs.get('all'));
  }
  const names: readonly string[] = (await mine.get('/usage/tags?range=today')).items.map(
    (item: { name: string }) => item.name,
  );
  assert.deepEqual([names[0], names.includes('__proto__'), names.includes('name 16')], ['team', true, false]);
  assert.ok(names.every((name) => name !== '' && name !== 'count' && name.length <= 64));
  for (const [n, user] of users.entries()) {
    if (user === undefined || user === '') continue;
    const query = new URLSearchParams({ user });
    const totals = await mine.get(`/usage/totals?range=today&${query}`);
    assert.equal(totals.sums.requests, 1, user);
    const { items } = await mine.get(`/generations?${query}`);
    assert.deepEqual([items.length, items[0].user], [1, user]);
    const detail = await mine.get(`/generations/${items[0].id}`);
    assert.deepEqual(detail.listing.tags, items[0].tags);
    const shown = Object.entries(tags[n] ?? {}).filter(
      ([name, value]) => typeof value === 'string' && name !== '' && name.length <= 64,
    );
    assert.deepEqual(
      items[0].tags,
      shown.slice(0, 16).map(([name, value]) => ({ name, value })),
    );
  }
  const red = await mine.get('/usage/groups?by=user&range=today&tag=team&tag_value=red');
  assert.deepEqual(
    red.items.map(({ value }: { value: string }) => value).sort(),
    [users[0], users[2]].sort(),
  );
  assert.equal((await mine.get('/generations?tag=team&tag_value=red')).items.length, 2);
  assert.equal((await mine.get('/generations?tag=__proto__&tag_value=own')).items.length, 1);
  for (const query of ['usage/groups?by=tag', 'usage/totals?tag_value=red', 'generations?tag_value=red'])
    assert.match((await mine.send('GET', `/${query}`)).json.error.message.en, /`tag` is missing/, query);
  assert.equal((await operator.send('GET', '/usage/groups?by=user')).status, 400);
  const viewed = await operator.get(`/accounts/${own.accountId}/usage/groups?range=today&by=user`);
  assert.equal(sumOf(viewed.items), costs.get('all'));
  // The names of tags are the client's, and no member of the record that is rolled up.
  for await (const _ of gateway.operator.rebuildUsage({}));
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
