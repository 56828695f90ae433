import type { IncomingHttpHeaders } from 'node:http';
import { isIPv4 } from 'node:net';

/**
 * Whether a request to a loopback address comes from a local program or user, and not from a web
 * page in a local browser. A foreign page sends its own name in `Host` when that name resolves to
 * loopback (DNS rebinding), and its own origin otherwise. `ownHost` is the host in the
 * configuration.
 */
export function isLocalCaller(headers: IncomingHttpHeaders, ownHost: string): boolean {
  const site = headers['sec-fetch-site'];
  if (headers.origin !== undefined || (site !== undefined && site !== 'none' && site !== 'same-origin'))
    return false;
  const [, bracketed, plain] =
    /^(?:\[([0-9a-f:]{2,45})\]|([a-z0-9.-]{1,253}))(?::\d{1,5})?$/i.exec(headers.host ?? '') ?? [];
  const name = (bracketed ?? plain ?? '').toLowerCase().replace(/\.$/, '');
  return (
    name === 'localhost' ||
    name === '::1' ||
    (isIPv4(name) && name.startsWith('127.')) ||
    (name !== '' && name === ownHost.toLowerCase())
  );
}
