/** The apps of an account: what they used, how they were recognised, and what their owner changes about them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';

const sessions = new TestSessions();
let upstream: Upstream;
let gateway: TestGateway;
let account: TestAccount;
let other: TestAccount;
let browser: PageBrowser;
let foreign: PageBrowser;

interface Item {
  readonly id: number;
  readonly name: string;
  readonly recognised_by: string;
  readonly merged: readonly { readonly id: number; readonly name: string }[];
  readonly is_hidden: boolean;
  readonly models: readonly string[];
  readonly first_seen_at: string | null;
  readonly last_seen_on: string | null;
  readonly sums: { readonly requests: number; readonly cost_micro: string };
}

const call = async (key: string, headers: Readonly<Record<string, string>>, model = 'a/one') => {
  const response = await gateway.send('POST', '/chat/completions', {
    key,
    headers: { 'user-agent': 'unknown-client', ...headers },
    body: { model, messages: [{ role: 'user', content: 'hello' }] },
  });
  assert.equal(response.status, 200, response.text);
};

before(async () => {
  upstream = await startUpstream();
  const models = ['a/one', 'a/two'].map((id) => ({ id, upstreams: [upstream.url] }));
  gateway = await startTestGateway({ sessions, models });
  account = await gateway.account();
  other = await gateway.account();
  browser = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(account.accountId));
  foreign = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(other.accountId));
  await call(account.key, { 'x-title': 'By title' });
  await call(account.key, { 'x-title': 'By title' }, 'a/two');
  await call(account.key, { 'http-referer': 'https://app.example/shop', 'x-title': 'By address' });
  await call(account.key, { 'user-agent': 'curl/8.5.0' });
  await call(account.key, {});
  await call(other.key, { 'x-title': 'By title' });
  await gateway.settled();
});
after(async () => {
  await gateway?.close();
  await upstream?.close();
});

async function itemsOf(client: PageBrowser): Promise<readonly Item[]> {
  return (await client.get('/apps?range=today')).items;
}

async function named(name: string, client = browser): Promise<Item> {
  const item = (await itemsOf(client)).find((one) => one.name === name);
  assert.ok(item, name);
  return item;
}

async function change(id: number, body: object): Promise<void> {
  const { status, text } = await browser.send('PATCH', `/apps/${id}`, { body });
  assert.equal(status, 200, text);
}

// pages:U4
test('each app has its usage, its models and the header that identified it; the sums are those of the account', async () => {
  const items = await itemsOf(browser);
  assert.deepEqual(
    items.map(({ name, recognised_by, sums: { requests } }) => [name, recognised_by, requests]).toSorted(),
    [
      ['', 'none', 1],
      ['By address', 'referer', 1],
      ['By title', 'title', 2],
      ['curl', 'user_agent', 1],
    ],
  );
  const item = await named('By title');
  assert.deepEqual(item.models.toSorted(), ['a/one', 'a/two']);
  assert.match(item.first_seen_at ?? '', /T/);
  assert.match(item.last_seen_on ?? '', /^\d{4}-\d{2}-\d{2}$/);
  const { sums } = await browser.get('/usage/totals?range=today');
  const total = items.reduce((sum, one) => sum + BigInt(one.sums.cost_micro), 0n);
  assert.equal(String(total), sums.cost_micro);
  const { last_request: last } = await browser.get(`/apps/${(await named('By address')).id}`);
  assert.deepEqual(
    [last.title, last.referer, last.user_agent],
    ['By address', 'https://app.example/shop', 'unknown-client'],
  );
});

// pages:U4,U1,U2,U3
test('a renamed app has its new name on every page of its account, and its old one elsewhere', async () => {
  const { id } = await named('By title');
  await change(id, { name: '  웹  상점 ' });
  const { items } = await browser.get('/usage/groups?by=app&range=today');
  assert.ok(items.some((one: { label: string }) => one.label === '웹 상점'));
  const requests = await browser.get(`/generations?app=${id}`);
  assert.deepEqual(requests.items[0].app, { id, name: '웹 상점' });
  const { listing, record } = await browser.get(`/generations/${requests.items[0].id}`);
  assert.deepEqual([listing.app.name, record.app_title], ['웹 상점', 'By title']);
  assert.equal((await named('By title', foreign)).id, id, 'another account keeps the recorded name');
  for (const name of ['', ' ', '\u202e', 'x'.repeat(101)])
    assert.equal((await browser.send('PATCH', `/apps/${id}`, { body: { name } })).status, 400);
  await change(id, { name: null });
  assert.equal((await named('By title')).id, id);
});

// pages:U4,U1,U2,U3
test('a merged app counts as its target in every sum, list and filter, until it is separated', async () => {
  const target = await named('By title');
  const source = await named('curl');
  const before = await browser.get('/usage/totals?range=today');
  await change(source.id, { merged_into: target.id });
  const items = await itemsOf(browser);
  const merged = await named('By title');
  assert.equal(
    items.some(({ id }) => id === source.id),
    false,
  );
  assert.deepEqual([merged.sums.requests, merged.merged], [3, [{ id: source.id, name: 'curl' }]]);
  const groups = await browser.get('/usage/groups?by=app&range=today');
  const group = groups.items.find((one: { value: string }) => one.value === String(target.id));
  assert.equal(group.sums.requests, 3);
  for (const id of [target.id, source.id]) {
    const { sums } = await browser.get(`/usage/totals?range=today&app=${id}`);
    assert.equal(sums.requests, 3, 'a link to the merged app leads to its target');
    const requests = await browser.get(`/generations?app=${id}`);
    assert.equal(requests.items.length, 3);
    assert.ok(requests.items.every((one: { app: { id: number } }) => one.app.id === target.id));
    assert.equal((await browser.get(`/apps/${id}`)).app.id, target.id);
  }
  const series = await browser.get('/usage/series?by=app&step=day&range=today');
  assert.ok(series.points.every((one: { value: string }) => one.value !== String(source.id)));
  assert.deepEqual((await browser.get('/usage/totals?range=today')).sums, before.sums);
  const { json } = await browser.send('PATCH', `/apps/${target.id}`, { body: { merged_into: source.id } });
  assert.equal(json.error.type, 'conflict', 'a loop');
  // The target is merged itself: what was merged into it follows.
  const end = await named('By address');
  await change(target.id, { merged_into: end.id });
  assert.equal((await named('By address')).sums.requests, 4);
  await change(source.id, { merged_into: null });
  await change(target.id, { merged_into: null });
  assert.deepEqual(
    (await itemsOf(browser)).map(({ id }) => id).toSorted(),
    [0, source.id, target.id, end.id].toSorted(),
  );
});

// pages:U4
test('merges at once make neither a chain nor a loop', async () => {
  const [one, two, three] = [await named('By title'), await named('curl'), await named('By address')];
  const pairs = [
    [one, two],
    [two, three],
    [three, one],
    [two, one],
    [one, three],
  ] as const;
  await Promise.all(
    pairs.map(([source, target]) =>
      browser.send('PATCH', `/apps/${source.id}`, { body: { merged_into: target.id } }),
    ),
  );
  const left = (await itemsOf(browser)).filter(({ id }) => id !== 0);
  assert.equal(left.flatMap(({ merged }) => merged).length + left.length, 3);
  assert.equal(
    left.reduce((sum, { sums }) => sum + sums.requests, 0),
    4,
  );
  for (const { id } of [one, two, three]) await change(id, { merged_into: null });
});

// pages:U4,U1,U2
test('a hidden app counts among the others where apps are compared, and in every total', async () => {
  const { id } = await named('By address');
  await change(id, { is_hidden: true });
  assert.equal((await named('By address')).is_hidden, true);
  const { items } = await browser.get('/usage/groups?by=app&range=today');
  assert.equal(
    items.some((one: { value: string }) => one.value === String(id)),
    false,
  );
  assert.equal(items.at(-1).value, null);
  assert.equal(items.at(-1).sums.requests, 1);
  assert.equal((await browser.get('/usage/totals?range=today')).sums.requests, 5);
  await change(id, { is_hidden: false });
});

// pages:U4
test('changes by an owner leave the ledger, the record, other accounts and the public rankings as they were', async () => {
  const rankings = await gateway.send('GET', '/datasets/app-rankings', { key: account.key });
  const others = await itemsOf(foreign);
  const target = await named('By title');
  const source = await named('curl');
  await change(source.id, { merged_into: target.id, name: 'Renamed', is_hidden: true });
  assert.deepEqual(await itemsOf(foreign), others);
  const after = await gateway.send('GET', '/datasets/app-rankings', { key: account.key });
  assert.deepEqual(after.json.data, rankings.json.data);
  const stored = await gateway.database.query<{ apps: string }>(
    'SELECT count(DISTINCT app_id)::text AS apps FROM generation WHERE account_id = $1 AND app_id = $2',
    [account.accountId, source.id],
  );
  assert.equal(stored[0]?.apps, '1');
  const foreignTarget = await browser.send('PATCH', `/apps/${source.id}`, { body: { merged_into: 12345 } });
  assert.equal(foreignTarget.status, 404);
  await change(source.id, { merged_into: null, name: null, is_hidden: false });
});

test('the search of the palette finds what the session may see: an owner its own, an operator all', async () => {
  const found = async (client: PageBrowser, text: string) =>
    (await client.get(`/search?text=${encodeURIComponent(text)}`)).items as readonly {
      readonly kind: string;
      readonly id: string;
      readonly name: string;
      readonly account_id: number | null;
    }[];
  const admin = `http://127.0.0.1:${gateway.gateway.admin.port}`;
  const operator = new PageBrowser(admin, 'console', sessions.operator('viewer'));
  const owners = async (client: PageBrowser, text: string) =>
    new Set((await found(client, text)).map(({ account_id }) => account_id));
  assert.deepEqual(await owners(browser, 'by TITLE'), new Set([account.accountId]));
  assert.deepEqual(await owners(foreign, 'By title'), new Set([other.accountId]));
  assert.deepEqual(await owners(operator, 'By title'), new Set([account.accountId, other.accountId]));
  const { items } = await browser.get('/keys');
  const [{ hash, label, name }] = items;
  for (const text of [hash, hash.toUpperCase(), label, name]) {
    const ofKind = (await found(browser, text)).filter(({ kind }) => kind === 'inference');
    assert.ok(
      ofKind.some(({ id }) => id === hash),
      text,
    );
    assert.ok(
      (await found(operator, text)).some(({ kind }) => kind === 'inference'),
      text,
    );
  }
  assert.deepEqual(await found(foreign, hash), []);
  for (const client of [browser, operator])
    assert.deepEqual(
      (await found(client, 'A/ON')).map(({ kind, id }) => [kind, id]),
      [['model', 'a/one']],
    );
  const [exact] = await found(operator, String(other.accountId));
  assert.deepEqual([exact?.kind, exact?.id], ['account', String(other.accountId)]);
  assert.deepEqual(await found(browser, '%'), []);
  assert.deepEqual(await found(browser, '없는 이름'), []);
  for (const text of ['', ' ', 'x'.repeat(201), 'a%00b'])
    assert.equal((await browser.send('GET', `/search?text=${text}`)).status, 400, text);
});
