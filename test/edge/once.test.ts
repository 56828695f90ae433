/**
 * What nginx does with a request whose server fails it: a POST that was sent is never sent again,
 * for it may be billed already.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { freePort } from '../harness/free-port.ts';
import { startTestGateway } from '../harness/gateway.ts';
import { assertError } from '../harness/response-rules.ts';
import { startNginx } from './nginx.ts';
import { through } from './requests.ts';

/** A server that reads a whole request and then fails it. */
async function failing(t: TestContext, fail: (socket: Socket) => void) {
  const seen: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('data', (bytes) => {
      seen.push(String(bytes));
      fail(socket);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return { port: (server.address() as AddressInfo).port, seen };
}

const failures: Readonly<Record<string, (socket: Socket) => void>> = {
  resets: (socket) => socket.resetAndDestroy(),
  closes: (socket) => socket.end(),
  'sends half a head and resets': (socket) =>
    socket.write('HTTP/1.1 200 OK\r\nx-a', () => socket.resetAndDestroy()),
};

for (const [what, fail] of Object.entries(failures)) {
  test(`a POST whose server ${what} is sent to no other server, and the client gets the JSON 500`, async (t) => {
    const servers = [await failing(t, fail), await failing(t, fail)];
    const nginx = await startNginx({ behind: servers.map(({ port }) => port), unlimited: true });
    t.after(() => nginx.stop());
    for (let request = 1; request <= 6; request += 1) {
      const response = await through(`${nginx.url}/chat/completions`, { method: 'POST', body: '{}' });
      assertError(response, 500, 'server');
      const sent = servers.flatMap(({ seen }) => seen).filter((text) => text.startsWith('POST '));
      assert.equal(sent.length, request);
    }
  });
}

test('a POST whose first server refuses connections is served by the other, every time', async (t) => {
  const naru = await startTestGateway({ config: { edge: { trusted_proxies: ['127.0.0.1'] } } });
  t.after(() => naru.close());
  const nginx = await startNginx({ behind: [await freePort(), naru.gateway.server.port], unlimited: true });
  t.after(() => nginx.stop());
  for (let count = 0; count < 20; count += 1)
    assertError(
      await through(`${nginx.url}/chat/completions`, { method: 'POST', key: 'malformed', body: '{}' }),
      401,
      'invalid_api_key',
    );
});
