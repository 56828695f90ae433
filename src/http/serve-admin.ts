import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Refusal } from '../errors/catalogue.ts';
import { statusOf } from '../errors/error-body.ts';
import { isLocalCaller } from './local-caller.ts';

/** The loopback server for the operator's tools. */
export interface AdminServer {
  readonly port: number;
  close(): Promise<void>;
}

/** What a path says when it is read: text for people and scrapers, anything else as JSON. */
export type AdminPage = (query: URLSearchParams) => string | object | Promise<string | object>;

interface AdminAnswer {
  readonly status: number;
  readonly said: string | object;
}

/**
 * Serves `GET` of these paths and nothing else, and to nothing that a browser sends for a page; rejects when the address cannot be had.
 */
export function serveAdmin(
  pages: Readonly<Record<string, AdminPage>>,
  address: { readonly host: string; readonly port: number },
): Promise<AdminServer> {
  const server = createServer(async (request, response) => {
    const [path = '', query = ''] = (request.url ?? '').split('?');
    const page = request.method === 'GET' && Object.hasOwn(pages, path) ? pages[path] : undefined;
    const { status, said } = !isLocalCaller(request.headers, address.host)
      ? { status: 403, said: 'only this machine may ask, by one of its own names\n' }
      : page === undefined
        ? nothing(pages)
        : await answered(page, query);
    const isText = typeof said === 'string';
    response.writeHead(status, {
      'Content-Type': isText ? 'text/plain; version=0.0.4; charset=utf-8' : 'application/json',
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-store',
    });
    response.end(isText ? said : `${JSON.stringify(said)}\n`);
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

function nothing(pages: Readonly<Record<string, AdminPage>>): AdminAnswer {
  return { status: 404, said: `only GET ${Object.keys(pages).join(', ')} are here\n` };
}

/** A question that cannot be answered is the fault of who asked, who may read why. */
async function answered(page: AdminPage, query: string): Promise<AdminAnswer> {
  try {
    return { status: 200, said: await page(new URLSearchParams(query)) };
  } catch (error) {
    if (!(error instanceof Refusal)) return { status: 500, said: 'this page cannot be written now\n' };
    return { status: statusOf(error.failure), said: { error: error.message } };
  }
}
