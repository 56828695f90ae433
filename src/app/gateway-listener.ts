import { BearerHashes } from '../accounts/authenticate.ts';
import { dispatch } from '../api/dispatch.ts';
import type { AnyRoute } from '../api/route.ts';
import { ClientAddresses } from '../http/client-ip.ts';
import { RouteTable } from '../http/route-table.ts';
import { type Served, serve } from '../http/serve.ts';
import type { ServeParts } from '../http/serve-parts.ts';
import type { GatewayCore, GatewayParts } from './gateway-core.ts';

/**
 * Longer than a proxy of `edge.trusted_proxies` may keep an idle connection: 4 s in
 * `deploy/nginx.conf`.
 */
const proxyIdleMs = 6_000;
/**
 * A worker that stops alone still reads requests on its last connections: its siblings keep
 * serving, so clients expect no error. The same holds where the next process continues on the socket.
 */
const leavingIdleMs = 500;

/**
 * Listens for requests and dispatches them to these routes. Limits are getters: a request uses the
 * current ones.
 */
export function listen(routes: readonly AnyRoute[], core: GatewayCore, parts: GatewayParts): Promise<Served> {
  const { limits, budget, parser, observer } = core;
  const { config, clock, log } = parts;
  const serveParts: ServeParts = {
    clientLimits: {
      get connections() {
        return limits().connectionsPerClient;
      },
      get minBodyBytesPerSecond() {
        return limits().minBodyBytesPerSecond;
      },
    },
    budget,
    ...responder(routes, core, parts),
    addresses: new ClientAddresses(config.edge.trustedProxies),
    rateLimit: config.edge.rateLimit === 'builtin' ? parts.rate : null,
    get maxBodyBytes() {
      return limits().bodyBytes;
    },
    get clientStallMs() {
      return limits().streamIdleTimeoutMs;
    },
    idleWhileStoppingMs: idleWhileStoppingMs(parts),
    parser,
    observer,
    clock,
    log,
  };
  return serve(serveParts, parts.socket ?? config.listen);
}

/** Responds to requests of the API and of the dashboard. */
function responder(
  routes: readonly AnyRoute[],
  core: GatewayCore,
  { config, clock, pages, slots }: GatewayParts,
): Pick<ServeParts, 'styleOf' | 'respond'> {
  const { accounts, keys, feed, waits } = core.accounting;
  const table = new RouteTable(routes);
  const hashes = new BearerHashes(config.keys.prefix);
  const dispatching = { table, keys, accounts, clock, hashes, waits, fresh: () => feed.fresh() };
  const dashboard = pages.dashboard({ ...core, config, slots });
  return {
    styleOf: (exchange) => dashboard.styleOf(exchange),
    respond: (exchange) =>
      exchange.style === null ? dispatch(dispatching, exchange) : dashboard.respond(exchange),
  };
}

function idleWhileStoppingMs(parts: GatewayParts): number {
  if (parts.config.edge.trustedProxies.length > 0) return proxyIdleMs;
  // With other workers, or with the process that passed it.
  const sharesSocket = parts.workers > 1 || (parts.socket ?? null) !== null;
  return sharesSocket ? leavingIdleMs : 0;
}
