/** How a server behind a proxy stops: no request hits a close. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { RawClient } from '../harness/raw-client.ts';
import { until } from '../harness/until.ts';

async function start(t: TestContext, proxies: readonly string[]): Promise<TestGateway> {
  const naru = await startTestGateway({ config: { edge: { trusted_proxies: proxies } } });
  t.after(() => naru.close());
  return naru;
}

async function isRefused(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const refused = await once(socket, 'connect').then(
    () => false,
    (error) => error.code === 'ECONNREFUSED',
  );
  socket.destroy();
  return refused;
}

const request = 'GET /api/v1/models HTTP/1.1\r\nhost: x\r\n\r\n';

test('a connection from a trusted proxy gets one more response with Connection: close; new ones are refused', async (t) => {
  const naru = await start(t, ['127.0.0.1']);
  const { port } = naru.gateway.server;
  const kept = await RawClient.open(port);
  assert.equal((await kept.write(request).response())?.status, 200);
  const closed = naru.gateway.close(new AbortController().signal);
  await until('connections are refused', () => isRefused(port), 10_000);
  const last = await kept.write(request).response();
  assert.equal(last?.status, 200);
  assert.deepEqual(last.all('connection'), ['close']);
  await kept.closed();
  await closed;
});

test('an idle connection that is not from a trusted proxy is closed at once', async (t) => {
  const naru = await start(t, ['192.0.2.1']);
  const kept = await RawClient.open(naru.gateway.server.port);
  assert.equal((await kept.write(request).response())?.status, 200);
  const closed = naru.gateway.close(new AbortController().signal);
  await kept.closed();
  await closed;
});
