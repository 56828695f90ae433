import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The loopback server for the operator's tools. */
export interface AdminServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Serves `GET /metrics` and nothing else; rejects when the address cannot be had. */
export function serveAdmin(
  metrics: () => string,
  address: { readonly host: string; readonly port: number },
): Promise<AdminServer> {
  const server = createServer((request, response) => {
    const [path] = (request.url ?? '').split('?');
    const found = path === '/metrics' && request.method === 'GET';
    response.writeHead(found ? 200 : 404, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' });
    response.end(found ? metrics() : 'only GET /metrics is here\n');
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, () => {
      server.off('error', reject);
      resolve({
        port: (server.address() as AddressInfo).port,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed());
            server.closeAllConnections();
          }),
      });
    });
  });
}
