import { openBooks } from './books.ts';
import type { Config } from './config/config.ts';
import { DatasetSync } from './datasets/sync.ts';
import { openaiDialect } from './dialects/openai/index.ts';
import { ServerStopping } from './errors/given-up.ts';
import { gauges } from './gateway-gauges.ts';
import { readGeneration } from './generations/generations.ts';
import { ensurePartitions } from './generations/partitions.ts';
import { ClientAddresses } from './http/client-ip.ts';
import { dispatch } from './http/dispatch.ts';
import { Metrics } from './http/metrics.ts';
import { RateLimit } from './http/rate-limit.ts';
import type { AnyRoute } from './http/route.ts';
import { type Served, serve } from './http/serve.ts';
import { type AdminServer, serveAdmin } from './http/serve-admin.ts';
import { RouteTable } from './http/table.ts';
import { JobRunner } from './jobs/jobs.ts';
import { KeyDesk } from './keys/key-desk.ts';
import { expireCredit } from './ledger/credit.ts';
import type { Settlements } from './ledger/settlements.ts';
import type { Log } from './log/log.ts';
import { Offer } from './offer.ts';
import { accountRoutes } from './routes/account.ts';
import { datasetRoutes } from './routes/datasets.ts';
import { documentationRoutes } from './routes/documentation.ts';
import { generationRoutes } from './routes/generation.ts';
import { inferenceRoutes } from './routes/inference.ts';
import { keyRoutes } from './routes/keys.ts';
import { modelRoutes } from './routes/models.ts';
import { probeRoutes, type Readiness } from './routes/probes.ts';
import { providerRoutes } from './routes/providers.ts';
import type { Processes } from './slots/processes.ts';
import { createSlots, type Slots, type SlotsSettings } from './slots/slots.ts';
import type { Database } from './store/database.ts';
import { knownMigrations, migrate } from './store/migrate.ts';
import type { Clock } from './time/clock.ts';
import { Health } from './upstreams/health.ts';
import { Engines } from './upstreams/providers.ts';

/** What a gateway is made of. */
export interface GatewayParts {
  readonly config: Config;
  /** Open; closed by whoever opened it, after the gateway. */
  readonly database: Database;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly processes: Processes;
}

/** A gateway that serves. */
export interface Gateway {
  readonly server: Served;
  readonly admin: AdminServer;
  readonly slots: Slots;
  readonly settlements: Settlements;
  /** Every endpoint there is. */
  readonly routes: readonly AnyRoute[];
  /** Offers what another configuration says; throws when that takes a restart, and then changes nothing (decisions.md §5). */
  reload(config: Config): Promise<void>;
  /**
   * Takes no more connections and lets the requests in flight end, for at most `drainTimeoutMs`; whatever is left then, or when
   * `hurry` aborts, ends with an error. Everything settled is in the database or the journal afterwards.
   */
  close(hurry: AbortSignal): Promise<void>;
}

/** How long a probe waits for the database: a load balancer wants an answer, not patience. */
const readinessMs = 1_000;
/** How long closing waits for the database to take what is settled; the journal keeps the rest. */
const settleOnCloseMs = 3_000;
const usualAdminPort = 8788;
/** The version of the API's document; the paths have their own (service.md §9). */
const apiVersion = '1.0.0';

/** Builds every room once and starts to serve. Throws when the database, the journal or an address cannot be had. */
export async function startGateway(parts: GatewayParts): Promise<Gateway> {
  const opened: (() => Promise<void>)[] = [];
  try {
    return await start(parts, (close) => opened.unshift(close));
  } catch (error) {
    for (const close of opened) await close();
    throw error;
  }
}

/** `onFailure` takes how to close what was opened, should anything after it fail. */
async function start(parts: GatewayParts, onFailure: (close: () => Promise<void>) => void): Promise<Gateway> {
  const { config, database, clock, log } = parts;
  const migrated = await migrate(database);
  if (migrated.length > 0) log.info('migrated', { steps: migrated.join(', ') });
  await ensurePartitions(database, clock.now());
  const offer = await Offer.open(database, clock, config);
  /** Those of the moment: a reload may change them. */
  const limits = (): Config['limits'] => offer.config.limits;
  onFailure(() => offer.close());
  const books = await openBooks(parts);
  onFailure(() => books.close());
  const { accounts, keys, settlements, feed } = books;
  const slots = await createSlots({
    settings: slotsOf(config),
    clock,
    log,
    dataDir: parts.dataDir,
    processes: parts.processes,
  });
  onFailure(() => slots.close());
  const engines = new Engines(() => limits().connectTimeoutMs);
  const health = new Health(clock);

  const desk = new KeyDesk({ database, ring: keys, clock, keyPrefix: config.keys.prefix });
  const { samples, syncKey } = config.datasets;
  const datasetSync = new DatasetSync({ settings: config.datasets, database, clock, log });
  const readiness = async (): Promise<Readiness> => {
    const away: Readiness = { ready: false, reason: 'the database does not answer' };
    if (!feed.isFresh) return away;
    const asked = database.query<{ n: bigint }>('SELECT count(*) AS n FROM schema_migration').then(
      ([row]): Readiness =>
        row?.n === BigInt(knownMigrations())
          ? { ready: true }
          : { ready: false, reason: 'the schema is not current' },
      () => away,
    );
    return within(clock, readinessMs, asked, away);
  };
  const routes: readonly AnyRoute[] = [
    ...inferenceRoutes({
      accounts,
      settlements,
      catalogue: () => offer.catalogue,
      chain: {
        clock,
        health,
        get budgetMs() {
          return limits().upstreamTimeoutMs;
        },
        callers: {
          provider: (slug) => offer.provider(slug),
          engine: (baseUrl) => engines.at(baseUrl),
          slots,
          engineDialect: openaiDialect,
          clock,
          log,
          get streamIdleTimeoutMs() {
            return limits().streamIdleTimeoutMs;
          },
          get totalTimeoutMs() {
            return limits().totalTimeoutMs;
          },
        },
      },
      clock,
      get debtFloor() {
        return limits().debtFloorKrw;
      },
      get maxBodyBytes() {
        return limits().bodyBytes;
      },
      get keepAliveMs() {
        return limits().keepAliveCommentMs;
      },
      get streamIdleTimeoutMs() {
        return limits().streamIdleTimeoutMs;
      },
    }),
    ...keyRoutes({ desk, accounts, maxBodyBytes: () => limits().bodyBytes }),
    ...accountRoutes({ accounts, clock }),
    ...datasetRoutes({ database, clock, samples: samples && syncKey === null }),
    ...generationRoutes({
      settlements,
      readGeneration: (accountId, uuid) => readGeneration(database, accountId, uuid),
    }),
    ...modelRoutes({ catalogue: () => offer.catalogue, health, clock }),
    ...providerRoutes(() => offer.config),
    ...probeRoutes(readiness),
    ...documentationRoutes(() => routes, apiVersion),
  ];
  const metrics = new Metrics();
  const table = new RouteTable(routes);
  const dispatching = {
    table,
    keys,
    accounts,
    clock,
    keyPrefix: config.keys.prefix,
    fresh: () => feed.fresh(),
  };
  const server = await serve(
    {
      answer: (exchange) => dispatch(dispatching, exchange),
      addresses: new ClientAddresses(config.edge.trustedProxies),
      rateLimit:
        config.edge.rateLimit === 'builtin'
          ? new RateLimit(() => ({ perSecond: limits().requestsPerSecond, burst: limits().burst }), clock)
          : null,
      get maxBodyBytes() {
        return limits().bodyBytes;
      },
      get clientStallMs() {
        return limits().streamIdleTimeoutMs;
      },
      metrics,
      clock,
      log,
    },
    config.listen,
  );
  onFailure(() => server.close());
  const admin = await openAdmin(() => metrics.text(gauges(server, books, slots)), config.admin);
  const jobs = new JobRunner(
    [
      { name: 'renew-open-requests', everyMs: 5_000, run: () => settlements.renewOpen() },
      { name: 'refresh-doubtful-keys', everyMs: 250, run: () => keys.refreshDoubtful() },
      { name: 'expire-credit', everyMs: 1_000, run: (nowMs) => expireCredit(database, nowMs) },
      { name: 'ensure-partitions', everyMs: 3_600_000, run: (nowMs) => ensurePartitions(database, nowMs) },
      { name: 'sync-datasets', everyMs: 60_000, run: () => datasetSync.syncDue() },
    ],
    { clock, log },
  );

  let reloaded = Promise.resolve();
  return {
    server,
    admin,
    slots,
    settlements,
    routes,
    reload(next) {
      // One after the other: each begins where the one before it ended, well or not.
      reloaded = reloaded.catch(() => {}).then(() => offer.change(next, () => slots.prepare(slotsOf(next))));
      return reloaded;
    },
    async close(hurry) {
      await drain(server, limits().drainTimeoutMs, clock, hurry);
      jobs.close();
      await datasetSync.close();
      await server.close();
      await admin.close();
      await slots.close();
      await within(clock, settleOnCloseMs, settlements.drained(), undefined);
      await books.close();
      await offer.close();
      await engines.close();
    },
  };
}

function slotsOf({ slots, gpus, limits }: Config): SlotsSettings {
  return {
    slots,
    gpus: new Map(gpus.map(({ id, vramMb }) => [id, vramMb])),
    coldWaitMs: limits.coldWaitMs,
    drainMs: limits.drainTimeoutMs,
  };
}

async function drain(server: Served, limitMs: number, clock: Clock, hurry: AbortSignal): Promise<void> {
  const drained = server.drain();
  const cut = (): void => server.abort(new ServerStopping('the server is stopping'));
  const timer = clock.after(limitMs, cut);
  if (hurry.aborted) cut();
  hurry.addEventListener('abort', cut, { once: true });
  await drained;
  timer.cancel();
  hurry.removeEventListener('abort', cut);
}

/** What the work resolves with, or `otherwise` when that takes longer. */
async function within<T>(clock: Clock, limitMs: number, work: Promise<T>, otherwise: T): Promise<T> {
  const late = Promise.withResolvers<T>();
  const timer = clock.after(limitMs, () => late.resolve(otherwise));
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    timer.cancel();
  }
}

/** The usual admin port is nobody's wish: when another gateway of this machine has it, any other does. */
async function openAdmin(metrics: () => string, address: Config['admin']): Promise<AdminServer> {
  try {
    return await serveAdmin(metrics, address);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EADDRINUSE' || address.port !== usualAdminPort) throw error;
    return serveAdmin(metrics, { ...address, port: 0 });
  }
}
