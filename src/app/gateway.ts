import { UsageRoller } from '../analytics/roll-usage.ts';
import { dispatch } from '../api/dispatch.ts';
import type { AnyRoute } from '../api/route.ts';
import type { Config } from '../config/config.ts';
import type { ControlHandler } from '../control/serve.ts';
import { DatasetSync } from '../datasets/sync.ts';
import { ServerStopping } from '../errors/request-aborted.ts';
import { ensurePartitions } from '../generations/partitions.ts';
import { BodyRate } from '../http/body-rate.ts';
import { ClientAddresses } from '../http/client-ip.ts';
import { type RateGate, RateLimit } from '../http/rate-limit.ts';
import { RouteTable } from '../http/route-table.ts';
import { type Served, serve } from '../http/serve.ts';
import type { AdminServer } from '../http/serve-admin.ts';
import type { Identity } from '../identity/identity.ts';
import { KeyService } from '../keys/key-service.ts';
import { expireDueCredit } from '../ledger/credit.ts';
import type { Settlements } from '../ledger/settlements.ts';
import type { Log } from '../log/log.ts';
import { MemoryBudget } from '../memory/budget.ts';
import { TokenizerPool } from '../metering/tokenizer-pool.ts';
import { ClockSkew } from '../nodes/clock-skew.ts';
import { beatEveryMs } from '../nodes/node-registry.ts';
import type { Sessions } from '../pages/page-session.ts';
import { labelsOf } from '../routing/health-report.ts';
import type { SlotAcquirer } from '../slots/contract.ts';
import type { Processes } from '../slots/drivers/processes.ts';
import { createSlots, type Slots, type SlotsSettings } from '../slots/slots.ts';
import { forgetOldChanges } from '../store/changes.ts';
import type { Database } from '../store/database.ts';
import { HistoryWatch } from '../store/history-watch.ts';
import { migrate } from '../store/migrate.ts';
import { type Clock, within } from '../time/clock.ts';
import { Health } from '../upstreams/health.ts';
import type { HealthLimits } from '../upstreams/health-status.ts';
import { Engines } from '../upstreams/providers.ts';
import { JsonParser } from '../wire/json-parser.ts';
import { openAccounting } from './accounting.ts';
import { openAdmin } from './admin-server.ts';
import { readAlarms } from './alarms.ts';
import { slotSettings } from './build-slots.ts';
import { DescriptorWatch } from './descriptor-watch.ts';
import { endpoints } from './endpoints.ts';
import { openIdentity } from './identity.ts';
import { JobRunner } from './job-runner.ts';
import { LiveCatalog } from './live-catalog.ts';
import { memoryLimits } from './memory-limits.ts';
import { EventLoopDelay } from './metrics/event-loop-delay.ts';
import { addGatewayMetrics } from './metrics/gateway-metrics.ts';
import { renderPage } from './metrics/page.ts';
import { type MetricData, Registry, readRegistry } from './metrics/registry.ts';
import { RequestMetrics } from './metrics/request-metrics.ts';
import { SlotMetrics } from './metrics/slot-metrics.ts';
import { UpstreamMetrics } from './metrics/upstream-metrics.ts';
import { openPages } from './pages.ts';
import { MemoryRelease, releaseEveryMs } from './release-memory.ts';
import { routeReports } from './route-reports.ts';

/** The parts of a gateway. */
export interface GatewayParts {
  readonly config: Config;
  /** An open database; the caller closes it after the gateway. */
  readonly database: Database;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly processes: Processes;
  /** Called when an operator published a catalogue: read the configuration again and call `reload`. */
  readonly onPublished?: () => void;
  /** Called once when another process took over the identity of the data directory: close the gateway then. */
  readonly onSuperseded?: (error: Error) => void;
  /** Called once when the database lost commits that this process saw: the process must be replaced. */
  readonly onHistoryChanged?: () => void;
  /** The metrics of this process, for the page; absent where many gateways share one. */
  readonly processMetrics?: () => Promise<readonly MetricData[]>;
  /** What the parent of a worker does for it (docs/decisions/workers.md): engines, rate limits and the admin port. */
  readonly parent?: ParentParts;
  /** Who is signed in to the pages; the identity room when absent. */
  readonly sessions?: Sessions;
  /** The folder of the built pages; that beside the program when absent. */
  readonly distFolder?: string;
}

/** The services of a worker's parent. */
export interface ParentParts {
  readonly lanes: SlotAcquirer;
  readonly rate: RateGate;
  /** The number of workers on this machine. */
  readonly workers: number;
}

/** A serving gateway. */
export interface Gateway {
  readonly server: Served;
  /** Port 0 in a worker: its parent has the port. */
  readonly admin: AdminServer;
  /** Handles `/route` and `/route/health` of the control socket. */
  readonly routeReports: ControlHandler;
  /** The content of the metrics page. */
  readonly metrics: () => Promise<readonly MetricData[]>;
  /** Empty in a worker. */
  readonly slots: Slots;
  readonly settlements: Settlements;
  /** The current ones: a reload may change them. */
  readonly limits: Config['limits'];
  /** The health of the candidates. */
  readonly health: Health;
  readonly identity: Identity;
  /** All endpoints. */
  readonly routes: readonly AnyRoute[];
  /** Applies another configuration; throws and changes nothing when that needs a restart (spec:operator/2.3). */
  reload(config: Config): Promise<void>;
  /**
   * Stops accepting connections and drains the requests in flight for at most `drainTimeoutMs`; after that, or when `hurry` aborts,
   * the rest end with an error. Every settlement is in the database or the journal afterwards.
   */
  close(abort: AbortSignal): Promise<void>;
}

/** How long closing waits until the settlements are in the database; the journal keeps the rest. */
const settleOnCloseMs = 3_000;
/** Longer than a proxy of `edge.trusted_proxies` may keep an idle connection: 4 s in `deploy/nginx.conf`. */
const proxyIdleMs = 6_000;
/** A worker that stops alone still reads requests on its last connections: its siblings keep serving, so clients expect no error. */
const leavingIdleMs = 500;
const noAdmin: AdminServer = { port: 0, close: async () => {} };

/** Builds all parts and starts to serve. Throws when the database, the journal or an address is unavailable. */
export async function startGateway(parts: GatewayParts): Promise<Gateway> {
  const opened: (() => Promise<void>)[] = [];
  try {
    return await start(parts, (close) => opened.unshift(close));
  } catch (error) {
    for (const close of opened) await close();
    throw error;
  }
}

/** `onFailure` registers how to close what is open if a later step fails. */
async function start(parts: GatewayParts, onFailure: (close: () => Promise<void>) => void): Promise<Gateway> {
  const { config, database, clock, log, parent } = parts;
  const watch = config.database.url === 'embedded' ? null : await watchHistory(parts);
  const migrated = await migrate(database);
  if (migrated.length > 0) log.info('migrated', { steps: migrated.join(', ') });
  await ensurePartitions(database, clock.now());
  const liveCatalog = await LiveCatalog.open(parts, config);
  /** The current ones: a reload may change them. */
  const limits = (): Config['limits'] => liveCatalog.config.limits;
  onFailure(() => liveCatalog.close());
  const registry = new Registry();
  const observer = new RequestMetrics(registry);
  const accounting = await openAccounting({
    ...parts,
    observer,
    watch,
    debtFloor: () => limits().debtFloorKrw,
  });
  onFailure(() => accounting.close());
  const { accounts, keys, settlements, feed, nodes, leases } = accounting;
  const skew = new ClockSkew({ database, clock, log });
  await skew.measure();
  const slotMetrics = new SlotMetrics(registry);
  const slots = await createSlots({
    settings: ownSlots(config, parts),
    clock,
    log,
    dataDir: parts.dataDir,
    processes: parts.processes,
    observer: slotMetrics,
  });
  slotMetrics.show(() => slots.statuses());
  onFailure(() => slots.close());
  const engines = new Engines(() => limits().connectTimeoutMs);
  const tokens = new TokenizerPool({ clock, log });
  let isStopping = false;
  onFailure(() => tokens.close());
  const parser = new JsonParser({ clock, log });
  onFailure(() => parser.close());
  const health = new Health(clock, healthLimits(config));

  const { prefix: keyPrefix, maxPerAccount } = config.keys;
  const keyService = new KeyService({ database, cache: keys, clock, keyPrefix, maxPerAccount });
  const identity = openIdentity(database, clock, config);
  const datasetSync = new DatasetSync({ settings: config.datasets, database, clock, log });
  const routes = endpoints({
    config,
    limits,
    database,
    clock,
    log,
    accounting,
    keyService,
    liveCatalog,
    health,
    engines,
    lanes: parent?.lanes ?? slots,
    tokens,
    observer,
    isStopping: () => isStopping,
  });
  const table = new RouteTable(routes);
  const web = openPages({ sessions: identity, ...parts });
  onFailure(() => web.close());
  const dashboard = web.dashboard({
    config,
    limits,
    accounting,
    keyService,
    liveCatalog,
    health,
    slots: parent === undefined ? () => slots.statuses() : null,
  });
  const dispatching = {
    table,
    keys,
    accounts,
    clock,
    keyPrefix: config.keys.prefix,
    fresh: () => feed.fresh(),
  };
  let budgetLimits = memoryLimits(limits(), parent?.workers ?? 1);
  const budget = new MemoryBudget(() => budgetLimits, clock);
  const release = new MemoryRelease(budget);
  const server = await serve(
    {
      clientLimits: {
        get connections() {
          return limits().connectionsPerClient;
        },
        get minBodyBytesPerSecond() {
          return limits().minBodyBytesPerSecond;
        },
      },
      budget,
      onShredded: () => release.noteGarbage(),
      bodyRate: new BodyRate(() => {
        const { bodyBytesPerSecond: rate, bodyBytes } = limits();
        return rate === 0
          ? { bytesPerSecond: Number.POSITIVE_INFINITY, burstBytes: Number.POSITIVE_INFINITY }
          : { bytesPerSecond: rate, burstBytes: bodyBytes };
      }, clock),
      styleOf: (exchange) => dashboard.styleOf(exchange),
      respond: (exchange) =>
        exchange.style === null ? dispatch(dispatching, exchange) : dashboard.respond(exchange),
      addresses: new ClientAddresses(config.edge.trustedProxies),
      rateLimit:
        config.edge.rateLimit === 'builtin'
          ? (parent?.rate ??
            new RateLimit(() => ({ perSecond: limits().requestsPerSecond, burst: limits().burst }), clock))
          : null,
      get maxBodyBytes() {
        return limits().bodyBytes;
      },
      get clientStallMs() {
        return limits().streamIdleTimeoutMs;
      },
      idleWhileStoppingMs:
        config.edge.trustedProxies.length > 0 ? proxyIdleMs : parent === undefined ? 0 : leavingIdleMs,
      parser,
      observer,
      clock,
      log,
    },
    config.listen,
  );
  onFailure(() => server.close());
  await nodes.serveAt(`${config.listen.host}:${server.port}`);
  let alarms = await readAlarms(database);
  addGatewayMetrics(registry, { server, accounting, alarms: () => alarms, skew, budget });
  new UpstreamMetrics(registry, { catalogue: () => liveCatalog.catalogue, health });
  const loopDelay = new EventLoopDelay(registry, clock);
  onFailure(async () => loopDelay.close());
  const metrics = async (): Promise<readonly MetricData[]> => [
    ...(await readRegistry(registry)),
    ...((await parts.processMetrics?.()) ?? []),
  ];
  const pages = { '/metrics': async () => renderPage([await metrics()]) };
  const admin =
    parent === undefined
      ? await openAdmin({ pages, app: web.console({}), clock, log }, config.admin)
      : noAdmin;
  const descriptors = new DescriptorWatch(log);
  const roller = new UsageRoller({ database, clock, log });
  const jobs = new JobRunner(
    [
      { name: 'renew-journal', everyMs: 5_000, run: () => settlements.renew() },
      ...(watch === null
        ? []
        : [{ name: 'check-replication', everyMs: 1_000, run: () => accounting.keptSegments.check() }]),
      { name: 'measure-clock', everyMs: 60_000, run: () => skew.measure() },
      { name: 'watch-descriptors', everyMs: 5_000, run: () => descriptors.check() },
      { name: 'release-memory', everyMs: releaseEveryMs, run: async () => release.check() },
      { name: 'beat', everyMs: beatEveryMs, run: () => nodes.beat() },
      { name: 'give-back-shares', everyMs: 1_000, run: () => leases.releaseIdle() },
      { name: 'forget-lost-nodes', everyMs: 60_000, run: () => nodes.forgetLost() },
      { name: 'refresh-doubtful-keys', everyMs: 250, run: () => keys.refreshStale() },
      {
        name: 'read-alarms',
        everyMs: 2_000,
        run: async () => {
          alarms = await readAlarms(database);
        },
      },
      { name: 'forget-idle', everyMs: 250, run: async () => accounting.evictIdle() },
      { name: 'forget-old-changes', everyMs: 3_600_000, run: () => forgetOldChanges(database) },
      { name: 'expire-credit', everyMs: 1_000, run: () => expireDueCredit(database) },
      { name: 'ensure-partitions', everyMs: 3_600_000, run: (nowMs) => ensurePartitions(database, nowMs) },
      { name: 'forget-page-changes', everyMs: 3_600_000, run: () => web.changes.forgetOld() },
      { name: 'roll-up-usage', everyMs: 10_000, run: () => roller.run() },
      { name: 'prune-identity', everyMs: 600_000, run: () => identity.prune() },
      { name: 'sync-datasets', everyMs: 60_000, run: () => datasetSync.syncDue() },
    ],
    { clock, log },
  );

  return {
    server,
    admin,
    get limits() {
      return limits();
    },
    routeReports: routeReports(() => liveCatalog.catalogue, health),
    metrics,
    slots,
    settlements,
    health,
    identity,
    routes,
    async reload(next) {
      await liveCatalog.apply(next, () => slots.prepare(ownSlots(next, parts)));
      health.keepOnly(labelsOf(liveCatalog.catalogue));
      observer.keepOnly(new Set(liveCatalog.catalogue.models.map(({ id }) => id)));
      budgetLimits = memoryLimits(limits(), parent?.workers ?? 1);
    },
    async close(abort) {
      isStopping = true;
      web.stop();
      await drain(server, limits().drainTimeoutMs, clock, abort);
      jobs.close();
      loopDelay.close();
      await datasetSync.close();
      await server.close();
      await tokens.close();
      await parser.close();
      await admin.close();
      await slots.close();
      const settled = accounting.refusals.close().then(() => settlements.drained());
      await within(clock, settleOnCloseMs, settled, undefined);
      await accounting.close();
      await liveCatalog.close();
      await web.close();
      await engines.close();
    },
  };
}

/** Memory matches only the server that it was read from: after a failover with lost commits this process must end. */
async function watchHistory({ database, log, onHistoryChanged }: GatewayParts): Promise<HistoryWatch> {
  const watch = new HistoryWatch(({ message }) => {
    log.error('history_changed', { detail: `${message}: this process ends, and the next one settles again` });
    onHistoryChanged?.();
  });
  await watch.look(database);
  database.checkSerial((sql) => watch.look(sql));
  return watch;
}

function healthLimits({ routing }: Config): HealthLimits {
  return {
    failures: routing.circuitFailures,
    openMs: routing.circuitOpenMs,
    maxOpenMs: routing.maxCircuitOpenMs,
    coolDownMs: routing.coolDownMs,
    maxCoolDownMs: routing.maxCoolDownMs,
  };
}

/** The engines have one owner, the parent; a worker has none. */
function ownSlots(config: Config, { parent }: GatewayParts): SlotsSettings {
  return slotSettings(parent === undefined ? config : { ...config, slots: [], gpus: [] });
}

async function drain(server: Served, limitMs: number, clock: Clock, abort: AbortSignal): Promise<void> {
  const drained = server.drain();
  const cut = (): void => server.abort(new ServerStopping('the server is stopping'));
  const timer = clock.after(limitMs, cut);
  if (abort.aborted) cut();
  abort.addEventListener('abort', cut, { once: true });
  await drained;
  timer.cancel();
  abort.removeEventListener('abort', cut);
}
