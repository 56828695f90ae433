/** Requests that arrive together: how many begin in one turn, and what becomes of those that wait. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { Exchange } from '../../src/http/exchange.ts';
import { OpenExchanges } from '../../src/http/open-exchanges.ts';
import { systemClock } from '../../src/time/clock.ts';
import { startTestGateway } from '../harness/gateway.ts';
import { startHttpServer } from '../harness/http-server.ts';
import { RawClient } from '../harness/raw-client.ts';
import { until } from '../harness/until.ts';
import { startUpstream } from '../harness/upstream.ts';

const count = 200;
const maxInTurn = 16;
const request = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}';

async function open(t: TestContext, port: number): Promise<RawClient> {
  const client = await RawClient.open(port);
  t.after(() => client.close());
  return client;
}

test('of many requests that arrive together, a turn begins a few, and all are in flight', async (t) => {
  const begunInTurn: number[] = [];
  let inFlight = 0;
  let isNewTurn = true;
  const served = await startHttpServer(t, {
    respond: async () => {
      if (isNewTurn) {
        isNewTurn = false;
        begunInTurn.push(0);
        // After all that begin together; for the first, after the read that contains all.
        process.nextTick(() => {
          isNewTurn = true;
          inFlight = Math.max(inFlight, served.inFlight());
        });
      }
      begunInTurn.push((begunInTurn.pop() ?? 0) + 1);
      await new Promise(setImmediate);
      return { body: {} };
    },
  });
  const client = await open(t, served.port);
  client.write(request.repeat(count));
  for (let n = 0; n < count; n += 1) assert.equal((await client.response())?.status, 200);
  assert.equal(inFlight, count);
  assert.ok(Math.max(...begunInTurn) <= maxInTurn, String(begunInTurn));
  assert.equal(served.inFlight(), 0);
});

test('requests without a body begin at once, and are answered although their client ends its side', async (t) => {
  const served = await startHttpServer(t);
  const socket = connect({ port: served.port, host: '127.0.0.1', allowHalfOpen: true });
  socket.end('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(count));
  let text = '';
  for await (const part of socket) text += part;
  assert.equal(text.split('HTTP/1.1 200 OK').length - 1, count);
});

test('a server that stops waits for requests that have arrived and not begun', async () => {
  const exchanges = new OpenExchanges(systemClock);
  let responded = 0;
  for (let n = 0; n < count; n += 1)
    exchanges.enter(() => {
      const exchange = { place: null, isLeaving: false } as Exchange;
      exchanges.add(exchange);
      responded += 1;
      exchanges.delete(exchange);
    });
  assert.ok(responded < count, 'some have not begun');
  await exchanges.drain(0, new Promise(() => {}));
  assert.equal(responded, count);
});

test('a request whose connection ends while it waits for its turn is not sent to a provider', async (t) => {
  const upstream = await startUpstream();
  const naru = await startTestGateway({ models: [{ id: 'test/echo', upstreams: [upstream.url] }] });
  t.after(async () => {
    await naru.close();
    await upstream.close();
  });
  const { key } = await naru.account();
  const body = JSON.stringify({ model: 'test/echo', messages: [{ role: 'user', content: 'hi' }] });
  const call = [
    'POST /api/v1/chat/completions HTTP/1.1',
    'host: x',
    `authorization: Bearer ${key}`,
    `content-length: ${body.length}`,
    '',
    body,
  ].join('\r\n');
  const client = await open(t, naru.gateway.server.port);
  // What follows them in the same packet is no HTTP, and ends the connection.
  client.write(`${call.repeat(count)}\x00\x01 no HTTP\r\n\r\n`);
  assert.equal((await client.response())?.status, 400);
  const logged = (): number => naru.logged.filter(({ event }) => event === 'request').length;
  await until('each has its line in the log', () => logged() === count);
  assert.equal(naru.gateway.server.inFlight(), 0);
  assert.equal(upstream.requests.length, 0);
});
