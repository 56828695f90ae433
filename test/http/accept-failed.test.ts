/** A connection that the operating system cannot accept. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:net';
import { test } from 'node:test';
import { startTestGateway } from '../harness/gateway.ts';

test('a failed accept is logged, and the server continues', async (t) => {
  // libuv closes a connection for which there is no descriptor. Other errors, such as ENOBUFS, reach
  // the server as this event, and no test can make the operating system return them.
  const listening: Server[] = [];
  const add = (message: unknown): void => void listening.push((message as { server: Server }).server);
  subscribe('tracing:net.server.listen:asyncStart', add);
  t.after(() => unsubscribe('tracing:net.server.listen:asyncStart', add));
  const naru = await startTestGateway();
  t.after(() => naru.close());
  const server = listening.find((one) => {
    const address = one.address();
    return typeof address === 'object' && address?.port === naru.gateway.server.port;
  });
  assert.ok(server !== undefined, 'the server of the API is found');
  server.emit('error', new Error('accept ENOBUFS'));
  assert.deepEqual(
    naru.logged.filter(({ event }) => event === 'accept_failed').map(({ detail }) => detail),
    ['accept ENOBUFS'],
  );
  assert.equal((await naru.send('GET', '/models')).status, 200);
});
