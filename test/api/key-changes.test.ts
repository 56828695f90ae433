/**
 * Changing and revoking a key (spec:api/6): members that are not sent do not change, and a change
 * is never partial.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway, type TestResponse } from '../harness/gateway.ts';
import { type Manager, manager } from '../harness/management.ts';
import { assertError } from '../harness/response-rules.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';

const request = { model: 'test/echo', messages: [{ role: 'user', content: 'hi' }] };
let upstream: Upstream;
let naru: TestGateway;
let mine: Manager;

before(async () => {
  upstream = await startUpstream();
  naru = await startTestGateway({ models: [{ id: 'test/echo', upstreams: [upstream.url] }] });
  mine = await manager(naru);
});
after(async () => {
  await naru?.close();
  await upstream?.close();
});

const chat = (key: string): Promise<TestResponse> =>
  naru.send('POST', '/chat/completions', { key, body: request });
const start = { name: 'before', limit: 1000, limit_reset: 'weekly' };

/** Sends a change to a fresh key and returns the members that it changed, `updated_at` left out. */
async function changed(body: unknown): Promise<Record<string, unknown>> {
  const { hash } = await mine.issue(start);
  const before = (await mine.read(hash)).json.data;
  const response = await mine.change(hash, body);
  assert.equal(response.status, 200, response.text);
  assert.deepEqual((await mine.read(hash)).json, response.json, 'the response is what is read next');
  const after = response.json.data;
  return Object.fromEntries(
    Object.entries(after).filter(([name, value]) => value !== before[name] && name !== 'updated_at'),
  );
}

// spec:conformance/58,65,138,139,140,141,142
test('a change applies only the members that are sent, and null differs from omission', async () => {
  assert.deepEqual(await changed({ name: 'x' }), { name: 'x' });
  assert.deepEqual(await changed({ disabled: true }), { disabled: true });
  assert.deepEqual(await changed({ disabled: false }), {});
  assert.deepEqual(await changed({ limit: 5000 }), { limit: 5000, limit_remaining: 5000 });
  assert.deepEqual(await changed({ limit: null }), { limit: null, limit_remaining: null });
  assert.deepEqual(await changed({ limit_reset: 'daily' }), { limit_reset: 'daily' });
  assert.deepEqual(await changed({ limit_reset: null }), { limit_reset: 'never' });
  assert.deepEqual(await changed({ name: 'x', disabled: true, limit: 1, limit_reset: 'never' }), {
    name: 'x',
    disabled: true,
    limit: 1,
    limit_remaining: 1,
    limit_reset: 'never',
  });
});

// spec:conformance/53,111,143 spec:api/6.11
test('a change moves updated_at forward, and an empty one leaves it unchanged', async () => {
  const { hash } = await mine.issue(start);
  const untouched = (await mine.read(hash)).text;
  for (const body of [
    {},
    { unknown: 1 },
    { hash: 'x', created_at: 'x', usage: 9, label: 'x', limit_remaining: 1, kind: 'management' },
  ]) {
    const response = await mine.change(hash, body);
    assert.equal(response.status, 200);
    assert.equal(response.text, untouched);
  }
  let last = Date.parse((await mine.read(hash)).json.data.created_at);
  for (const body of [{ disabled: true }, { disabled: false }, { name: 'y' }]) {
    const { updated_at } = (await mine.change(hash, body)).json.data;
    assert.match(updated_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.ok(Date.parse(updated_at) >= last);
    last = Date.parse(updated_at);
  }
  naru.clock.advance(-3_600_000);
  try {
    const { updated_at } = (await mine.change(hash, { name: 'z' })).json.data;
    assert.equal(Date.parse(updated_at), last, 'also when the clock was set back');
    const fresh = await mine.issue();
    naru.clock.advance(-3_600_000);
    const { data } = (await mine.change(fresh.hash, { name: 'z' })).json;
    assert.equal(data.updated_at, data.created_at);
  } finally {
    naru.clock.advance(7_200_000);
  }
});

// spec:conformance/144,145,146,147,148,150,151,152
test('an invalid change is rejected as a whole, and nothing of it is stored', async () => {
  const { hash } = await mine.issue(start);
  const before = (await mine.read(hash)).text;
  const names = [
    '',
    '   ',
    '\t\n',
    '\u3000',
    '\u200b',
    '\u200b\u200b \ufeff',
    '\u00a0',
    '\u2060',
    '\u00ad',
    '\u3164',
    '\u034f',
    '\u2800',
    '\0',
    'x\0',
    'x'.repeat(501),
  ];
  const bodies: unknown[] = [
    ...[...names, 1, null, true, [], {}].map((name) => ({ name })),
    ...['true', 1, 0, null, [], {}].map((disabled) => ({ disabled })),
    ...['100', true, [], {}, '', -1, -0.000001, -1e-9, 1e15 + 1, 1e16, 1e300].map((limit) => ({ limit })),
    ...['yearly', '', 1, [], {}, true].map((limit_reset) => ({ limit_reset })),
    '{"limit":1e400}',
    '{"limit":-1e400}',
    '{"limit":NaN}',
    '{"limit":Infinity}',
    '{"limit":-0}',
    '{"name":"\\ud800"}',
    Buffer.from([0x7b, 0x22, 0x6e, 0x61, 0x6d, 0x65, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]),
    { name: 'ok', limit: 'bad' },
    { limit: 5, name: '' },
    { disabled: true, limit_reset: 'bad' },
    '{bad',
    '',
    'undefined',
    [],
    '"x"',
    '1',
    'null',
    'true',
  ];
  for (const body of bodies) {
    assertError(await mine.change(hash, body), 400, 'invalid_request');
    assert.equal((await mine.read(hash)).text, before, JSON.stringify(body));
  }
});

// spec:conformance/148 spec:money/7.3
test('a limit is rounded half up to the micro-won, from zero to 10^15', async () => {
  const { hash } = await mine.issue();
  for (const [sent, kept] of [
    ['0.1234565', 0.123457],
    ['0.12345649', 0.123456],
    ['0.0000004', 0],
    ['1e-7', 0],
    ['1234567.1234567', 1234567.123457],
    ['1e15', 1e15],
    ['5000.0', 5000],
    ['0', 0],
    ['0.0', 0],
  ] as const) {
    const response = await mine.change(hash, `{"limit":${sent}}`);
    assert.equal(response.status, 200, `${sent}: ${response.text}`);
    const { limit, limit_remaining } = response.json.data;
    assert.deepEqual([limit, limit_remaining], [kept, kept], sent);
  }
});

// spec:conformance/153
test('names of a prototype have no effect, here or later', async () => {
  const { hash } = await mine.issue(start);
  const before = (await mine.read(hash)).text;
  for (const body of [
    '{"__proto__":{"disabled":true,"limit":1,"name":"x"}}',
    '{"constructor":{"prototype":{"disabled":true}}}',
    '{"prototype":{"disabled":true}}',
    '{"__proto__":null}',
    '{"toString":1,"hasOwnProperty":1}',
  ]) {
    assert.equal((await mine.change(hash, body)).text, before);
    assert.equal((await mine.change(hash, {})).text, before);
    assertError(await mine.create(body), 400, 'invalid_request');
  }
  const { data } = (await mine.create('{"name":"x","__proto__":{"limit":1}}')).json;
  assert.equal(data.limit, null);
  assert.equal(({} as { disabled?: unknown }).disabled, undefined);
});

// spec:conformance/154
test('the last value of a duplicate member counts', async () => {
  const { hash } = await mine.issue(start);
  assert.equal((await mine.change(hash, '{"disabled":true,"disabled":false}')).json.data.disabled, false);
  assert.equal((await mine.change(hash, '{"disabled":false,"disabled":true}')).json.data.disabled, true);
  assert.equal((await mine.change(hash, '{"limit":"bad","limit":7}')).json.data.limit, 7);
  assertError(await mine.change(hash, '{"limit":7,"limit":"bad"}'), 400, 'invalid_request');
});

// spec:conformance/109,110,149
test('a change applies to the very next request', async () => {
  const { key, hash } = await mine.issue();
  for (let n = 0; n < 5; n += 1) {
    assert.equal((await chat(key)).status, 200);
    await mine.change(hash, { disabled: true });
    assertError(await chat(key), 401, 'invalid_api_key');
    await mine.change(hash, { disabled: false, limit: 0 });
    assertError(await chat(key), 402, 'key_limit_exceeded');
    await mine.change(hash, { limit: null });
  }
});

test('concurrent changes do not overwrite each other', async () => {
  const { hash } = await mine.issue(start);
  const bodies = [{ name: 'both' }, { disabled: true }, { limit: 77 }, { limit_reset: 'monthly' }];
  for (const response of await Promise.all(bodies.map((body) => mine.change(hash, body))))
    assert.equal(response.status, 200);
  const { name, disabled, limit, limit_reset } = (await mine.read(hash)).json.data;
  assert.deepEqual(
    { name, disabled, limit, limit_reset },
    { name: 'both', disabled: true, limit: 77, limit_reset: 'monthly' },
  );
});

// spec:conformance/61,112,113,114,115,117,155,156 spec:api/6.14
test('a revoked key is rejected at once and permanently, can be read and renamed, and is not listed', async () => {
  const { key, hash } = await mine.issue();
  assert.equal((await chat(key)).status, 200);
  for (const body of [undefined, undefined, { any: 'body' }, '{bad', 'x'.repeat(100_000)]) {
    const response = await mine.revoke(hash, body);
    assert.equal(response.status, 200);
    // `deleted` is what OpenRouter's own client reads (spec:api/6.12).
    assert.deepEqual(response.json, { data: { success: true }, deleted: true });
  }
  assertError(await chat(key), 401, 'invalid_api_key');
  assert.ok(!(await mine.list()).text.includes(hash));
  assert.equal((await mine.read(hash)).json.data.disabled, true);
  const renamed = await mine.change(hash, { name: 'gone', disabled: false, limit: null });
  assert.equal(renamed.status, 200);
  assert.equal(renamed.json.data.name, 'gone');
  assert.equal(renamed.json.data.disabled, true);
  assertError(await chat(key), 401, 'invalid_api_key');
});

test('a second revocation keeps the time of the first', async () => {
  const { hash } = await mine.issue();
  await mine.revoke(hash);
  const first = (await mine.read(hash)).text;
  naru.clock.advance(60_000);
  await Promise.all([mine.revoke(hash), mine.revoke(hash)]);
  assert.equal((await mine.read(hash)).text, first);
  naru.clock.advance(-60_000);
});

// spec:conformance/75,116
test('a revocation keeps usage and payments', async () => {
  const { key, hash } = await mine.issue();
  await chat(key);
  await naru.settled();
  const { accountId } = mine.account;
  const ledger = async (): Promise<unknown> => ({
    credits: (await naru.send('GET', '/credits', { key: mine.key })).json,
    usage: (await mine.read(hash)).json.data.usage,
    entries: await Array.fromAsync(naru.operator.exportEntries(accountId)),
    // Refusals of earlier tests are recorded late.
    records: (await Array.fromAsync(naru.operator.exportGenerations(accountId))).filter(
      (record) => (record as { status: number }).status === 200,
    ),
  });
  const before = await ledger();
  await mine.revoke(hash);
  assert.deepEqual(await ledger(), before);
  assert.deepEqual((await naru.operator.verifyLedger()).differences, []);
});

// spec:conformance/118
test('a revoked management key cannot manage keys, and can revoke itself', async () => {
  const second = await mine.account.another({ kind: 'management' });
  assert.equal((await naru.send('GET', '/keys', { key: second.key })).status, 200);
  assert.equal((await naru.send('DELETE', `/keys/${second.hash}`, { key: second.key })).status, 200);
  assertError(await naru.send('GET', '/keys', { key: second.key }), 401, 'invalid_api_key');
  assert.equal((await mine.list()).status, 200);
});
