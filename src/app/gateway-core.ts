import { hostname } from 'node:os';
import { KeyService } from '../accounts/key-service.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { DrainedCandidates } from '../catalogue/drains.ts';
import type { Config } from '../config/config.ts';
import { ensurePartitions } from '../generations/partitions.ts';
import { CertificateWatch } from '../http/certificate-watch.ts';
import type { RateGate } from '../http/rate-limit.ts';
import type { InheritedSocket } from '../http/serve.ts';
import type { Identity } from '../identity/identity.ts';
import { endSessions, type Session } from '../inference/session.ts';
import type { CallTracer } from '../inference/tracing/call-trace.ts';
import { addTraceMetrics } from '../inference/tracing/metrics.ts';
import { describeError } from '../log/log.ts';
import { MemoryBudget } from '../memory/budget.ts';
import { memoryLimitsBy } from '../memory/limits.ts';
import { LinkedList } from '../memory/linked-list.ts';
import { TokenizerPool } from '../metering/tokenizer-pool.ts';
import { bothObservers, type GatewayObserver } from '../metrics/observers.ts';
import { Registry } from '../metrics/registry.ts';
import { RequestMetrics } from '../metrics/request-metrics.ts';
import { AlarmWatch } from '../operations/alarms.ts';
import { openPayments, type Payments } from '../operations/payment-operations.ts';
import { LiveWindow } from '../pages/console/live-window.ts';
import type { DashboardContext } from '../pages/context.ts';
import type { Pages } from '../pages/pages.ts';
import { labelsOf } from '../routing/health-report.ts';
import type { SlotAcquirer } from '../slots/contract.ts';
import { HistoryWatch } from '../store/history-watch.ts';
import { migrateLogged } from '../store/migrate.ts';
import { type FollowingClock, within } from '../time/clock.ts';
import { Health } from '../upstreams/health.ts';
import { Engines } from '../upstreams/providers.ts';
import { readUptime, writeUptime } from '../upstreams/uptime-file.ts';
import { JsonParser } from '../wire/json-parser.ts';
import { type Accounting, type AccountingParts, openAccounting } from './accounting.ts';
import type { Published } from './apply-changes.ts';
import { LiveCatalog } from './live-catalog.ts';

/** The parts of a gateway; the caller closes the database after it. */
export interface GatewayParts
  extends Pick<AccountingParts, 'config' | 'database' | 'dataDir' | 'log' | 'journal'> {
  /** The version of Naru. */
  readonly version: string;
  readonly clock: FollowingClock;
  readonly lanes: SlotAcquirer;
  readonly rate: RateGate;
  /** Those of this process; the caller closes them after the gateway. */
  readonly pages: Pages;
  readonly identity: Identity;
  /** What the slots do, also where the parent of this process has them. */
  readonly slots: DashboardContext['slots'];
  /**
   * The number of gateways of this server, this one included: they share its memory, and its
   * clients.
   */
  readonly workers: number;
  /** Counts tokens, and is closed by the caller after the gateway; the gateway's own when absent. */
  readonly tokens?: TokenizerPool;
  /** The socket to listen on; null or absent: `config.listen` is opened. */
  readonly socket?: InheritedSocket | null;
  /** Called when an edition was published: read the configuration again and call `reload`. */
  readonly onPublished?: (publication: Published) => void;
  /**
   * Called once when another process took over the identity of the data directory: close the
   * gateway then.
   */
  readonly onSuperseded?: (error: Error) => void;
  /**
   * Called once when the database lost commits that this process saw: the process must be replaced.
   */
  readonly onHistoryChanged?: () => void;
}

/** What a gateway serves requests from: its parts, and what it opened. */
export interface GatewayCore extends GatewayParts {
  readonly liveCatalog: LiveCatalog;
  /** The candidates that get no new requests. */
  readonly drains: DrainedCandidates;
  /** The current ones: a reload may change them. */
  readonly limits: () => Config['limits'];
  readonly engines: Engines;
  readonly registry: Registry;
  readonly requestMetrics: RequestMetrics;
  /** The last minutes, for the console. */
  readonly window: LiveWindow;
  readonly observer: GatewayObserver;
  /** The requests in flight. */
  readonly openSessions: LinkedList<Session>;
  /** Null: calls are not traced. */
  readonly tracer: CallTracer | null;
  /** Null for the embedded database, which has no failover. */
  readonly watch: HistoryWatch | null;
  readonly accounting: Accounting;
  readonly keyService: KeyService;
  readonly certificates: readonly CertificateWatch[];
  readonly alarms: AlarmWatch;
  /** Null: no provider of payments by card is configured. */
  readonly payments: Payments | null;
  readonly tokens: TokenizerPool;
  readonly parser: JsonParser;
  readonly health: Health;
  readonly budget: MemoryBudget;
}

/** How long closing waits until the settlements are in the database; the journal keeps the rest. */
const settleOnCloseMs = 3_000;

/** Opens the core of a gateway; what is to be closed goes to `opened`. */
export async function openCore(parts: GatewayParts, opened: AsyncDisposableStack): Promise<GatewayCore> {
  const { config, database, clock, log, version } = parts;
  const watch = config.database.url === 'embedded' ? null : await watchHistory(parts);
  await migrateLogged(database, log);
  await ensurePartitions(database, clock.now());
  const liveCatalog = await LiveCatalog.open(parts, config);
  opened.defer(() => liveCatalog.close());
  const limits = (): Config['limits'] => liveCatalog.config.limits;
  const engines = new Engines(() => limits().connectTimeoutMs);
  opened.defer(() => engines.close());
  const registry = new Registry();
  const requestMetrics = new RequestMetrics(registry);
  const window = new LiveWindow(clock);
  const observer = bothObservers(requestMetrics, window);
  const debtFloor = (): Config['limits']['debtFloorKrw'] => limits().debtFloorKrw;
  const drains = new DrainedCandidates(database);
  const openSessions = new LinkedList<Session>();
  const endCalls: AccountingParts['endCalls'] = (keyIds) => endSessions(openSessions, keyIds, clock.now());
  await database.place();
  const accounting = await openAccounting({
    ...parts,
    observer,
    watch,
    debtFloor,
    onDrainsChanged: () => drains.refresh(),
    endCalls,
    prices: () => liveCatalog.served,
    describe: () => ({ hostname: hostname(), version, configuration: liveCatalog.configurationHash }),
    takePrices: () => liveCatalog.takePrices(),
  });
  opened.defer(() => closeAccounting(accounting, watch, parts));
  // After the change feed has begun: it reports what is drained later.
  await drains.refresh();
  const tracer = await openTracer(parts, accounting, registry, opened);
  const tokens = parts.tokens ?? openTokens(parts, opened);
  const parser = new JsonParser({ clock, log });
  opened.defer(() => parser.close());
  return {
    ...parts,
    liveCatalog,
    drains,
    limits,
    engines,
    registry,
    requestMetrics,
    window,
    observer,
    openSessions,
    tracer,
    watch,
    accounting,
    keyService: openKeyService(parts, accounting),
    certificates: watchCertificates(parts),
    alarms: await AlarmWatch.open(database),
    payments: openPayments(config, { database, clock }),
    tokens,
    parser,
    health: await openHealth(parts, liveCatalog.catalogue, opened),
    budget: new MemoryBudget(memoryLimitsBy(limits, parts.workers)),
  };
}

/** Of the dashboard and the console. A start does not wait for another server. */
function watchCertificates({ config: { auth, admin }, log }: GatewayParts): readonly CertificateWatch[] {
  const watches = [auth.publicUrl, admin.publicUrl].map((url) => new CertificateWatch(url, log));
  for (const watch of watches) void watch.look();
  return watches;
}

/** The health of the candidates, with the uptime of before a restart. */
async function openHealth(
  { config, dataDir, clock, log, lanes }: GatewayParts,
  catalogue: Catalogue,
  opened: AsyncDisposableStack,
): Promise<Health> {
  const health = new Health(clock, config.routing);
  health.restore(await readUptime(dataDir));
  health.keepOnly(labelsOf(catalogue));
  opened.defer(lanes.watch(({ slot, isReady }) => health.engine(`slot/${slot}`, isReady)));
  opened.defer(() =>
    writeUptime(dataDir, health.kept()).catch((thrown) =>
      log.warn('uptime.not_kept', { error: describeError(thrown) }),
    ),
  );
  return health;
}

function openTokens({ clock, log }: GatewayParts, opened: AsyncDisposableStack): TokenizerPool {
  const tokens = new TokenizerPool({ clock, log });
  opened.defer(() => tokens.close());
  return tokens;
}

function openKeyService({ config, database, clock }: GatewayParts, { keys }: Accounting): KeyService {
  const { prefix: keyPrefix, maxPerAccount } = config.keys;
  return new KeyService({ database, cache: keys, clock, keyPrefix, maxPerAccount });
}

/** The library is loaded only where calls are traced. */
async function openTracer(
  { config, clock, log }: GatewayParts,
  { nodes }: Accounting,
  registry: Registry,
  opened: AsyncDisposableStack,
): Promise<CallTracer | null> {
  if (config.tracing === null) return null;
  const { Tracer } = await import('../inference/tracing/tracer.ts');
  const tracer = new Tracer({ config: config.tracing, instanceId: `node ${nodes.id}`, clock, log });
  opened.defer(() => tracer.close());
  addTraceMetrics(registry, tracer);
  return tracer;
}

/** After a failover only the next process can settle what the journal has. */
async function closeAccounting(
  accounting: Accounting,
  watch: HistoryWatch | null,
  { clock }: GatewayParts,
): Promise<void> {
  if (watch?.hasChanged !== true) {
    const settled = accounting.refusals.close().then(() => accounting.settlements.drained());
    await within(clock, settleOnCloseMs, settled, undefined);
  }
  await accounting.close();
}

/**
 * Memory matches only the server that it was read from: after a failover with lost commits this
 * process must end.
 */
async function watchHistory({ database, log, onHistoryChanged }: GatewayParts): Promise<HistoryWatch> {
  const watch = new HistoryWatch(({ message }) => {
    log.error('history_changed', { detail: `${message}: this process ends, and the next one settles again` });
    onHistoryChanged?.();
  });
  await watch.look(database);
  database.checkSerial((sql) => watch.look(sql));
  return watch;
}
