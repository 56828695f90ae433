/**
 * The memory of all requests together: what does not fit gets a 503, and the others continue
 * (docs/decisions/memory-budget.md).
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { RawClient } from '../harness/raw-client.ts';
import { assertError } from '../harness/response-rules.ts';
import { until } from '../harness/until.ts';
import { gate, reply, startUpstream, type Upstream } from '../harness/upstream.ts';

const mb = 1_000_000;
let upstream: Upstream;
let naru: TestGateway;
let account: TestAccount;

before(async () => {
  upstream = await startUpstream();
  naru = await startTestGateway({
    models: [{ id: 'test/echo', upstreams: [upstream.url], model: { context_length: 100_000_000 } }],
    config: {
      edge: { rate_limit: 'builtin' },
      limits: {
        memory_bytes: 40 * mb,
        body_bytes: 5 * mb,
        client_memory_percent: 100,
        connections_per_client: 100,
        requests_per_second: 1_000,
        burst: 1_000,
      },
    },
  });
  account = await naru.account({ credit: '1000000000000' });
});
after(async () => {
  await naru?.close();
  await upstream?.close();
});

function bodyOf(bytes: number): object {
  return { model: 'test/echo', messages: [{ role: 'user', content: 'x'.repeat(bytes) }] };
}

// security:13
test('bodies that do not fit into the memory budget get a 503 and Retry-After, small ones do not, and all memory is returned', async () => {
  const barrier = gate();
  upstream.respond(() => reply.chat('나루').pauseAt(0, barrier));
  const large = Array.from({ length: 10 }, () =>
    naru.send('POST', '/chat/completions', { key: account.key, body: bodyOf(4 * mb) }),
  );
  const refused = await Promise.race(large);
  assertError(refused, 503, 'model_loading');
  assert.match(refused.text, /overloaded/);
  assert.equal(refused.headers.get('retry-after'), String(refused.json.error.metadata.retry_after_sec));
  assert.ok((await naru.metric('naru_held_bytes')) <= 40 * mb);
  const small = naru.send('POST', '/chat/completions', { key: account.key, body: bodyOf(10) });
  barrier.open();
  assert.equal((await small).status, 200);
  const statuses = (await Promise.all(large)).map(({ status }) => status);
  assert.deepEqual([...new Set(statuses)].sort(), [200, 503]);
  assert.ok(statuses.filter((status) => status === 200).length >= 2, statuses.join());
  await until('the release of the memory', async () => (await naru.metric('naru_held_bytes')) === 0);
  assert.equal(
    await naru.metric('naru_shed_requests_total'),
    statuses.filter((status) => status === 503).length,
  );
});

test('a rejection for lack of memory is recorded at zero cost', async () => {
  await naru.settled();
  const records = await naru.database.query<{ status: number; cost: bigint }>(
    'SELECT status, cost FROM generation WHERE status = 503',
  );
  assert.ok(records.length > 0);
  assert.ok(records.every(({ cost }) => cost === 0n));
});

// security:13
test('a client above its maximum of connections gets an error, and gets new connections when it closes some', async () => {
  const port = naru.gateway.server.port;
  const clients = await Promise.all(Array.from({ length: 100 }, () => RawClient.open(port, '127.0.0.3')));
  const head = 'GET /api/v1/models HTTP/1.1\r\nhost: x\r\n\r\n';
  for (const client of clients) {
    client.write(head);
    assert.ok((await client.response()) !== null);
  }
  const more = await RawClient.open(port, '127.0.0.3');
  const refused = await more.response();
  assert.equal(refused?.status, 429);
  assert.match(refused?.body ?? '', /rate_limit_exceeded/);
  assert.deepEqual(refused?.all('retry-after'), ['1']);
  await more.closed();
  const other = await RawClient.open(port, '127.0.0.2');
  other.write(head);
  assert.equal((await other.response())?.status, 200);
  other.close();
  for (const client of clients) client.close();
  await until('a connection that is accepted again', async () => {
    const again = await RawClient.open(port, '127.0.0.3');
    again.write(head);
    const response = await again.response();
    again.close();
    return response?.status === 200;
  });
});

test('the bodies of one key are limited together; those of other keys are not', async (t) => {
  const shared = await startTestGateway({
    models: [{ id: 'test/echo', upstreams: [upstream.url], model: { context_length: 100_000_000 } }],
    config: {
      edge: { rate_limit: 'builtin' },
      // One client may use 22 MB.
      limits: {
        ...{ memory_bytes: 200 * mb, client_memory_percent: 11, body_bytes: 5 * mb },
        connections_per_client: 100,
      },
    },
  });
  t.after(() => shared.close());
  upstream.respond(() => reply.chat('나루'));
  const own = await shared.account({ credit: '1000000000000' });
  const keys = await Promise.all(Array.from({ length: 6 }, async () => (await own.another({})).key));
  const text = JSON.stringify(bodyOf(4 * mb));
  /** Sends six bodies of 4 MB but for their ends; returns what ends them and reads the responses. */
  const sendAll = async (of: readonly string[]) => {
    const clients = await Promise.all(of.map(() => RawClient.open(shared.gateway.server.port)));
    for (const [n, client] of clients.entries())
      client.write(
        `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${of[n]}\r\ncontent-length: ${text.length}\r\n\r\n${text.slice(0, -1)}`,
      );
    const responses = clients.map((client) => client.response());
    return {
      first: () => Promise.race(responses),
      async end() {
        for (const client of clients) client.write(text.slice(-1));
        const all = await Promise.all(responses);
        for (const client of clients) client.close();
        await until('the release', async () => (await shared.metric('naru_held_bytes')) === 0);
        return all.map((response) => response?.status);
      },
    };
  };
  const many = await sendAll(keys);
  await until('all are read', async () => (await shared.metric('naru_held_bytes')) > 23 * mb);
  assert.deepEqual(new Set(await many.end()), new Set([200]));
  const one = await sendAll(keys.map(() => own.key));
  assert.equal((await one.first())?.status, 503);
  assert.ok((await one.end()).includes(200));
});
