import { BearerHashes } from '../accounts/authenticate.ts';
import { KeyService } from '../accounts/key-service.ts';
import { readKey } from '../accounts/keys.ts';
import { dispatch } from '../api/dispatch.ts';
import type { AnyRoute } from '../api/route.ts';
import { ClientAddresses } from '../http/client-ip.ts';
import { RouteTable } from '../http/route-table.ts';
import { type Served, serve } from '../http/serve.ts';
import type { ServeParts } from '../http/serve-parts.ts';
import type { DashboardContext } from '../pages/context.ts';
import { dashboardRows } from '../pages/dashboard/rows.ts';
import { PublicReads } from '../pages/public-reads.ts';
import type { GatewayCore } from './gateway-core.ts';

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
export function listen(routes: readonly AnyRoute[], core: GatewayCore): Promise<Served> {
  const { config, limits, budget, parser, observer, clock, log } = core;
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
    ...responder(routes, core),
    addresses: new ClientAddresses(config.edge.trustedProxies),
    rateLimit: config.edge.rateLimit === 'builtin' ? core.rate : null,
    get maxBodyBytes() {
      return limits().bodyBytes;
    },
    get clientStallMs() {
      return limits().streamIdleTimeoutMs;
    },
    idleWhileStoppingMs: idleWhileStoppingMs(core),
    parser,
    observer,
    clock,
    log,
  };
  return serve(serveParts, core.socket ?? config.listen);
}

/** Responds to requests of the API and of the dashboard. */
function responder(routes: readonly AnyRoute[], core: GatewayCore): Pick<ServeParts, 'styleOf' | 'respond'> {
  const { config, clock, pages } = core;
  const { accounts, keys, feed, waits } = core.accounting;
  const table = new RouteTable(routes);
  const hashes = new BearerHashes(config.keys.prefix);
  const dispatching = { table, keys, accounts, clock, hashes, waits, fresh: () => feed.fresh() };
  const dashboard = pages.serve('dashboard', dashboardRows(dashboardContext(core)));
  return {
    styleOf: (exchange) => dashboard.styleOf(exchange),
    respond: (exchange) =>
      exchange.style === null ? dispatch(dispatching, exchange) : dashboard.respond(exchange),
  };
}

function idleWhileStoppingMs({ config, workers, socket = null }: GatewayCore): number {
  if (config.edge.trustedProxies.length > 0) return proxyIdleMs;
  // With other workers, or with the process that passed it.
  const sharesSocket = workers > 1 || socket !== null;
  return sharesSocket ? leavingIdleMs : 0;
}

function dashboardContext(core: GatewayCore): DashboardContext {
  const { config, accounting, liveCatalog, keyService } = core;
  const { accounts, keys, settlements } = accounting;
  const { reads, clock } = core.pages.context;
  const { prefix: keyPrefix, maxPerAccount } = config.keys;
  const { samples, syncKey } = config.datasets;
  return {
    ...core.pages.context,
    publicOrigin: config.auth.publicUrl,
    config: () => liveCatalog.config,
    payments: core.payments,
    readKey: (hash) => readKey(reads, hash),
    accounts,
    balanceOf: async (accountId) => (await accounts.current(accountId))?.balance ?? 0n,
    debtFloor: () => core.limits().debtFloorKrw,
    settlements,
    keyService,
    keyReader: new KeyService({ database: reads, cache: keys, clock, keyPrefix, maxPerAccount }),
    catalogue: () => liveCatalog.catalogue,
    health: core.health,
    drains: core.drains,
    slots: core.slots,
    providers: () => liveCatalog.config,
    datasets: { database: reads, clock, samples: samples && syncKey === null },
    publicReads: new PublicReads(clock),
  };
}
