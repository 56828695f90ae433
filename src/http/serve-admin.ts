import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
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
  readonly text: string;
  readonly isJson?: boolean;
}

/**
 * Serves `GET` of these paths and nothing else, and to nothing that a browser sends for a page; rejects when the address cannot be had.
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
      // A connection that cannot be accepted is no reason to stop.
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
  const [path = '', query = ''] = (request.url ?? '').split('?');
  const page = request.method === 'GET' && Object.hasOwn(pages, path) ? pages[path] : undefined;
  const { status, text, isJson } = !isLocalCaller(request.headers, host)
    ? { status: 403, text: 'only this machine may ask, by one of its own names\n' }
    : page === undefined
      ? nothing(pages)
      : await answered(page, query);
  response.writeHead(status, {
    'Content-Type': isJson === true ? 'application/json' : 'text/plain; version=0.0.4; charset=utf-8',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  });
  response.end(text);
}

function nothing(pages: Readonly<Record<string, AdminPage>>): AdminAnswer {
  return { status: 404, text: `only GET ${Object.keys(pages).join(', ')} are here\n` };
}

/** A question that cannot be answered is the fault of who asked, who may read why. */
async function answered(page: AdminPage, query: string): Promise<AdminAnswer> {
  try {
    const stated = await page(new URLSearchParams(query));
    return typeof stated === 'string' ? { status: 200, text: stated } : { status: 200, ...json(stated) };
  } catch (error) {
    if (!(error instanceof Refusal)) return { status: 500, text: 'this page cannot be written now\n' };
    return { status: statusOf(error.failure), ...json({ error: error.message }) };
  }
}

function json(value: object): Pick<AdminAnswer, 'text' | 'isJson'> {
  return { text: `${JSON.stringify(value)}\n`, isJson: true };
}
