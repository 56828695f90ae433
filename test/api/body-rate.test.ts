/** How fast the bodies of one client are read: excess bytes of a client delay no other. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { RawClient } from '../harness/raw-client.ts';
import { until } from '../harness/until.ts';
import { reply, startUpstream, type Upstream } from '../harness/upstream.ts';

const mb = 1_000_000;
let upstream: Upstream;
let naru: TestGateway;
let account: TestAccount;

before(async () => {
  upstream = await startUpstream();
  upstream.respond(() => reply.chat('나루'));
  naru = await startTestGateway({
    models: [{ id: 'test/echo', upstreams: [upstream.url], model: { context_length: 100_000_000 } }],
    config: {
      edge: { rate_limit: 'builtin' },
      limits: {
        body_bytes: 2 * mb,
        body_bytes_per_second: mb,
        requests_per_second: 1_000,
        burst: 1_000,
      },
    },
  });
  account = await naru.account({ credit: '1000000000000' });
});
after(async () => {
  // That a client left is noticed at the next turn of its body.
  await until('the end of every request', () => (naru?.gateway.server.inFlight() ?? 0) === 0);
  await naru?.close();
  await upstream?.close();
});

/** Sends a request with a text of so many bytes. */
async function send(from: string, bytes: number, key = account.key): Promise<RawClient> {
  const body = JSON.stringify({
    model: 'test/echo',
    messages: [{ role: 'user', content: 'x'.repeat(bytes) }],
  });
  const head = [
    'POST /api/v1/chat/completions HTTP/1.1',
    'host: x',
    `authorization: Bearer ${key}`,
    `content-length: ${body.length}`,
  ];
  const client = await RawClient.open(naru.gateway.server.port, from);
  client.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  return client;
}

test('a client that sends bodies too fast gets a 429 with Retry-After, while its short requests and other clients succeed', async () => {
  const large = await Promise.all(Array.from({ length: 20 }, () => send('127.0.0.3', 1.9 * mb)));
  const refused = await Promise.any(
    large.map(async (client) => {
      const response = await client.response();
      if (response?.status !== 429) throw new Error(`${response?.status}`);
      return response;
    }),
  );
  assert.match(refused.body, /rate_limit_exceeded/);
  assert.ok(Number(refused.all('retry-after')[0]) >= 5, String(refused.all('retry-after')));
  const other = await naru.account({ credit: '1000000000000' });
  const responded = [
    await send('127.0.0.3', 10),
    await send('127.0.0.4', 10, other.key),
    await send('127.0.0.4', 1.9 * mb, other.key),
  ];
  for (const client of responded) assert.equal((await client.response())?.status, 200);
  for (const client of [...large, ...responded]) client.close();
  await naru.settled();
  const records = await naru.database.query('SELECT 1 FROM generation WHERE status = 429 AND cost = 0');
  assert.ok(records.length > 0, 'a refusal is on record at zero cost');
});

test('a body that is rejected unread is drained no faster than an accepted one', async () => {
  const first = await send('127.0.0.5', 1.9 * mb, 'sk-naru-unknown');
  assert.equal((await first.response())?.status, 401);
  const many = await Promise.all(
    Array.from({ length: 20 }, () => send('127.0.0.5', 1.9 * mb, 'sk-naru-unknown')),
  );
  for (const client of many) assert.equal((await client.response())?.status, 401);
  // The rest of most of these bodies is not read: their connections are closed.
  await Promise.any(many.map((client) => client.closed()));
  for (const client of [first, ...many]) client.close();
});
