/** What requests see of a server that stops: when the drain time is over, and before. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { messages } from '../../src/errors/messages.ts';
import { ClientAddresses } from '../../src/http/client-ip.ts';
import type { Served } from '../../src/http/serve.ts';
import type { ServeParts } from '../../src/http/serve-parts.ts';
import { startTestGateway } from '../harness/gateway.ts';
import { startHttpServer } from '../harness/http-server.ts';
import { RawClient } from '../harness/raw-client.ts';
import { until } from '../harness/until.ts';
import { gate, reply, startUpstream } from '../harness/upstream.ts';

test('a body that is still read when the drain ends gets a 500 that names the stop, and no internal error is logged', async (t) => {
  const naru = await startTestGateway();
  t.after(() => naru.close());
  const { key } = await naru.account();
  const client = await RawClient.open(naru.gateway.server.port);
  t.after(() => client.close());
  client.write('POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\n');
  client.write(`authorization: Bearer ${key}\r\ncontent-length: 99\r\n\r\n{`);
  await until('the request is in flight', () => naru.gateway.server.inFlight() === 1);
  const response = client.response();
  await naru.stop();
  const result = await response;
  assert.equal(result?.status, 500);
  const { error } = JSON.parse(String(result?.body));
  assert.deepEqual([error.message, error.metadata.error_type], [String(messages.serverStopping()), 'server']);
  assert.deepEqual(
    naru.logged.filter(({ event }) => event === 'internal_error'),
    [],
  );
});

test('a stream that is still open when the drain ends gets an error event that names the stop', async (t) => {
  const upstream = await startUpstream();
  const naru = await startTestGateway({ models: [{ id: 'test/echo', upstreams: [upstream.url] }] });
  t.after(async () => {
    await naru.close();
    await upstream.close();
  });
  const { key } = await naru.account();
  const held = gate();
  upstream.next(reply.stream(['some ', held, 'more']));
  const response = await fetch(`${naru.url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'test/echo', stream: true, messages: [{ role: 'user', content: 'hi' }] }),
  });
  const text = response.text();
  await held.reached;
  await naru.stop();
  assert.ok((await text).includes(JSON.stringify(String(messages.serverStopping()))));
});

const request = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';

/** A server that trusts its clients, as those behind a proxy. */
const start = (t: TestContext, parts: Partial<ServeParts>): Promise<Served> =>
  startHttpServer(t, { addresses: new ClientAddresses(['127.0.0.1']), ...parts });

test('a request that a proxy sends while the stopping server does not run for longer than it waits is answered', async (t) => {
  const served = await start(t, { idleWhileStoppingMs: 300 });
  const proxy = await RawClient.open(served.port);
  t.after(() => proxy.close());
  assert.equal((await proxy.write(request).response())?.status, 200);
  const stopped = served.drain().then(() => served.close());
  await until('it listens no more', async () =>
    RawClient.open(served.port).then(
      () => false,
      () => true,
    ),
  );
  // In the buffer of the kernel at once; the timer of the server is over before it looks there.
  proxy.write(request);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
  const response = await proxy.response();
  assert.equal(response?.status, 200);
  assert.deepEqual(response.all('connection'), ['close']);
  await stopped;
});

test('a first request that arrives as a server stops is answered', async (t) => {
  const served = await start(t, {});
  const client = await RawClient.open(served.port);
  t.after(() => client.close());
  // The server has accepted it: it responds to one that was accepted later.
  assert.equal((await (await RawClient.open(served.port)).write(request).response())?.status, 200);
  client.write(request);
  const stopped = served.drain().then(() => served.close());
  assert.equal((await client.response())?.status, 200);
  await stopped;
});
