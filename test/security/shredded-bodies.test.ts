/** Bodies in pieces of one byte: what they cost is bounded by their bytes, not by their pieces. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Reply } from '../../src/wire/reply.ts';
import { startHttpServer } from '../harness/http-server.ts';
import { RawClient } from '../harness/raw-client.ts';

const head = 'POST /read HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n';

async function open(t: TestContext): Promise<RawClient> {
  const { port } = await startHttpServer(t, {
    respond: async (exchange): Promise<Reply> => {
      if (exchange.path === '/unread') return { body: {} };
      return { body: { bytes: (await exchange.body(26_214_400)).length } };
    },
    maxBodyBytes: 26_214_400,
  });
  const client = await RawClient.open(port);
  t.after(() => client.close());
  return client;
}

/** `count` chunks of `bytes` letters each. */
function chunks(count: number, bytes = 1): string {
  return `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`.repeat(count);
}

test('a body in too many small chunks is rejected before its end, and its connection is closed', async (t) => {
  const client = await open(t);
  client.write(`${head}${chunks(3_000)}`);
  const response = await client.response();
  assert.equal(response?.status, 400);
  assert.match(response.body, /too many small chunks.*invalid_request/);
  client.write(chunks(10_000));
  await client.closed();
});

test('a body that is rejected unread is not read on in small chunks either', async (t) => {
  const client = await open(t);
  client.write(`${head.replace('/read', '/unread')}1\r\nx\r\n`);
  assert.equal((await client.response())?.status, 200);
  client.write(chunks(10_000));
  await client.closed();
});

test('small chunks within the limit are accepted, and so are many larger ones on the same connection', async (t) => {
  const client = await open(t);
  for (const [count, bytes] of [
    [1, 1],
    [2_000, 1],
    [40_000, 80],
    [1, 1],
  ] as const) {
    client.write(`${head}${chunks(count, bytes)}0\r\n\r\n`);
    const response = await client.response();
    assert.deepEqual(JSON.parse(response?.body ?? ''), { bytes: count * bytes });
  }
});
