/** A key is checked again when the body has arrived, which may be minutes after the head. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Timer } from '../../src/time/clock.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { RawClient } from '../harness/raw-client.ts';
import { TestClock } from '../harness/test-clock.ts';
import { startUpstream } from '../harness/upstream.ts';

async function start(t: TestContext): Promise<{ naru: TestGateway; account: TestAccount; manager: string }> {
  const upstream = await startUpstream();
  const naru = await startTestGateway({ models: [{ id: 'test/one', upstreams: [upstream.url] }] });
  t.after(async () => {
    await naru.close();
    await upstream.close();
  });
  const account = await naru.account();
  const { key: manager } = await account.another({ kind: 'management' });
  return { naru, account, manager };
}

/** The status of a request whose body is sent when `meanwhile` is done. */
async function statusOf(
  naru: TestGateway,
  request: { readonly method?: string; readonly path: string; readonly key: string; readonly body: object },
  meanwhile: () => Promise<unknown>,
): Promise<number | undefined> {
  const body = JSON.stringify(request.body);
  const client = await RawClient.open(naru.gateway.server.port);
  client.write(
    `${request.method ?? 'POST'} /api/v1${request.path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${request.key}\r\n` +
      `content-length: ${body.length}\r\nexpect: 100-continue\r\n\r\n`,
  );
  assert.match(await client.some(), /^HTTP\/1\.1 100 /);
  await meanwhile();
  const response = await client.write(body).response();
  client.close();
  return response?.status;
}

test('a management key that is revoked before the body arrives creates no key', async (t) => {
  const { naru, account, manager } = await start(t);
  const { key, hash } = await account.another({ kind: 'management' });
  const sent = { path: '/keys', key, body: { name: 'late' } };
  const revoke = () => naru.send('DELETE', `/keys/${hash}`, { key: manager });
  assert.equal(await statusOf(naru, sent, revoke), 401);
  const { json } = await naru.send('GET', '/keys', { key: manager });
  assert.ok(!json.data.some(({ name }: { name: string }) => name === 'late'));
});

test('a key that is disabled before the body arrives is rejected', async (t) => {
  const { naru, account, manager } = await start(t);
  const { key, hash } = account;
  const body = { model: 'test/one', messages: [{ role: 'user', content: 'x' }] };
  const request = { path: '/chat/completions', key, body };
  const switchOff = () => naru.send('PATCH', `/keys/${hash}`, { key: manager, body: { disabled: true } });
  assert.equal(await statusOf(naru, request, async () => {}), 200);
  assert.equal(await statusOf(naru, request, switchOff), 401);
});

test('every endpoint with a body rejects a key that was revoked while the body was read', async (t) => {
  const { naru, account, manager } = await start(t);
  const routes = naru.gateway.routes.filter(({ document }) => document?.body !== undefined);
  assert.ok(routes.length >= 4, 'the loop must see the endpoints');
  for (const route of routes) {
    const kind = route.credential === 'management' ? 'management' : 'inference';
    const { key, hash } = await account.another({ kind });
    const path = route.path.replace('/api/v1', '').replace('{hash}', account.hash);
    // A body that the endpoint would reject itself: the key is checked before the body.
    const request = { method: route.method, path, key, body: {} };
    const revoke = () => naru.send('DELETE', `/keys/${hash}`, { key: manager });
    assert.equal(await statusOf(naru, request, revoke), 401, `${route.method} ${route.path}`);
  }
});

/** The timers of a body's pace fire at once. */
class HastyClock extends TestClock {
  override after(delayMs: number, task: () => void): Timer {
    return super.after(delayMs === 10_000 || delayMs === 5_000 ? 10 : delayMs, task);
  }
}

test('a body that arrives more slowly than the configured minimum is a 408', async (t) => {
  const limits = { min_body_bytes_per_second: 700 };
  const naru = await startTestGateway({ clock: new HastyClock(), config: { limits } });
  t.after(() => naru.close());
  const { key } = await naru.account();
  const client = await RawClient.open(naru.gateway.server.port);
  t.after(() => client.close());
  client.write(
    `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-length: 100000\r\n\r\n{`,
  );
  const response = await client.response();
  assert.equal(response?.status, 408);
  assert.match(response?.body ?? '', /700/);
});
