/**
 * Streams through nginx with deploy/nginx.conf: chunk by chunk, and a client that disconnects ends
 * its upstream request.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { after, test } from 'node:test';
import { serveEcho } from '../harness/echo.ts';
import type { TestAccount, TestGateway } from '../harness/gateway.ts';
import { RawClient } from '../harness/raw-client.ts';
import { ledgerOf } from '../harness/read-ledger.ts';
import { eventsOf } from '../harness/stream.ts';
import { eventually, until } from '../harness/until.ts';
import { gate, reply, type Upstream } from '../harness/upstream.ts';
import { type Nginx, startNginx } from './nginx.ts';

let upstream: Upstream;
let naru: TestGateway;
let account: TestAccount;
let nginx: Nginx;

// Before the gateway, whose connections it keeps open.
after(() => nginx?.stop());
serveEcho(
  '100000000',
  async (echo) => {
    ({ upstream, naru, account } = echo);
    nginx = await startNginx({ behind: [naru.gateway.server.port], unlimited: true });
  },
  { config: { edge: { trusted_proxies: ['127.0.0.1'] } } },
);

function request(stream: boolean): string {
  const body = JSON.stringify({ model: 'test/echo', stream, messages: [{ role: 'user', content: 'hi' }] });
  return `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

/** Reads until the text has arrived. */
async function untilSeen(client: RawClient, text: string): Promise<string> {
  let seen = '';
  while (!seen.includes(text)) {
    const more = await client.some();
    assert.notEqual(more, '', `the stream ended before ${text}: ${seen}`);
    seen += more;
  }
  return seen;
}

// spec:conformance/4
test('through the proxy: each chunk arrives before the next is generated, after headers with the currency', {
  timeout: 60_000,
}, async () => {
  const gates = [gate(), gate(), gate()] as const;
  upstream.next(reply.stream(['one ', gates[0], 'two ', gates[1], 'three ', gates[2], 'four']));
  const client = await RawClient.open(nginx.port);
  client.write(request(true));
  // With buffering this would wait forever: the upstream continues only when the chunk has arrived
  // here.
  assert.match(
    await untilSeen(client, 'one '),
    /^HTTP\/1\.1 200 [\s\S]*X-Service-Currency: KRW\r\n[\s\S]*\r\n\r\n/,
  );
  gates[0].open();
  await untilSeen(client, 'two ');
  gates[1].open();
  await untilSeen(client, 'three ');
  gates[2].open();
  await untilSeen(client, 'data: [DONE]');
  client.close();
});

test('through the proxy: a request is processed while its body is still being sent', {
  timeout: 60_000,
}, async () => {
  const client = await RawClient.open(nginx.port);
  client.write(
    'POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer garbage\r\ncontent-length: 1000000\r\n\r\n{',
  );
  assert.equal((await client.response())?.status, 401);
  client.close();
});

test('through the proxy: one client connection serves request after request, over one connection to Naru', async (t) => {
  let connections = 0;
  const counter = createServer((socket) => {
    connections += 1;
    const onward = connect(naru.gateway.server.port, '127.0.0.1');
    socket.pipe(onward).pipe(socket);
    socket.on('error', () => onward.destroy());
    onward.on('error', () => socket.destroy());
  }).listen(0, '127.0.0.1');
  await once(counter, 'listening');
  const counted = await startNginx({ behind: [(counter.address() as AddressInfo).port], unlimited: true });
  t.after(async () => {
    await counted.stop();
    counter.close();
  });
  const client = await RawClient.open(counted.port);
  const ids = new Set<string>();
  for (let n = 0; n < 40; n += 1) {
    client.write(request(n % 2 === 0));
    const response = await client.response();
    assert.equal(response?.status, 200);
    assert.deepEqual(response.all('connection'), ['keep-alive']);
    assert.deepEqual(response.all('x-service-currency'), ['KRW']);
    if (n % 2 === 0) assert.equal(eventsOf(response.body).at(-1)?.data, '[DONE]');
    ids.add(response.all('x-service-generation-id')[0] ?? '');
  }
  client.close();
  assert.equal(ids.size, 40);
  assert.equal(connections, 1);
});

test('through the proxy: a client that disconnects ends its upstream request, and pays for what it received', {
  timeout: 60_000,
}, async () => {
  const payer = await naru.account({ credit: '1000' });
  const hold = gate();
  upstream.next(reply.stream(['some ', 'words ', hold, 'and more']));
  const before = upstream.hangUps.length;
  const client = await RawClient.open(nginx.port);
  client.write(request(true).replace(account.key, payer.key));
  await untilSeen(client, 'words ');
  client.close();
  await until('the upstream was hung up on', () => upstream.hangUps.length > before, 10_000);
  await until('nothing is in flight', () => naru.gateway.server.inFlight() === 0, 10_000);
  hold.open();
  // Its text is counted after the request has left the server.
  const { records } = await eventually('the response is charged', 20_000, async () => {
    const ledger = await ledgerOf(naru, payer);
    return ledger.debits.length === 1 ? ledger : null;
  });
  assert.equal(records[0]?.cancelled, true);
});
