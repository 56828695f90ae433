/** The `Host` that Naru receives through nginx: the pages compare it with the origin of the browser. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { RawClient } from '../harness/raw-client.ts';
import { startNginx } from './nginx.ts';

const cases = {
  'GET / HTTP/1.1\r\nhost: naru.example': 'naru.example',
  'GET / HTTP/1.1\r\nhost: naru.example:8080': 'naru.example:8080',
  'GET / HTTP/1.1\r\nhost: Naru.Example:8080': 'naru.example:8080',
  'GET / HTTP/1.1\r\nhost: 192.0.2.7:8080': '192.0.2.7:8080',
  'GET / HTTP/1.1\r\nhost: [2001:db8::7]': '[2001:db8::7]',
  'GET / HTTP/1.1\r\nhost: [2001:db8::7]:8080': '[2001:db8::7]:8080',
  // A target with a host counts, and not the header.
  'GET http://naru.example/ HTTP/1.1\r\nhost: other.example:8080': 'naru.example',
  // Without the header: the name of the server in nginx.conf.
  'GET / HTTP/1.0': '_',
} as const;

test('Naru receives the host of the request with its port', async (t) => {
  const server = createServer((request, response) => response.end(request.headers.host));
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const nginx = await startNginx({ behind: [(server.address() as AddressInfo).port], unlimited: true });
  t.after(() => nginx.stop());
  for (const [head, host] of Object.entries(cases)) {
    const client = await RawClient.open(nginx.port);
    client.write(`${head}\r\nconnection: close\r\n\r\n`);
    const response = await client.response();
    client.close();
    assert.deepEqual([response?.status, response?.body], [200, host], head);
  }
});
