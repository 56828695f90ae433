/** What a request in flight sees when the drain time is over. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messages } from '../../src/errors/messages.ts';
import { startTestGateway } from '../harness/gateway.ts';
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
