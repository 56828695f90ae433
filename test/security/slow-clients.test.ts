/**
 * Clients that send or read nothing, a byte at a time, or all at once: each costs at most its own
 * connection, and not forever.
 */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { Exchange } from '../../src/http/exchange.ts';
import type { ConnectionTimeouts, Served } from '../../src/http/serve.ts';
import type { Reply } from '../../src/wire/reply.ts';
import { startHttpServer } from '../harness/http-server.ts';
import { RawClient, rawly } from '../harness/raw-client.ts';
import { scaledLimit } from '../harness/time-limit.ts';

const hasty: ConnectionTimeouts = { headersMs: 300, requestMs: 900, idleMs: 400, checkEveryMs: 50 };
const large = Buffer.alloc(64 * 1024 * 1024, 'x');

async function open(
  t: TestContext,
  cancellation: ConnectionTimeouts = hasty,
  clientStallMs = 500,
): Promise<Served> {
  const respond = async (exchange: Exchange): Promise<Reply> => {
    if (exchange.path === '/large') return { body: large, contentType: 'text/plain' };
    if (exchange.method === 'POST') return { body: { bytes: (await exchange.body(1_000_000)).length } };
    return { body: { path: exchange.path } };
  };
  return startHttpServer(t, { respond, clientStallMs }, cancellation);
}

/**
 * Milliseconds until the server closes a connection on which `bytes` were sent, and one more byte
 * of `drip` every 20 ms.
 */
async function closedAfter(
  port: number,
  bytes: string,
  drip = '',
): Promise<{ readonly ms: number; readonly output: string }> {
  const beganMs = performance.now();
  const client = await RawClient.open(port);
  client.write(bytes);
  let at = 0;
  const timer = setInterval(() => {
    if (at < drip.length) client.write(drip[at] ?? '');
    at += 1;
  }, 20);
  const limit = setTimeout(() => client.close(), 20_000);
  const received = await client.some();
  await client.closed();
  clearInterval(timer);
  clearTimeout(limit);
  client.close();
  return { ms: performance.now() - beganMs, output: received };
}

// security:3
test('a head without an end, and one that arrives a byte at a time, close their connection', async (t) => {
  const { port } = await open(t);
  for (const drip of ['', `x-a: ${'b'.repeat(2_000)}`]) {
    const { ms, output } = await closedAfter(port, 'GET / HTTP/1.1\r\nhost: x\r\n', drip);
    assert.ok(ms > 200 && ms < 15_000, `${ms} ms`);
    assert.match(output, /^HTTP\/1\.1 400 [\s\S]*did not arrive in time[\s\S]*invalid_request/);
  }
});

// security:3
test('a body that arrives a byte at a time closes its connection', async (t) => {
  const { port } = await open(t);
  const head = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n';
  const { ms } = await closedAfter(port, head, 'x'.repeat(5_000));
  assert.ok(ms > 600 && ms < 15_000, `${ms} ms`);
});

// security:3
test('an idle connection is closed', async (t) => {
  const { port } = await open(t);
  const { ms, output: received } = await closedAfter(port, 'GET /once HTTP/1.1\r\nhost: x\r\n\r\n');
  assert.ok(ms > 300 && ms < 15_000, `${ms} ms`);
  assert.match(received, /^HTTP\/1\.1 200/);
});

// security:3
test('a client that does not read a JSON response is disconnected, and a slow reader gets it', async (t) => {
  // The slow reader shares the process with the server: on a busy machine both are paused for longer.
  const stallMs = scaledLimit(500);
  const { port } = await open(t, hasty, stallMs);
  const stuck = connect({ port, host: '127.0.0.1' });
  stuck.pause();
  stuck.write('GET /large HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  stuck.on('error', () => {});
  const slow = connect({ port, host: '127.0.0.1' });
  slow.write('GET /large HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  assert.ok((await slowly(slow)) > large.length);
  const beganMs = performance.now();
  // What the kernel buffered is still read; then the end arrives.
  let bytes = 0;
  stuck.on('data', (piece) => {
    bytes += piece.length;
  });
  await new Promise((resolve) => setTimeout(resolve, 3 * stallMs));
  stuck.resume();
  await new Promise((resolve) => stuck.on('close', resolve));
  assert.ok(bytes < large.length, `${bytes} bytes of ${large.length}`);
  assert.ok(performance.now() - beganMs < scaledLimit(15_000));
});

/** Reads a piece, pauses, reads the next: bytes until the end. */
async function slowly(socket: Socket): Promise<number> {
  let bytes = 0;
  let sinceRest = 0;
  for await (const piece of socket) {
    bytes += piece.length;
    sinceRest += piece.length;
    if (sinceRest < 8 * 1024 * 1024) continue;
    sinceRest = 0;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return bytes;
}

// security:5
test('a thousand requests sent at once on one connection get their responses in order', async (t) => {
  const { port } = await open(t);
  const request = Array.from({ length: 1_000 }, (_, n) => `/n${n}`);
  const responses = await rawly(
    port,
    request.map((path) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`).join(''),
    request.length,
  );
  assert.deepEqual(
    responses.map(({ body }) => JSON.parse(body).path),
    request,
  );
});

// security:5
test('too many or too large headers are rejected in our error shape, and no credential is lost among many', async (t) => {
  const { port } = await open(t);
  const many = Array.from({ length: 2_000 }, (_, n) => `x-${n}: ${'1'.repeat(20)}\r\n`).join('');
  for (const head of [`x: ${'y'.repeat(65_600)}\r\n`, many.repeat(2).slice(0, 80_000)]) {
    const [response] = await rawly(port, `GET / HTTP/1.1\r\nhost: x\r\n${head}\r\n`);
    assert.equal(response?.status, 400);
    assert.match(response?.body ?? '', /larger than 65536 bytes.*invalid_request/);
  }
  const [response] = await rawly(port, `GET /many HTTP/1.1\r\n${many}host: x\r\nconnection: close\r\n\r\n`);
  assert.equal(response?.status, 200, 'a Host behind two thousand others is still seen');
});

// security:3
test('a hundred clients that never finish do not block other clients', async (t) => {
  const { port } = await open(t, { ...hasty, headersMs: 5_000, requestMs: 10_000 });
  const stuck = await Promise.all(Array.from({ length: 100 }, () => RawClient.open(port)));
  for (const client of stuck) client.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{');
  const [response] = await rawly(port, 'GET /mine HTTP/1.1\r\nhost: x\r\n\r\n');
  assert.equal(response?.status, 200);
  for (const client of stuck) client.close();
});

// security:3
test('a client that never ends a body that is too large gets its error at once, and is disconnected later', async (t) => {
  const { port } = await open(t, { ...hasty, headersMs: 20_000, requestMs: 20_000 });
  const client = await RawClient.open(port);
  client.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2000000\r\n\r\nabc');
  assert.equal((await client.response())?.status, 413);
  const beganMs = performance.now();
  await client.closed();
  assert.ok(performance.now() - beganMs < scaledLimit(10_000));
});

// security:5
test('a compressed body costs no more than its limit, however large it would become', async (t) => {
  const { startTestGateway } = await import('../harness/gateway.ts');
  const { gzipSync } = await import('node:zlib');
  const naru = await startTestGateway({});
  t.after(() => naru.close());
  const { key } = await naru.account();
  const bomb = gzipSync(Buffer.from(`{"model":"${'a'.repeat(200_000_000)}"}`));
  const response = await naru.send('POST', '/chat/completions', {
    key,
    body: bomb,
    headers: { 'content-encoding': 'gzip' },
  });
  assert.equal(response.status, 413);
});
