import type { IncomingHttpHeaders } from 'node:http';
import { namesOrigin } from '../http/local-caller.ts';

/** The browser or machine behind a request, for sign-in, cookies and the audit log. */
export interface PageClient {
  readonly requestId: string;
  readonly ip: string;
  readonly userAgent: string | null;
  /** The origin that the browser sees, such as `https://naru.example`. */
  readonly origin: string;
  /** Whether the browser reached us over TLS: cookies are `Secure` then. */
  readonly isSecure: boolean;
  /** The token of an `Authorization: Bearer` header, or null. */
  readonly bearer: string | null;
  /** Whether cookies have the prefix `__Host-`, which no neighbouring name can set. */
  readonly isHostBound: boolean;
  /** The value of a cookie, or null. */
  cookie(name: string): string | null;
}

interface Request {
  readonly requestId: string;
  readonly clientIp: string;
  readonly headers: IncomingHttpHeaders;
  header(name: string): string | null;
}

/**
 * Reads the client of a request. A proxy that ends TLS states it in `X-Forwarded-Proto`, and
 * a browser in `Origin`; a client that states it falsely makes only its own cookies stricter. At
 * `publicOrigin` nothing needs to be stated.
 */
export function pageClientOf(request: Request, publicOrigin: string | null = null): PageClient {
  const { headers } = request;
  const isHostBound = namesOrigin(headers.host, publicOrigin) && publicOrigin?.startsWith('https:') === true;
  const isSecure =
    isHostBound ||
    headers['x-forwarded-proto'] === 'https' ||
    headers.origin?.startsWith('https://') === true;
  return {
    requestId: request.requestId,
    ip: request.clientIp,
    userAgent: request.header('user-agent')?.slice(0, 500) ?? null,
    origin: `${isSecure ? 'https' : 'http'}://${headers.host ?? ''}`,
    isSecure,
    bearer: /^Bearer +(.*)$/i.exec(headers.authorization ?? '')?.[1]?.trim() ?? null,
    isHostBound,
    cookie: (name) => cookieOf(headers.cookie ?? '', name),
  };
}

/** The value of the first cookie with this name. */
function cookieOf(header: string, name: string): string | null {
  for (const pair of header.split(';')) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return null;
}

/**
 * Whether a request comes from a page of our own origin. Browsers state the relation in
 * `Sec-Fetch-Site`, which scripts cannot set; over plain HTTP they only send `Origin`, whose host
 * must be the host of the request.
 */
export function isFromOwnOrigin(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin, host } = headers;
  if (origin === undefined || host === undefined || !URL.canParse(origin)) return false;
  const { protocol } = new URL(origin);
  if (protocol !== 'http:' && protocol !== 'https:') return false;
  const own = `${protocol}//${host}`;
  return URL.canParse(own) && new URL(own).host === new URL(origin).host;
}
