import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { hashKey } from '../../src/accounts/api-key.ts';
import { IdempotentChanges } from '../../src/pages/idempotency.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';

const sessions = new TestSessions();
let upstream: Upstream;
let gateway: TestGateway;
let account: TestAccount;
let browser: PageBrowser;

before(async () => {
  upstream = await startUpstream();
  gateway = await startTestGateway({ sessions, models: [{ id: 'a/b', upstreams: [upstream.url] }] });
  account = await gateway.account();
  browser = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(account.accountId));
});
after(async () => {
  await gateway?.close();
  await upstream?.close();
});

async function create(body: object = {}) {
  const response = await browser.send('POST', '/keys', { body: { kind: 'inference', name: 'one', ...body } });
  assert.equal(response.status, 200, response.text);
  const { data: key, key: plaintext } = response.json;
  return { key, plaintext };
}

const call = (key: string) =>
  gateway.send('POST', '/chat/completions', {
    key,
    body: { model: 'a/b', messages: [{ role: 'user', content: 'hello' }] },
  });

// pages:U5
test('a key that a page made works at once, and the page shows its limit and its use', async () => {
  const { key, plaintext } = await create({ limit_micro: '5000000000', limit_reset: 'monthly' });
  assert.equal(key.hash, hashKey(plaintext));
  assert.equal((await call(plaintext)).status, 200);
  await gateway.settled();
  const shown = await browser.get(`/keys/${key.hash}`);
  assert.equal(shown.standing, 'active');
  assert.equal(shown.limit_micro, '5000000000');
  assert.ok(BigInt(shown.usage_total_micro) > 0n);
  assert.equal(
    BigInt(shown.limit_remaining_micro) + BigInt(shown.limit_used_micro),
    BigInt(shown.limit_micro),
  );
  assert.match(shown.next_reset_at, /T15:00:00\.000Z$/);
  assert.equal(shown.days.length, 1);
  assert.equal(shown.days[0].cost_micro, shown.usage_total_micro);
  assert.equal(shown.last_used_on, shown.days[0].day);
  const { json } = await gateway.send('GET', '/key', { key: plaintext });
  assert.equal(Number(shown.usage_total_micro) / 1e6, json.data.usage);
});

// pages:U5
test('an edit changes what it states: off, limit, name', async () => {
  const { key, plaintext } = await create();
  const edit = (body: object) => browser.send('PATCH', `/keys/${key.hash}`, { body });
  assert.equal((await edit({ switched_off: true })).json.standing, 'switched_off');
  assert.equal((await call(plaintext)).status, 401);
  const { json } = await edit({ switched_off: false, name: '둘', limit_micro: '0' });
  assert.deepEqual([json.switched_off, json.name, json.limit_micro], [false, '둘', '0']);
  assert.equal((await call(plaintext)).status, 402);
  assert.equal((await edit({ limit_micro: null })).json.limit_micro, null);
  assert.equal((await call(plaintext)).status, 200);
  const wrong = [{ limit_micro: '-1' }, { limit_micro: 5 }, { limit_micro: '1.5' }, { name: ' ' }];
  for (const body of [...wrong, { allowed_models: ['none'] }, { allowed_providers: [] }, { rpm_limit: 0 }])
    assert.equal((await edit(body)).status, 400, JSON.stringify(body));
});

// pages:U5
test('a revoked key is refused and leaves the list', async () => {
  const { key, plaintext } = await create();
  assert.deepEqual((await browser.send('DELETE', `/keys/${key.hash}`)).json, { revoked: true });
  assert.equal((await call(plaintext)).status, 401);
  const { items } = await browser.get('/keys');
  assert.ok(items.every(({ hash }: { hash: string }) => hash !== key.hash));
  const before = await browser.get(`/keys/${key.hash}`);
  assert.equal(before.standing, 'revoked');
  // A window that still shows it learns that nothing was saved.
  for (const [method, path, body] of [
    ['PATCH', '', { name: 'changed' }],
    ['POST', '/rotate', {}],
  ] as const) {
    const refused = await browser.send(method, `/keys/${key.hash}${path}`, { body });
    assert.equal(refused.json.error.type, 'conflict', refused.text);
    assert.match(refused.json.error.message.en, /revoked elsewhere/);
  }
  assert.deepEqual(await browser.get(`/keys/${key.hash}`), before);
});

// pages:U5
test('rotation makes a key with the same settings; the old one ends at the stated instant', async () => {
  const restrictions = { allowed_models: ['a/*'], allowed_providers: ['up1'], rpm_limit: 9 };
  const own = { name: 'rotating', limit_micro: '7000000', limit_reset: 'daily', ...restrictions };
  const { key, plaintext } = await create(own);
  const endsAt = new Date(gateway.clock.now() + 3_600_000).toISOString();
  const { json } = await browser.send('POST', `/keys/${key.hash}/rotate`, { body: { ends_at: endsAt } });
  assert.notEqual(json.data.hash, key.hash);
  for (const [name, value] of Object.entries(own)) assert.deepEqual(json.data[name], value);
  assert.equal((await call(plaintext)).status, 200);
  assert.equal((await call(json.key)).status, 200);
  assert.equal((await browser.get(`/keys/${key.hash}`)).expires_at, endsAt);
  const now = await browser.send('POST', `/keys/${json.data.hash}/rotate`, { body: {} });
  assert.equal((await call(json.key)).status, 401);
  assert.equal((await call(now.json.key)).status, 200);
});

// pages:U6
test('management keys are a list of their own, and cannot call models', async () => {
  const { key, plaintext } = await create({ kind: 'management' });
  const { items } = await browser.get('/keys?kind=management');
  assert.deepEqual(
    items.map(({ hash }: { hash: string }) => hash),
    [key.hash],
  );
  const inference = await browser.get('/keys?kind=inference');
  assert.ok(inference.items.every((each: { kind: string }) => each.kind === 'inference'));
  assert.notEqual((await call(plaintext)).status, 200);
  assert.equal((await gateway.send('GET', '/keys', { key: plaintext })).status, 200);
});

test('the same change twice is one change; only one response has the plaintext, the others say why', async () => {
  const key = randomUUID();
  const body = { kind: 'inference', name: 'once' };
  const responses = await Promise.all(
    Array.from({ length: 5 }, () => browser.send('POST', '/keys', { body, key })),
  );
  assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]));
  assert.equal(new Set(responses.map(({ json }) => json.data.hash)).size, 1);
  const [first, ...more] = responses.filter(({ json }) => json.key !== null);
  assert.equal(hashKey(first?.json.key), first?.json.data.hash);
  assert.deepEqual([first?.json.message, more], [null, []]);
  const repeated = await browser.send('POST', '/keys', { body, key });
  assert.equal(repeated.json.key, null);
  assert.match(repeated.json.message.en, /revoke this key and create another/);
  const { items } = await browser.get('/keys');
  assert.equal(items.filter(({ name }: { name: string }) => name === 'once').length, 1);
  const other = await browser.send('POST', '/keys', { body: { ...body, name: 'twice' }, key });
  assert.equal(other.status, 409);
  assert.equal(other.json.error.type, 'idempotency_conflict');
});

test('a repeated rotation has no plaintext; the new key can be replaced by another', async () => {
  const key = randomUUID();
  const { key: old } = await create({ name: 'lost' });
  const rotate = () => browser.send('POST', `/keys/${old.hash}/rotate`, { body: {}, key });
  const [first, repeated] = [await rotate(), await rotate()];
  assert.notEqual(first.json.key, null);
  assert.deepEqual(repeated.json.data, first.json.data);
  assert.deepEqual([repeated.json.key, typeof repeated.json.message.ko], [null, 'string']);
  const replaced = await browser.send('POST', `/keys/${first.json.data.hash}/rotate`, { body: {} });
  assert.equal((await call(first.json.key)).status, 401);
  assert.equal((await call(replaced.json.key)).status, 200);
});

// security:37
test('the database has neither the idempotency key nor the plaintext of a new key', async () => {
  const key = randomUUID();
  const response = await browser.send('POST', '/keys', { body: { kind: 'inference', name: 'stored' }, key });
  const rows = await gateway.database.query<{ text: string }>('SELECT c::text AS text FROM page_change c');
  assert.ok(rows.some(({ text }) => text.includes(response.json.data.hash)));
  for (const secret of [response.json.key, key, Buffer.from(response.json.key).toString('hex')])
    assert.ok(rows.every(({ text }) => !text.includes(secret)));
});

test('a change whose process ended is made by the next attempt; after a day its key expires', async () => {
  const key = randomUUID();
  const body = { kind: 'inference', name: 'after a crash' };
  const first = await browser.send('POST', '/keys', { body, key });
  assert.equal(first.status, 200);
  await gateway.database.query(
    "UPDATE page_change SET reply = NULL, started_at = started_at - interval '2 minutes' WHERE key_hash = sha256($1::bytea)",
    [Buffer.from(key)],
  );
  const second = await browser.send('POST', '/keys', { body, key });
  assert.equal(second.status, 200);
  assert.notEqual(second.json.data.hash, first.json.data.hash);
  assert.deepEqual((await browser.send('POST', '/keys', { body, key })).json.data, second.json.data);
  gateway.clock.advance(25 * 3_600_000);
  await new IdempotentChanges({ database: gateway.database, clock: gateway.clock }).forgetOld();
  assert.deepEqual(await gateway.database.query('SELECT FROM page_change'), []);
});

test('a change that was refused may be sent again with its key', async () => {
  const key = randomUUID();
  const body = { kind: 'inference', name: 'again' };
  const refused = await browser.send('PATCH', `/keys/${'0'.repeat(64)}`, { body: { name: 'x' }, key });
  assert.equal(refused.status, 404);
  assert.equal((await browser.send('POST', '/keys', { body, key })).status, 200);
});

test('a foreign key is the same 404 as one that does not exist, and stays as it is', async () => {
  const other = await gateway.account();
  for (const [method, path] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/rotate'],
  ] as const) {
    const body = method === 'PATCH' ? { name: 'mine' } : method === 'POST' ? {} : undefined;
    const foreign = await browser.send(method, `/keys/${other.hash}${path}`, { body });
    const unknown = await browser.send(method, `/keys/${'0'.repeat(64)}${path}`, { body });
    assert.equal(foreign.status, 404);
    assert.equal(foreign.text, unknown.text);
  }
  assert.equal((await call(other.key)).status, 200);
});
