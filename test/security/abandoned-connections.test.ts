/**
 * What a connection leaves behind when its client disconnects, falls silent or sends garbage in the
 * middle of a request.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { Exchange } from '../../src/http/exchange.ts';
import type { Served } from '../../src/http/serve.ts';
import type { Reply, StreamReply } from '../../src/wire/reply.ts';
import { startHttpServer } from '../harness/http-server.ts';
import { RawClient } from '../harness/raw-client.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { until } from '../harness/until.ts';

const stallMs = 500;
const large = Buffer.alloc(32 * 1024 * 1024, 'x');
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`;

/** Waits until its client is gone. */
function gone({ signal }: Exchange): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  if (signal.aborted) reject(signal.reason);
  signal.addEventListener('abort', () => reject(signal.reason));
  return promise;
}

/** A stream of one word, and then nothing until its client disconnects. */
function wordThenNothing(exchange: Exchange): StreamReply {
  return {
    headers: {},
    stream: async (sink) => {
      await sink.write('word');
      await gone(exchange).catch(() => {});
    },
  };
}

async function response(exchange: Exchange): Promise<Reply> {
  switch (exchange.path) {
    case '/body':
      return { body: { bytes: (await exchange.body(1_000_000)).length } };
    case '/large':
      return { body: large, contentType: 'text/plain' };
    case '/later':
      await new Promise((resolve) => setTimeout(resolve, 100));
      return { body: {} };
    case '/stream':
      return wordThenNothing(exchange);
    default:
      return gone(exchange);
  }
}

async function open(
  t: TestContext,
  reply: (exchange: Exchange) => Promise<Reply> = response,
  idleWhileStoppingMs = 0,
  headersMs = 300,
): Promise<Served> {
  return startHttpServer(
    t,
    { respond: reply, clientStallMs: stallMs, idleWhileStoppingMs },
    { headersMs, requestMs: Math.max(900, headersMs), idleMs: 60_000, checkEveryMs: 50 },
  );
}

/** A client that continues after the server's end, and reads on request. */
async function stubborn(t: TestContext, { port }: Served): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {});
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

function noneInFlight(served: Served): Promise<number> {
  return until('nothing is in flight', () => served.inFlight() === 0, 10_000);
}

// security:12
test('every request on a connection is cancelled when its client disconnects', async (t) => {
  const served = await open(t);
  const client = await RawClient.open(served.port);
  client.write(get('/wait') + get('/wait') + get('/stream'));
  await until('all three are in flight', () => served.inFlight() === 3, 10_000);
  client.close();
  await noneInFlight(served);
});

// security:12
test('a client that keeps sending after a timeout error is disconnected', async (t) => {
  const served = await open(t);
  const client = await stubborn(t, served);
  client.write('POST /body HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n');
  const dripping = setInterval(() => client.write('x'), 20);
  t.after(() => clearInterval(dripping));
  const [received] = await once(client, 'data');
  assert.match(String(received), /^HTTP\/1\.1 400 /);
  await noneInFlight(served);
  await until('the connection is closed', () => client.closed, 10_000);
});

// security:12
test('garbage after a request gets no response in the middle of a response', async (t) => {
  const served = await open(t);
  const client = await stubborn(t, served);
  let output = '';
  client.on('data', (piece) => {
    output += String(piece);
  });
  client.write(get('/stream'));
  await until('the stream has begun', () => output.includes('word'), 10_000);
  client.write('\0\0 nonsense\r\n\r\n');
  await noneInFlight(served);
  await until('the connection has ended', () => client.readableEnded || client.closed, 10_000);
  assert.doesNotMatch(output, /HTTP\/1\.1 400/);
});

// security:12
test('a request followed by garbage is cancelled once the garbage got its error', async (t) => {
  const served = await open(t);
  const client = await stubborn(t, served);
  client.write(`${get('/wait')}\0\0 nonsense\r\n\r\n`);
  const [message] = await once(client, 'data');
  assert.match(String(message), /^HTTP\/1\.1 400 /);
  await noneInFlight(served);
});

// security:12
test('a client that reads nothing of a pipelined response is disconnected', async (t) => {
  const served = await open(t);
  const client = await stubborn(t, served);
  client.pause();
  client.write(get('/later') + get('/large'));
  await until('both are in flight', () => served.inFlight() === 2, 10_000);
  await noneInFlight(served);
});

// security:12
test('a client that does not read the end of a stream is disconnected', async (t) => {
  // More than the kernel buffers, and less than the limit of a stream: how much that is shows when
  // it waits.
  let maxPieces = Number.POSITIVE_INFINITY;
  const served = await open(t, async (exchange) => ({
    headers: {},
    stream: async (sink) => {
      const piece = 'x'.repeat(4_096);
      for (let pieces = 0; pieces < maxPieces && !exchange.signal.aborted; pieces += 1) {
        const full = sink.write(piece);
        if (full === undefined) await new Promise(setImmediate);
        else {
          maxPieces = pieces - 1;
          await full;
        }
      }
    },
  }));
  for (const _ of ['measured', 'short of it', 'again']) {
    const client = await stubborn(t, served);
    client.pause();
    client.write(get('/'));
    await until('it is in flight', () => served.inFlight() === 1, 10_000);
    await noneInFlight(served);
  }
  await new Promise((resolve) => setTimeout(resolve, 3 * stallMs));
  assert.equal(await connectionsOf(served), 0);
});

async function connectionsOf(served: Served): Promise<number> {
  // A stopping server waits for every connected client.
  const isDrained = await Promise.race([
    served.drain().then(() => true),
    new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 5_000).unref()),
  ]);
  return isDrained ? 0 : 1;
}

// security:12
test('a stopping server waits until its clients have read their responses', async (t) => {
  const served = await open(t);
  const client = await stubborn(t, served);
  client.pause();
  client.write('GET /large HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  await until('the response waits for its client', () => client.bytesWritten > 0, 10_000);
  await new Promise((resolve) => setTimeout(resolve, 100));
  const stopped = served.drain().then(() => served.close());
  let bytes = 0;
  client.on('data', (piece) => {
    bytes += piece.length;
  });
  await new Promise((resolve) => setTimeout(resolve, 100));
  client.resume();
  await until('the response has ended', () => client.readableEnded || client.closed, 10_000);
  client.destroy();
  assert.ok(bytes > large.length, `${bytes} of ${large.length} bytes`);
  await stopped;
});

// security:12
test('a stopping server with a shortened drain does not wait for slow readers', async (t) => {
  const served = await open(t);
  const client = await stubborn(t, served);
  client.pause();
  client.write(get('/large'));
  await new Promise((resolve) => setTimeout(resolve, 100));
  const beganMs = performance.now();
  const drained = served.drain();
  served.abort(new Error('the server is stopping'));
  await drained;
  assert.ok(performance.now() - beganMs < scaledLimit(stallMs));
});

// security:12
test('a stopping server with a shortened drain also cancels requests that arrive at that moment', async (t) => {
  const ending = Promise.withResolvers<Reply>();
  const served = await open(
    t,
    (exchange) => (exchange.path === '/ending' ? ending.promise : response(exchange)),
    60_000,
    60_000,
  );
  const [first, kept] = [await RawClient.open(served.port), await RawClient.open(served.port)];
  t.after(() => {
    first.close();
    kept.close();
  });
  first.write(get('/ending'));
  await until('it is in flight', () => served.inFlight() === 1, 10_000);
  let isDrained = false;
  void served.drain().then(() => {
    isDrained = true;
  });
  served.abort(new Error('the server is stopping'));
  kept.write(get('/wait'));
  assert.equal((await kept.response())?.status, 500);
  ending.resolve({ body: {} });
  await until('the server waits for no client', () => isDrained, 10_000);
});
