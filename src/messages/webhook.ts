import { createHmac, randomBytes } from 'node:crypto';
import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import { BlockList, isIP, isIPv6, type LookupFunction } from 'node:net';
import { HttpStatusError, httpErrorOf } from '../http/client/http-error.ts';
import { ownProxies } from '../http/client/proxy.ts';
import { requestStatus } from '../http/client/request.ts';
import type { Clock } from '../time/clock.ts';

const timeoutMs = 10_000;
const secretPrefix = 'whsec_';
const notAllowedCode = 'NOT_ALLOWED';

/** Networks that are not the public internet (RFC 6890); the public part of IPv6 is `2000::/3`. */
const notPublic = blockListOf([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15'],
  ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/3', '2001::/23', '2001:db8::/32', '2002::/16'],
  ...['3fff::/20'],
]);
const publicIpv6 = blockListOf(['2000::/3']);

/** A new secret, as Standard Webhooks writes it. */
export function newWebhookSecret(): string {
  return secretPrefix + randomBytes(32).toString('base64');
}

/**
 * The URL of a webhook as it is stored; null when it cannot be one: https, or http where private
 * networks are allowed, without a user, a password or a fragment, and not at an address that is not
 * allowed. What a name leads to is checked when it is sent to.
 */
export function webhookUrlOf(text: string, privateNetworks: readonly string[]): string | null {
  if (text.length > 2_000 || !/^https?:\/\//i.test(text) || !URL.canParse(text)) return null;
  const url = new URL(text);
  if (url.username !== '' || url.password !== '' || url.hash !== '') return null;
  if (url.protocol === 'http:' && privateNetworks.length === 0) return null;
  const host = hostOf(url);
  return isIP(host) !== 0 && !isAllowed(url, host, privateNetworks) ? null : url.href;
}

/** One delivery. */
export interface WebhookCall {
  readonly url: string;
  readonly secret: string;
  /** The same in every attempt. */
  readonly id: string;
  readonly body: object;
}

/**
 * Sends one delivery, signed as Standard Webhooks says; a status of 2xx is a success. It goes to no
 * address outside the internet but those of `privateNetworks`, whatever a name leads to
 * (spec:operator/5.5). Throws an `HttpError`.
 */
export async function sendWebhook(
  { url, secret, id, body }: WebhookCall,
  { clock, privateNetworks }: { readonly clock: Clock; readonly privateNetworks: readonly string[] },
): Promise<void> {
  const target = new URL(url);
  const lookUp = guardedLookup(target, privateNetworks);
  if (webhookUrlOf(url, privateNetworks) === null) throw httpErrorOf('unreachable', notAllowed());
  // A proxy connects by itself: its own rules count too, and it may know names that we do not.
  if (ownProxies() !== null && isIP(hostOf(target)) === 0) await checkName(target, lookUp);
  const text = JSON.stringify(body);
  const timestamp = String(Math.floor(clock.now() / 1000));
  const status = await requestStatus(target, {
    clock,
    method: 'POST',
    timeoutMs,
    ...(ownProxies() === null ? { lookup: lookUp } : {}),
    body: text,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Naru-Webhooks',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signatureOf(secret, `${id}.${timestamp}.${text}`),
    },
  });
  if (status < 200 || status > 299) throw new HttpStatusError(status, {});
}

function signatureOf(secret: string, content: string): string {
  const key = Buffer.from(secret.slice(secretPrefix.length), 'base64');
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
}

/** Looks a name up, and fails unless every address is allowed: so nothing can change before the connection. */
function guardedLookup(url: URL, privateNetworks: readonly string[]): LookupFunction {
  return (name, options, done) => {
    const all: LookupOptions & { readonly all: true } = { ...options, all: true };
    lookup(name, all, (error, addresses: readonly LookupAddress[]) => {
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) return done(error ?? notAllowed(), '', 0);
      if (addresses.some(({ address }) => !isAllowed(url, address, privateNetworks)))
        return done(notAllowed(), '', 0);
      return options.all === true ? done(null, [...addresses]) : done(null, first.address, first.family);
    });
  };
}

/** Throws when a name leads to an address that is not allowed; one that is not found passes. */
function checkName(url: URL, lookUp: LookupFunction): Promise<void> {
  return new Promise((resolve, reject) => {
    lookUp(url.hostname, {}, (error) =>
      error?.code === notAllowedCode ? reject(httpErrorOf('unreachable', error)) : resolve(),
    );
  });
}

function isAllowed({ protocol }: URL, address: string, privateNetworks: readonly string[]): boolean {
  const family = isIPv6(address) ? 'ipv6' : 'ipv4';
  if (blockListOf(privateNetworks).check(address, family)) return true;
  // Without encryption only in a network of one's own.
  if (protocol === 'http:' || notPublic.check(address, family)) return false;
  return family === 'ipv4' || publicIpv6.check(address, family);
}

function blockListOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    list.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family);
  }
  return list;
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

function notAllowed(): NodeJS.ErrnoException {
  return Object.assign(new Error('the address is not allowed for webhooks'), { code: notAllowedCode });
}
