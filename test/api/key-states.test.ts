/** The states of a key and of its account, as the key endpoints show and obey them (spec:api/8). */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { KeyHash } from '../../src/accounts/api-key.ts';
import { startTestGateway, type TestGateway, type TestResponse } from '../harness/gateway.ts';
import { type Manager, manager } from '../harness/management.ts';
import { assertError } from '../harness/response-rules.ts';
import { until } from '../harness/until.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';

const request = { model: 'test/echo', messages: [{ role: 'user', content: 'hi' }] };
let upstream: Upstream;
let naru: TestGateway;

before(async () => {
  upstream = await startUpstream();
  naru = await startTestGateway({ models: [{ id: 'test/echo', upstreams: [upstream.url] }] });
});
after(async () => {
  await naru?.close();
  await upstream?.close();
});

const chat = (key: string): Promise<TestResponse> =>
  naru.send('POST', '/chat/completions', { key, body: request });

/** Every operation of a management key. */
async function everyCall(owner: Manager, hash: string): Promise<readonly TestResponse[]> {
  return [
    await owner.list(),
    await owner.create({ name: 'x' }),
    await owner.read(hash),
    await owner.change(hash, { name: 'x' }),
    await owner.change(hash, '{bad'),
    await owner.revoke(hash),
  ];
}

function suspend(hash: string, suspended: boolean): Promise<boolean> {
  return naru.operator.suspendKey({ hash: hash as KeyHash, suspended, reason: 'test' });
}

// spec:conformance/119,120,121,123,124,126
test('an account without credit cannot manage keys until a top-up, which restores no disabled or revoked key', async () => {
  const owner = await manager(naru, '20');
  const [off, revoked, other] = [await owner.issue(), await owner.issue(), await owner.issue()];
  await owner.change(off.hash, { disabled: true });
  await owner.revoke(revoked.hash);
  assert.equal((await chat(owner.account.key)).json.usage.cost, 20);
  for (const response of await everyCall(owner, other.hash))
    assert.equal(assertError(response, 402, 'insufficient_credits')['balance_krw'], '0.000000');
  assertError(await chat(other.key), 402, 'insufficient_credits');
  await owner.account.topUp('1000');
  await until('top-up', async () => (await owner.list()).status === 200);
  for (const key of [owner.account.key, other.key]) assert.equal((await chat(key)).status, 200);
  for (const key of [off.key, revoked.key]) assertError(await chat(key), 401, 'invalid_api_key');
  const { data } = (await owner.read(other.hash)).json;
  assert.deepEqual([data.name, data.disabled], ['test', false], 'nothing happened while there was no credit');
});

// spec:conformance/60,122,127,128
test('a suspended key is shown as disabled, and neither its owner nor a top-up lifts the suspension', async () => {
  const owner = await manager(naru);
  const { key, hash } = await owner.issue();
  assert.equal((await chat(key)).status, 200);
  await suspend(hash, true);
  await until('suspension', async () => (await chat(key)).status === 403);
  assert.equal((await owner.read(hash)).json.data.disabled, true);
  const changed = await owner.change(hash, { disabled: false });
  assert.equal(changed.status, 200);
  assert.equal(changed.json.data.disabled, true);
  await owner.account.topUp('1000');
  assertError(await chat(key), 403, 'key_suspended');
  await suspend(hash, false);
  await until('lifting', async () => (await chat(key)).status === 200);
  assert.equal((await owner.read(hash)).json.data.disabled, false);
});

test("lifting a suspension leaves the owner's own switch unchanged", async () => {
  const owner = await manager(naru);
  const { key, hash } = await owner.issue();
  await suspend(hash, true);
  await owner.change(hash, { disabled: true });
  await suspend(hash, false);
  assert.equal((await owner.read(hash)).json.data.disabled, true);
  await until('lifting', async () => (await chat(key)).status === 401);
  await owner.change(hash, { disabled: false });
  assert.equal((await chat(key)).status, 200);
});

// spec:conformance/125
test('a suspended management key cannot manage keys', async () => {
  const owner = await manager(naru);
  const { hash } = await owner.issue();
  const { key } = owner;
  const [own] = (await owner.list()).json.data.filter((item: { label: string }) =>
    item.label.includes('mgmt'),
  );
  await suspend(own.hash, true);
  await until('suspension', async () => (await owner.list()).status === 403);
  for (const response of await everyCall(owner, hash)) assertError(response, 403, 'key_suspended');
  await suspend(own.hash, false);
  await until('lifting', async () => (await naru.send('GET', '/keys', { key })).status === 200);
});

// spec:conformance/118
test('a disabled management key is rejected', async () => {
  const owner = await manager(naru);
  const second = await owner.account.another({ kind: 'management' });
  await owner.change(second.hash, { disabled: true });
  assertError(await naru.send('GET', '/keys', { key: second.key }), 401, 'invalid_api_key');
  await owner.change(second.hash, { disabled: false });
  assert.equal((await naru.send('GET', '/keys', { key: second.key })).status, 200);
});

// spec:conformance/129,130 spec:api/5.6
test('a key with an expiry is rejected from that millisecond on, and is not shown as disabled', async () => {
  const owner = await manager(naru);
  const at = Date.parse('2026-12-15T00:00:00.000Z');
  const management = await owner.account.another({ kind: 'management', expiresAtMs: at });
  const { key, hash } = await owner.issue({ expires_at: '2026-12-15T00:00:00Z' });
  try {
    naru.clock.freeze(at - 1);
    assert.equal((await chat(key)).status, 200);
    assert.equal((await naru.send('GET', '/keys', { key: management.key })).status, 200);
    for (const now of [at, at + 1]) {
      naru.clock.freeze(now);
      assertError(await chat(key), 401, 'expired_api_key');
      for (const path of ['/key', '/credits'])
        assertError(await naru.send('GET', path, { key }), 401, 'expired_api_key');
      assertError(await naru.send('GET', '/keys', { key: management.key }), 401, 'expired_api_key');
      assertError(
        await naru.send('PATCH', `/keys/${hash}`, { key: management.key, body: '{bad' }),
        401,
        'expired_api_key',
      );
    }
    const { data } = (await owner.read(hash)).json;
    assert.deepEqual([data.disabled, data.expires_at], [false, '2026-12-15T00:00:00.000Z']);
  } finally {
    naru.clock.thaw();
  }
});

test('a key whose expiry is in the past is created, and is rejected as expired', async () => {
  const owner = await manager(naru);
  const { key } = await owner.issue({ expires_at: '2020-01-01T00:00:00Z' });
  assertError(await chat(key), 401, 'expired_api_key');
});

// spec:conformance/63,241,242 spec:money/7.1
test("usage restarts at zero when the limit's period begins in Seoul, and the listing, the key and its own view agree", async () => {
  const owner = await manager(naru);
  const { key, hash } = await owner.issue({ limit: 20, limit_reset: 'daily' });
  const usages = async (): Promise<readonly number[]> => {
    const { data } = (await owner.read(hash)).json;
    const listed = (await owner.list()).json.data.find((item: { hash: string }) => item.hash === hash);
    assert.deepEqual(listed, data);
    const { usage, limit_remaining } = (await naru.send('GET', '/key', { key })).json.data;
    assert.deepEqual([usage, limit_remaining], [data.usage, data.limit_remaining]);
    return [data.usage, data.usage_daily, data.usage_weekly, data.usage_monthly, data.limit_remaining];
  };
  try {
    // Thursday, 31 December in Seoul: the week continues over midnight, the day and the month do
    // not.
    naru.clock.freeze('2026-12-31T14:59:59.999Z');
    assert.equal((await chat(key)).json.usage.cost, 20);
    assert.deepEqual(await usages(), [20, 20, 20, 20, 0]);
    assertError(await chat(key), 402, 'key_limit_exceeded');
    naru.clock.freeze('2026-12-31T15:00:00.000Z');
    assert.deepEqual(await usages(), [0, 0, 20, 0, 20]);
    await owner.change(hash, { limit_reset: 'weekly' });
    assert.deepEqual(await usages(), [20, 0, 20, 0, 0]);
    assertError(await chat(key), 402, 'key_limit_exceeded');
    await owner.change(hash, { limit_reset: 'monthly' });
    assert.deepEqual(await usages(), [0, 0, 20, 0, 20]);
    await owner.change(hash, { limit_reset: 'never' });
    assert.deepEqual(await usages(), [20, 0, 20, 0, 0]);
    // Monday in Seoul.
    await owner.change(hash, { limit_reset: 'weekly' });
    naru.clock.freeze('2027-01-03T14:59:59.999Z');
    assert.deepEqual(await usages(), [20, 0, 20, 0, 0]);
    naru.clock.freeze('2027-01-03T15:00:00.000Z');
    assert.deepEqual(await usages(), [0, 0, 0, 0, 20]);
    assert.equal((await chat(key)).status, 200);
  } finally {
    naru.clock.thaw();
  }
});
