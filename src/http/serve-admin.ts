import { Refusal, statusOf } from '../errors/catalogue.ts';
import { pageMessages } from '../errors/page-messages.ts';
import { PageRefusal } from '../errors/page-refusal.ts';
import type { Log } from '../log/log.ts';
import type { Clock } from '../time/clock.ts';
import type { JsonReply, Reply } from '../wire/reply.ts';
import { ClientAddresses } from './client-ip.ts';
import type { Exchange } from './exchange.ts';
import { isLocalCaller, isOwnBrowser, namesLoopback, namesOrigin } from './local-caller.ts';
import { BodyTooLarge } from './read-body.ts';
import type { ResponseStyle } from './response-style.ts';
import { serve } from './serve.ts';

/** The loopback server for operator tools; a proxy may serve its app. */
export interface AdminServer {
  readonly port: number;
  close(): Promise<void>;
}

/** The content of a path, in the text format of Prometheus. */
export type AdminPage = () => string | Promise<string>;

/** An app for a browser on the operator's port: the console. */
export interface AdminApp {
  /** The origin at which a proxy serves it; null: only loopback names reach it. */
  readonly publicOrigin: string | null;
  /** Null: not a request of the app. */
  styleOf(exchange: Exchange): ResponseStyle | null;
  respond(exchange: Exchange): Promise<Reply>;
}

/** What the operator's server has. */
export interface AdminParts {
  readonly pages: Readonly<Record<string, AdminPage>>;
  readonly app?: AdminApp;
  /** Addresses and CIDRs whose `X-Forwarded-For` is trusted, where a proxy serves the app. */
  readonly trustedProxies?: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
}

/** What a request may declare; the console accepts less. */
const maxBodyBytes = 1_048_576;
const clientLimits = { connections: 256, minBodyBytesPerSecond: 1_024 };
const clientStallMs = 30_000;

/**
 * Serves `GET` of the pages, and the app. Rejects requests that a browser sends for a web page of
 * another site. Rejects when the address cannot be bound.
 */
export async function serveAdmin(
  { pages, app, trustedProxies = [], clock, log }: AdminParts,
  address: { readonly host: string; readonly port: number },
): Promise<AdminServer> {
  // The configured port may be 0, or taken.
  let port = address.port;
  const server = await serve(
    {
      styleOf: (exchange) => app?.styleOf(exchange) ?? plainStyle,
      respond: async (exchange) => {
        exchange.style ??= plainStyle;
        return exchange.style === plainStyle || app === undefined
          ? respondWithPage(pages, address.host, exchange)
          : respondWithApp(app, { host: address.host, port }, exchange);
      },
      addresses: new ClientAddresses(app?.publicOrigin == null ? [] : trustedProxies),
      rateLimit: null,
      countsConnections: true,
      clientLimits,
      idleWhileStoppingMs: 0,
      maxBodyBytes,
      clientStallMs,
      clock,
      // A scrape every few seconds is no event.
      log: { ...log, info: log.debug },
    },
    address,
  );
  port = server.port;
  return { port, close: () => server.close() };
}

/** Only a browser that shows the app itself may use it: a foreign page reaches loopback too. */
async function respondWithApp(
  app: AdminApp,
  { host, port }: { readonly host: string; readonly port: number },
  exchange: Exchange,
): Promise<Reply> {
  const { headers } = exchange;
  const publicOrigin = namesOrigin(headers.host, app.publicOrigin) ? app.publicOrigin : null;
  if (publicOrigin === null && !namesLoopback(headers.host, host))
    throw new PageRefusal('invalid_origin', pageMessages.foreignHost(port));
  if (!isOwnBrowser(headers, publicOrigin))
    throw new PageRefusal('invalid_origin', pageMessages.invalidOrigin);
  return app.respond(exchange);
}

async function respondWithPage(
  pages: Readonly<Record<string, AdminPage>>,
  host: string,
  { method, path, headers }: Exchange,
): Promise<JsonReply> {
  if (!isLocalCaller(headers, host)) return text(403, 'forbidden: the Host header must be a loopback name\n');
  const page = method === 'GET' && Object.hasOwn(pages, path) ? pages[path] : undefined;
  if (page === undefined) return text(404, `not found: only GET ${Object.keys(pages).join(', ')} exist\n`);
  try {
    return text(200, await page());
  } catch {
    return text(500, 'this page is not available\n');
  }
}

function text(status: number, body: string): JsonReply {
  return { status, body: Buffer.from(body), contentType: 'text/plain; version=0.0.4; charset=utf-8' };
}

/** Pages are plain data, and no site may read them. */
const plainStyle: ResponseStyle = {
  headers: () => ['X-Content-Type-Options', 'nosniff', 'Cache-Control', 'no-store'],
  renderError(thrown) {
    if (thrown instanceof Refusal)
      return { ...text(statusOf(thrown.failure), `${thrown.message}\n`), type: thrown.failure };
    if (thrown instanceof BodyTooLarge)
      return { ...text(413, 'request body too large\n'), type: 'too_large' };
    return { ...text(500, 'this page is not available\n'), type: 'server' };
  },
};
