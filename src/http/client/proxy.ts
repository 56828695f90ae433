import type { Proxies } from '../../config/proxies.ts';

let current: Proxies | null = null;

/** The proxies of this process; null: there is none. */
export function ownProxies(): Proxies | null {
  return current;
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
