import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import type { Exchange } from '../http/exchange.ts';
import type { ResponseStyle } from '../http/response-style.ts';
import { RouteTable } from '../http/route-table.ts';
import type { Log } from '../log/log.ts';
import type { Reply } from '../wire/reply.ts';
import type { IdempotentChanges } from './idempotency.ts';
import { dispatchPage, type PageDispatchParts } from './page-dispatch.ts';
import type { AnyPageRoute } from './page-route.ts';
import type { Area, Sessions } from './page-session.ts';
import { pageStyle } from './page-style.ts';
import { StaticFiles } from './static-files.ts';

/** What serving one area needs. */
export interface PageServerParts {
  readonly area: Area;
  /** The origin at which a proxy serves the console; null for the dashboard. */
  readonly publicOrigin: string | null;
  readonly rows: readonly AnyPageRoute[];
  readonly sessions: Sessions;
  readonly changes: IdempotentChanges;
  readonly log: Log;
  /** The folder of the built app: `web/dist`. */
  readonly distFolder: string;
}

/** Short addresses of public pages of the dashboard; `/docs` is the documentation of the API. */
const shortAddress = /^\/(?:models|rankings|providers)(?:\/|$)/;

/**
 * Serves one area on a listener: its API, its app, and the redirection of `/` and short addresses.
 */
export class PageServer {
  readonly rows: readonly AnyPageRoute[];
  readonly publicOrigin: string | null;
  readonly #home: string;
  readonly #prefix: string;
  readonly #apiPrefix: string;
  readonly #dispatch: PageDispatchParts;
  readonly #files: StaticFiles;
  readonly #style: ResponseStyle;

  constructor({ area, publicOrigin, rows, sessions, changes, log, distFolder }: PageServerParts) {
    this.rows = rows;
    this.publicOrigin = publicOrigin;
    this.#home = `/${area}`;
    this.#prefix = `/${area}/`;
    this.#apiPrefix = `/${area}/api/`;
    this.#dispatch = { area, publicOrigin, table: new RouteTable(rows), sessions, changes };
    this.#files = new StaticFiles(area, distFolder);
    this.#style = pageStyle(log);
  }

  /**
   * The style of the responses to a request of this area, or of a browser at `/`; null for any
   * other request.
   */
  styleOf(exchange: Exchange): ResponseStyle | null {
    const { path } = exchange;
    if (path === '/' || this.#isShort(path)) return isBrowser(exchange) ? this.#style : null;
    return path === this.#home || path.startsWith(this.#prefix) ? this.#style : null;
  }

  #isShort(path: string): boolean {
    return this.#home === '/dashboard' && shortAddress.test(path);
  }

  /** Responds to a request for which `styleOf` is not null. Throws its refusal. */
  async respond(exchange: Exchange): Promise<Reply> {
    const { path, method } = exchange;
    if (path.startsWith(this.#apiPrefix)) return dispatchPage(this.#dispatch, exchange);
    if (method !== 'GET' && method !== 'HEAD')
      throw refuse('method_not_allowed', messages.methodNotAllowed(method, ['GET', 'HEAD']), {
        path,
        method,
        allow: ['GET', 'HEAD'],
      });
    exchange.logFields.route = this.#prefix;
    if (path === '/' || path === this.#home) return redirection(this.#prefix);
    if (this.#isShort(path)) return redirection(this.#home + path);
    return this.#files.respond(exchange);
  }
}

function isBrowser({ method, headers }: Exchange): boolean {
  return (method === 'GET' || method === 'HEAD') && headers.accept?.includes('text/html') === true;
}

function redirection(to: string): Reply {
  return {
    status: 302,
    headers: { Location: to, Vary: 'Accept', 'Cache-Control': 'no-store' },
    body: Buffer.alloc(0),
    contentType: 'text/plain; charset=utf-8',
  };
}
