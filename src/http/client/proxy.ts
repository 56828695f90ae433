import { isInRange, type Proxies } from '../../config/proxies.ts';

let current: Proxies | null = null;

/** The proxies of this process; null: there is none. */
export function ownProxies(): Proxies | null {
  return current;
}

/** The proxies for the host of a URL; null: there is none, or the host is in a range that they are not for. */
export function proxiesFor({ hostname }: URL): Proxies | null {
  return current === null || isInRange(hostname, current) ? null : current;
}

/**
 * Sends the requests of this process through proxies: those of `request.ts`, of `fetch` and of Node's
 * own agents. Returns a function that ends that.
 */
export async function sendThrough(proxies: Proxies): Promise<() => void> {
  const { setGlobalProxyFromEnv } = await import('node:http');
  const restore = setGlobalProxyFromEnv({ ...proxies });
  current = proxies;
  return () => {
    current = null;
    restore();
  };
}
