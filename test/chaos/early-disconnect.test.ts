import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { until } from '../harness/until.ts';
import { startBehindCutter } from './gateway-behind-cutter.ts';

test('a client that disconnects during its authentication query does not stay in flight', async (t) => {
  const { naru, cutter } = await startBehindCutter(t);
  const { key } = await naru.account();
  cutter.down();
  await until('memory is stale', async () => (await naru.send('GET', '/readyz')).status === 503, 4_000);
  const socket = connect(naru.gateway.server.port, '127.0.0.1');
  await once(socket, 'connect');
  cutter.hole();
  const body = JSON.stringify({ model: 'test/echo', messages: [] });
  const head = `POST /api/v1/chat/completions HTTP/1.1\r\nhost: naru\r\nauthorization: Bearer ${key}\r\n`;
  socket.write(`${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  await until('it is in flight', () => naru.gateway.server.inFlight() === 1, 2_000);
  socket.destroy();
  cutter.up();
  await until('it is not any more', () => naru.gateway.server.inFlight() === 0, 3_000);
  assert.deepEqual((await naru.operator.verifyLedger()).differences, []);
});
