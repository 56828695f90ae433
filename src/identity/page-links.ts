import type { Config } from '../config/config.ts';
import { reachableUrl } from '../http/urls.ts';
import type { NewLink } from './links-sql.ts';

/** The origins at which browsers reach the pages. */
export interface PageOrigins {
  readonly dashboard: string;
  readonly console: string;
}

/** The origins of a configuration; `ports` are those that the server listens on, where it runs. */
export function pageOrigins(
  { listen, admin, auth }: Pick<Config, 'listen' | 'admin' | 'auth'>,
  ports: { readonly listen: number; readonly admin: number } = { listen: listen.port, admin: admin.port },
): PageOrigins {
  return {
    dashboard: auth.publicUrl ?? reachableUrl(listen.host, ports.listen),
    console: admin.publicUrl ?? reachableUrl(admin.host, ports.admin),
  };
}

/**
 * The address of a one-time link. The token is in the fragment: a browser sends it to no server, so
 * no log of a proxy has it, and a mail scanner that opens the address does not use it.
 */
export function linkUrl(origins: PageOrigins, { purpose, token }: NewLink): string {
  const area = purpose === 'console' ? 'console' : 'dashboard';
  return `${origins[area]}/${area}/link#${token}`;
}
