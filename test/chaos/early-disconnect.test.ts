import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { until } from '../harness/until.ts';
import { startBehindCutter } from './gateway-behind-cutter.ts';

test('a client that disconnects while the database is away does not stay in flight', async (t) => {
  const { naru, cutter } = await startBehindCutter(t);
  // Memory knows no such key, so the database is asked.
  const key = `sk-naru-v1-${'a'.repeat(64)}`;
  const body = JSON.stringify({ model: 'test/echo', messages: [] });
  const head = `POST /api/v1/chat/completions HTTP/1.1\r\nhost: naru\r\nauthorization: Bearer ${key}\r\n`;
  const request = `${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  cutter.down();
  for (let n = 0; n < 20; n += 1) {
    const socket = connect(naru.gateway.server.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(request);
    socket.destroy();
  }
  await until('none is in flight', () => naru.gateway.server.inFlight() === 0, 3_000);
  cutter.up();
  await until('the database is back', async () => (await naru.send('GET', '/readyz')).status === 200);
  assert.equal(naru.gateway.server.inFlight(), 0);
  assert.deepEqual((await naru.operator.verifyLedger()).differences, []);
});
