import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy that blocks all traffic, and records the requested hosts. */
export interface Outside {
  /** For an environment: every common spelling of the proxy, with this machine as the exception. */
  readonly env: Readonly<Record<string, string>>;
  readonly hosts: readonly string[];
  close(): Promise<void>;
}

/**
 * Starts the proxy. It blocks an agent that is one binary, where no hook can be loaded into its
 * process.
 */
export async function startOutside(): Promise<Outside> {
  const hosts: string[] = [];
  const server = createServer((request, response) => {
    hosts.push(URL.parse(request.url ?? '')?.hostname ?? 'no address');
    response.writeHead(403).end();
  });
  server.on('connect', (sent: IncomingMessage, socket) => {
    hosts.push((sent.url ?? '').replace(/:\d+$/, ''));
    socket.on('error', () => {});
    socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const local = '127.0.0.1,localhost,::1';
  return {
    env: {
      HTTP_PROXY: url,
      HTTPS_PROXY: url,
      http_proxy: url,
      https_proxy: url,
      NO_PROXY: local,
      no_proxy: local,
    },
    hosts,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
