import type { IncomingHttpHeaders } from 'node:http';
import { isIPv4 } from 'node:net';

/**
 * Whether a request to a loopback address comes from a local program or user, and not from a web
 * page in a local browser. A foreign page sends its own name in `Host` when that name resolves to
 * loopback (DNS rebinding), and its own origin otherwise. `ownHost` is the host in the
 * configuration.
 */
export function isLocalCaller(headers: IncomingHttpHeaders, ownHost: string): boolean {
  return headers.origin === undefined && isFromOwnPage(headers) && namesLoopback(headers.host, ownHost);
}

/** Whether a `Host` header names the public origin of the operator's app. */
export function namesOrigin(host: string | undefined, publicOrigin: string | null): boolean {
  return publicOrigin !== null && host === new URL(publicOrigin).host;
}

/**
 * Whether a request to the operator's app, whose `Host` is the app's, comes from the app itself in a
 * browser. Its pages may send requests with their own origin. A link on another site may open them
 * as a page of their own. `publicOrigin` is null for a request by a loopback name.
 */
export function isOwnBrowser(headers: IncomingHttpHeaders, publicOrigin: string | null): boolean {
  const { origin, host } = headers;
  const own = publicOrigin === null ? [`http://${host}`, `https://${host}`] : [publicOrigin];
  const isLink = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  return (origin === undefined || own.includes(origin)) && (isFromOwnPage(headers) || isLink);
}

function isFromOwnPage({ 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  return site === undefined || site === 'none' || site === 'same-origin';
}

/** Whether a `Host` header names the loopback, or the host in the configuration; any port. */
export function namesLoopback(host: string | undefined, ownHost: string): boolean {
  const [, bracketed, plain] =
    /^(?:\[([0-9a-f:]{2,45})\]|([a-z0-9.-]{1,253}))(?::\d{1,5})?$/i.exec(host ?? '') ?? [];
  const name = (bracketed ?? plain ?? '').toLowerCase().replace(/\.$/, '');
  return (
    name === 'localhost' ||
    name === '::1' ||
    (isIPv4(name) && name.startsWith('127.')) ||
    (name !== '' && name === ownHost.toLowerCase())
  );
}
