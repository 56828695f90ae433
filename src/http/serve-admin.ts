import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isLocalCaller } from './local-caller.ts';

/** The loopback server for operator tools. */
export interface AdminServer {
  readonly port: number;
  close(): Promise<void>;
}

/** The content of a path, in the text format of Prometheus. */
export type AdminPage = () => string | Promise<string>;

interface AdminResponse {
  readonly status: number;
  readonly text: string;
}

/**
 * Serves `GET` of these paths only, and rejects requests that a browser sends for a web page.
 * Rejects when the address cannot be bound.
 */
export function serveAdmin(
  pages: Readonly<Record<string, AdminPage>>,
  address: { readonly host: string; readonly port: number },
): Promise<AdminServer> {
  const server = createServer((request, response) => {
    response.on('error', () => {});
    handle(pages, address.host, request, response).catch(() => response.destroy());
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, () => {
      // A failed accept does not stop the server.
      server.off('error', reject).on('error', () => {});
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

async function handle(
  pages: Readonly<Record<string, AdminPage>>,
  host: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [path = ''] = (request.url ?? '').split('?');
  const page = request.method === 'GET' && Object.hasOwn(pages, path) ? pages[path] : undefined;
  const { status, text } = !isLocalCaller(request.headers, host)
    ? { status: 403, text: 'forbidden: the Host header must be a loopback name\n' }
    : page === undefined
      ? nothing(pages)
      : await responseOf(page);
  response.writeHead(status, {
    'Content-Type': 'text/plain; version=0.0.4; charset=utf-8',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  });
  response.end(text);
}

function nothing(pages: Readonly<Record<string, AdminPage>>): AdminResponse {
  return { status: 404, text: `not found: only GET ${Object.keys(pages).join(', ')} exist\n` };
}

async function responseOf(page: AdminPage): Promise<AdminResponse> {
  try {
    return { status: 200, text: await page() };
  } catch {
    return { status: 500, text: 'this page is not available\n' };
  }
}
