import { isIPv6 } from 'node:net';

/** The URL that a server listens on. */
export function urlOf(host: string, port: number): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/**
 * The URL at which this machine reaches a server: one that listens on all addresses is reachable at
 * the loopback address.
 */
export function reachableUrl(host: string, port: number): string {
  if (host === '0.0.0.0') return urlOf('127.0.0.1', port);
  return urlOf(host === '::' ? '::1' : host, port);
}
