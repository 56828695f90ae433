import type { IncomingHttpHeaders } from 'node:http';
import { isIPv4 } from 'node:net';

/**
 * Whether a request to a loopback address comes from a program or a person of this machine, and not from a page of a browser on it:
 * a foreign page brings its own name along in `Host` when its name was made to lead here (DNS rebinding), and its own origin otherwise.
 * `ownHost` is the host that the configuration names.
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
