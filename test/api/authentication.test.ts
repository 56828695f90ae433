import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serveEcho } from '../harness/echo.ts';
import type { TestAccount, TestGateway } from '../harness/gateway.ts';
import { RawClient, rawly } from '../harness/raw-client.ts';
import { assertError } from '../harness/response-rules.ts';
import { until } from '../harness/until.ts';
import type { Upstream } from '../harness/upstream.ts';

const request = { model: 'test/echo', messages: [{ role: 'user', content: 'hi' }] };
let upstream: Upstream;
let naru: TestGateway;
let account: TestAccount;

serveEcho('1000000', (echo) => {
  ({ upstream, naru, account } = echo);
});

const chat = (key?: string) =>
  naru.send('POST', '/chat/completions', { body: request, ...(key === undefined ? {} : { key }) });

// spec:conformance/192,193,194,196
test('every credential that is not a valid key is rejected with the same body', async () => {
  const bodies = new Set<string>();
  for (const authorization of [
    '',
    'Bearer',
    'Bearer ',
    'Basic x',
    `Bearer  ${account.key}`,
    `Bearer ${account.key} x`,
    `Bearer ${account.key},`,
    `Bearer ${account.key}${'x'.repeat(10_000)}`,
    `Bearer ${'y'.repeat(10_240)}`,
    `Token ${account.key}`,
    account.key,
    'Bearer sk-or-v1-0000000000000000000000000000000000000000000000000000000000000000',
    `Bearer sk-naru-v1-${'0'.repeat(64)}`,
    `Bearer ${account.key.toUpperCase()}`,
    `Bearer ${account.hash}`,
    "Bearer ' OR '1'='1",
    "Bearer x'; DROP TABLE keys--",
    `Bearer sk-naru-'; DROP TABLE api_key; --`,
    'Bearer sk-naru-\u00e9\u00ff',
  ]) {
    const response = await naru.send('POST', '/chat/completions', {
      body: request,
      headers: { authorization },
    });
    assertError(response, 401, 'invalid_api_key');
    bodies.add(response.text);
  }
  bodies.add((await chat()).text);
  assert.equal(bodies.size, 1);
});

test('each request of a connection is identified by its own credential, and a revocation ends it', async () => {
  const [one, other] = [await naru.account(), await naru.account()];
  const client = await RawClient.open(naru.gateway.server.port);
  const callerOf = async (credential: string): Promise<string | number> => {
    client.write(`GET /api/v1/key HTTP/1.1\r\nHost: naru\r\n${credential}\r\n`);
    const response = (await client.response()) ?? assert.fail();
    return response.status === 200 ? JSON.parse(response.body).data.label : response.status;
  };
  const header = (key: string): string => `Authorization: Bearer ${key}\r\n`;
  const label = (key: string): string => `${key.slice(0, 14)}...${key.slice(-4)}`;
  for (const key of [one.key, one.key, other.key, one.key])
    assert.equal(await callerOf(header(key)), label(key));
  for (const wrong of ['', header(`${one.key.slice(0, -1)}x`), header(other.key.slice(0, -1))])
    assert.equal(await callerOf(wrong), 401);
  assert.equal(await callerOf(header(one.key)), label(one.key));
  await naru.operator.revokeKey(one.hash);
  await until('the revoked key is rejected', async () => (await callerOf(header(one.key))) === 401);
  assert.equal(await callerOf(header(other.key)), label(other.key));
  client.close();
});

// spec:conformance/192
test('control characters in the credential return 401, not a server error', async () => {
  for (const byte of ['\0', '\x01', '\x7f']) {
    const [response] = await rawly(
      naru.gateway.server.port,
      `GET /api/v1/key HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}${byte}\r\n\r\n`,
    );
    assert.equal(response?.status, 401, JSON.stringify(byte));
    assert.equal(JSON.parse(response.body).error.metadata.error_type, 'invalid_api_key');
  }
});

// spec:conformance/192
test('the scheme Bearer is case-insensitive', async () => {
  for (const word of ['bearer', 'BEARER'])
    assert.equal(
      (await naru.send('GET', '/key', { headers: { authorization: `${word} ${account.key}` } })).status,
      200,
    );
});

// spec:conformance/195
test('a key outside the Authorization header is ignored', async () => {
  const { key } = account;
  for (const headers of [
    { 'x-api-key': key },
    { 'api-key': key },
    { cookie: `key=${key}; Authorization=Bearer ${key}` },
  ])
    assertError(
      await naru.send('POST', `/chat/completions?api_key=${key}&key=${key}`, { body: request, headers }),
      401,
      'invalid_api_key',
    );
});

// spec:conformance/197
test('the first of two credentials is used', async () => {
  const other = await naru.account();
  const at = (first: string, second: string) =>
    rawly(
      naru.gateway.server.port,
      `GET /api/v1/key HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${first}\r\nauthorization: Bearer ${second}\r\n\r\n`,
    );
  const label = async (key: string): Promise<string> =>
    (await naru.send('GET', '/key', { key })).json.data.label;
  const [response] = await at(account.key, other.key);
  assert.equal(JSON.parse(response?.body ?? '').data.label, await label(account.key));
  assert.equal((await at('malformed', account.key))[0]?.status, 401);
});

// spec:conformance/199
test('an invalid key is rejected before the body or the model is checked', async () => {
  for (const body of ['{bad', { model: 'no/such', messages: [] }, { ...request, model: 'no/such' }, ''])
    assertError(
      await naru.send('POST', '/chat/completions', { key: 'sk-naru-v1-nobody', body }),
      401,
      'invalid_api_key',
    );
});

// spec:conformance/26,27
test('a management key cannot run inference', async () => {
  const { key } = await account.another({ kind: 'management' });
  assertError(await chat(key), 401, 'invalid_api_key');
  assertError(
    await naru.send('POST', '/completions', { key, body: { model: 'test/echo', prompt: 'x' } }),
    401,
    'invalid_api_key',
  );
});

// spec:conformance/129,130
test('a key is valid until the millisecond of its expiry and expired from then on, on every endpoint', async () => {
  const at = Date.parse('2026-12-01T00:00:00.000Z');
  const { key } = await account.another({ expiresAtMs: at });
  const { clock } = naru;
  try {
    clock.freeze(at - 1);
    assert.equal((await chat(key)).status, 200);
    for (const now of [at, at + 1]) {
      clock.freeze(now);
      assertError(await chat(key), 401, 'expired_api_key');
      assertError(await naru.send('GET', '/key', { key }), 401, 'expired_api_key');
      assertError(await naru.send('GET', '/credits', { key }), 401, 'expired_api_key');
      assertError(await naru.send('GET', '/generation?id=x', { key }), 401, 'expired_api_key');
    }
    clock.freeze(at - 1);
    assert.equal((await naru.send('GET', '/key', { key })).status, 200);
  } finally {
    clock.thaw();
  }
});

// spec:conformance/112
test('a revoked key is rejected within a second and permanently', async () => {
  const other = await account.another();
  assert.equal((await chat(other.key)).status, 200);
  assert.equal(await naru.operator.revokeKey(other.hash), true);
  await until('revocation', async () => (await chat(other.key)).status === 401);
  await account.topUp('1');
  assertError(await chat(other.key), 401, 'invalid_api_key');
});

// spec:conformance/122,127
test('a suspended key is rejected with 403, also after a top-up, and works again when the suspension is lifted', async () => {
  const other = await account.another();
  const upstreamCalls = upstream.requests.length;
  await naru.operator.suspendKey({ hash: other.hash, suspended: true, reason: 'abuse' });
  assertError(await chat(other.key), 403, 'key_suspended');
  await account.topUp('1000');
  assertError(await naru.send('GET', '/key', { key: other.key }), 403, 'key_suspended');
  assertError(await chat(other.key), 403, 'key_suspended');
  assert.equal(upstream.requests.length, upstreamCalls);
  assert.equal((await chat(account.key)).status, 200, 'the other key of the account works');
  await naru.operator.suspendKey({ hash: other.hash, suspended: false, reason: null });
  await until('lifting', async () => (await chat(other.key)).status === 200);
});

// spec:conformance/119,120,121,126,218 spec:money/6.1 spec:api/3.5
test('a balance of exactly zero rejects every key of the account with 402, and a top-up restores all of them', async () => {
  const poor = await naru.account({ credit: '20' });
  const second = await poor.another();
  assert.equal((await chat(poor.key)).json.usage.cost, 20);
  for (const key of [poor.key, second.key]) {
    assert.equal(assertError(await chat(key), 402, 'insufficient_credits')['balance_krw'], '0.000000');
    for (const path of ['/key', '/auth/key', '/credits', '/generation?id=x'])
      assertError(await naru.send('GET', path, { key }), 402, 'insufficient_credits');
  }
  await poor.topUp('0.000001');
  await until('top-up', async () => (await naru.send('GET', '/key', { key: second.key })).status === 200);
  assert.equal((await chat(poor.key)).status, 200);
});

test('an account that was never topped up has no credit', async () => {
  const broke = await naru.account({ credit: '0' });
  assert.equal(assertError(await chat(broke.key), 402, 'insufficient_credits')['balance_krw'], '0.000000');
});

// spec:conformance/123
test('a top-up does not restore a key that was revoked while the account had no credit', async () => {
  const poor = await naru.account({ credit: '20' });
  await chat(poor.key);
  await naru.operator.revokeKey(poor.hash);
  await poor.topUp('100');
  const other = await poor.another();
  await until('top-up', async () => (await chat(other.key)).status === 200);
  await until('revocation', async () => (await chat(poor.key)).status === 401);
});

// spec:errors/5.2
test('if several reasons apply, the first in the order of rejections is returned', async () => {
  const { account: make, operator } = naru;
  const expired = await make({ credit: '0', expiresAtMs: 1000 });
  assertError(await chat(expired.key), 401, 'expired_api_key');
  await operator.suspendKey({ hash: expired.hash, suspended: true, reason: null });
  assertError(await chat(expired.key), 401, 'expired_api_key');
  const suspended = await make({ credit: '0' });
  await operator.suspendKey({ hash: suspended.hash, suspended: true, reason: null });
  assertError(await chat(suspended.key), 403, 'key_suspended');
  await operator.revokeKey(suspended.hash);
  await until('revocation', async () => (await chat(suspended.key)).status === 401);
});

test('a key that was unknown works as soon as it is created', async () => {
  const fresh = await account.another();
  assert.equal((await chat(fresh.key)).status, 200);
});
