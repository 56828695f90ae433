/** Bodies in pieces of one byte: what they cost is bounded by their bytes, not by their pieces. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { RateGate } from '../../src/http/rate-limit.ts';
import type { Served } from '../../src/http/serve.ts';
import type { Reply } from '../../src/wire/reply.ts';
import { startHttpServer } from '../harness/http-server.ts';
import { RawClient } from '../harness/raw-client.ts';

const head = 'POST /read HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n';

interface Opening {
  readonly beforeReading?: Promise<void>;
  readonly rateLimit?: RateGate | null;
  readonly onSocket?: (socket: Socket) => void;
  readonly onShredded?: () => void;
}

async function open(
  t: TestContext,
  { beforeReading = Promise.resolve(), rateLimit = null, onSocket, onShredded }: Opening = {},
): Promise<Served> {
  return startHttpServer(t, {
    respond: async (exchange): Promise<Reply> => {
      if (exchange.path === '/unread') return { body: {} };
      onSocket?.(exchange.socket);
      await beforeReading;
      return { body: { bytes: (await exchange.body(26_214_400)).length } };
    },
    rateLimit,
    maxBodyBytes: 26_214_400,
    clientStallMs: 20_000,
    ...(onShredded === undefined ? {} : { onShredded }),
  });
}

/** `count` chunks of `bytes` letters each. */
function chunks(count: number, bytes = 1): string {
  return `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`.repeat(count);
}

test('a body in too many small chunks is rejected before its end, and the rest is read only briefly', async (t) => {
  const { port } = await open(t);
  const client = await RawClient.open(port);
  client.write(`${head}${chunks(30_000)}`);
  const response = await client.response();
  assert.equal(response?.status, 400);
  assert.match(response.body, /too many small chunks.*invalid_request/);
  client.write(chunks(100_000));
  await client.closed();
});

test('such a body is detected before its reader begins, and nothing is read of it afterwards', async (t) => {
  const gate = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<Socket>();
  let isShown = false;
  const { port } = await open(t, {
    beforeReading: gate.promise,
    onSocket: opened.resolve,
    onShredded: () => {
      isShown = true;
    },
  });
  const client = await RawClient.open(port);
  client.write(`${head}${chunks(200_000)}`);
  const socket = await opened.promise;
  // The connection would be read in each of these turns.
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
  assertTwoPackets(socket);
  assert.ok(isShown);
  gate.resolve();
  assert.equal((await client.response())?.status, 400);
  await client.closed();
  assertTwoPackets(socket);
});

/** Asserts that at most two packets were read: Node reads at most 64 KiB at once. */
function assertTwoPackets({ bytesRead }: Socket): void {
  assert.ok(bytesRead > 0 && bytesRead <= 2 * 65_536, `${bytesRead} bytes were read`);
}

test('a body that is rejected unread is not read on in small chunks either', async (t) => {
  const { port } = await open(t);
  const client = await RawClient.open(port);
  client.write(`${head.replace('/read', '/unread')}1\r\nx\r\n`);
  assert.equal((await client.response())?.status, 200);
  client.write(chunks(100_000));
  await client.closed();
});

test('small chunks within the limit are accepted, and so are many larger ones on the same connection', async (t) => {
  const { port } = await open(t);
  const client = await RawClient.open(port);
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
  client.close();
});

test('a body of small chunks that waits for its reader uses little memory', async (t) => {
  const gate = Promise.withResolvers<void>();
  const { port, inFlight } = await open(t, { beforeReading: gate.promise });
  const before = process.memoryUsage();
  const clients = await Promise.all(Array.from({ length: 20 }, () => RawClient.open(port)));
  for (const client of clients) client.write(`${head}${chunks(60_000)}`);
  while (inFlight() < clients.length) await new Promise(setImmediate);
  // The last of them has been read from for as long as it will be when another client has had two
  // turns.
  for (let turn = 0; turn < 2; turn += 1) {
    const other = await RawClient.open(port);
    other.write('POST /unread HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n');
    assert.equal((await other.response())?.status, 200);
    other.close();
  }
  const { heapUsed, external } = process.memoryUsage();
  const perClient = (heapUsed + external - before.heapUsed - before.external) / clients.length;
  gate.resolve();
  for (const client of clients) client.close();

  assert.ok(perClient < 6_000_000, `${Math.round(perClient)} bytes for each client`);
});

test("after such a body its client's connections are read one after another, and those beyond a few seconds are rejected", async (t) => {
  const { port } = await open(t, { rateLimit: { take: () => null } });
  const first = await RawClient.open(port, '127.0.0.2');
  first.write(`${head}${chunks(30_000)}`);
  assert.equal((await first.response())?.status, 400);
  const many = await Promise.all(Array.from({ length: 30 }, () => RawClient.open(port, '127.0.0.2')));
  const [delayed, ...more] = many;
  const refused = await Promise.any(more.map((client) => client.response()));
  assert.equal(refused?.status, 429);
  const request = 'POST /unread HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n';
  const other = await RawClient.open(port, '127.0.0.3');
  assert.equal((await other.write(request).response())?.status, 200);
  assert.equal((await delayed?.write(request).response())?.status, 200);
  for (const client of [first, other, ...many]) client.close();
});
