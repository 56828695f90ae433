import { join } from 'node:path';
import { AccountBook } from './accounts/account-book.ts';
import { publishCatalogue } from './catalogue/catalogue.ts';
import type { Config } from './config/config.ts';
import { DatasetSync } from './datasets/sync.ts';
import { openaiDialect } from './dialects/openai/index.ts';
import { ServerStopping } from './errors/given-up.ts';
import { readGeneration } from './generations/generations.ts';
import { ensurePartitions } from './generations/partitions.ts';
import { ClientAddresses } from './http/client-ip.ts';
import { dispatch } from './http/dispatch.ts';
import { type Gauge, Metrics } from './http/metrics.ts';
import { RateLimit } from './http/rate-limit.ts';
import type { AnyRoute } from './http/route.ts';
import { type Served, serve } from './http/serve.ts';
import { type AdminServer, serveAdmin } from './http/serve-admin.ts';
import { RouteTable } from './http/table.ts';
import { JobRunner } from './jobs/jobs.ts';
import { KeyDesk } from './keys/key-desk.ts';
import { KeyRing } from './keys/key-ring.ts';
import { expireCredit } from './ledger/credit.ts';
import { Settlements } from './ledger/settlements.ts';
import { describeError, type Log } from './log/log.ts';
import { krwOfMicro } from './money/krw.ts';
import { ChangeFeed } from './nodes/change-feed.ts';
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
import { createSlots, type Slots } from './slots/slots.ts';
import type { Database } from './store/database.ts';
import { Journal } from './store/journal/journal.ts';
import type { JournalEvent } from './store/journal/unavailable.ts';
import { knownMigrations, migrate } from './store/migrate.ts';
import type { SettlementResult, SettlementRow } from './store/settlement.ts';
import type { Clock } from './time/clock.ts';
import { Health } from './upstreams/health.ts';
import { Engines, openProvider } from './upstreams/providers.ts';

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
  const { config, database, clock, log } = parts;
  const { limits } = config;
  const migrated = await migrate(database);
  if (migrated.length > 0) log.info('migrated', { steps: migrated.join(', ') });
  await ensurePartitions(database, clock.now());
  const catalogue = await publishCatalogue(config, database, clock.now());

  const accounts = new AccountBook(database);
  const keys = new KeyRing(database, clock);
  const journal = await Journal.open({
    dir: join(parts.dataDir, 'journal'),
    clock,
    report: (event) => reportJournal(log, event),
  });
  const onCommitted = (rows: readonly SettlementRow[], result: SettlementResult): void =>
    takeCommitted({ accounts, keys }, rows, result);
  const settlements = new Settlements({
    database,
    journal,
    ack: config.settlement.ack,
    clock,
    log,
    onCommitted,
    onQuarantined: (row) => giveBack({ accounts, keys }, row),
  });
  const recovered = await settlements.recover();
  if (recovered.finals + recovered.orphans > 0) log.info('recovered', recovered);

  const feed = await ChangeFeed.start({
    address: database.address,
    clock,
    log,
    onChange: ({ topic, subject }) =>
      topic === 'account' ? accounts.refresh(subject) : keys.refresh(subject),
  });
  const slots = await createSlots({
    settings: config.slots,
    clock,
    log,
    dataDir: parts.dataDir,
    coldWaitMs: limits.coldWaitMs,
    processes: parts.processes,
  });
  const providers = new Map(config.providers.map((row) => [row.slug, openProvider(row)]));
  const engines = new Engines(limits.connectTimeoutMs);
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
      catalogue: () => catalogue,
      chain: {
        clock,
        health,
        budgetMs: limits.upstreamTimeoutMs,
        callers: {
          provider: (slug) => providerOf(providers, slug),
          engine: (baseUrl) => engines.at(baseUrl),
          slots,
          engineDialect: openaiDialect,
          clock,
          log,
          streamIdleTimeoutMs: limits.streamIdleTimeoutMs,
          totalTimeoutMs: limits.totalTimeoutMs,
        },
      },
      clock,
      debtFloor: limits.debtFloorKrw,
      maxBodyBytes: limits.bodyBytes,
      keepAliveMs: limits.keepAliveCommentMs,
      streamIdleTimeoutMs: limits.streamIdleTimeoutMs,
    }),
    ...keyRoutes({ desk, accounts, maxBodyBytes: limits.bodyBytes }),
    ...accountRoutes({ accounts, clock }),
    ...datasetRoutes({ database, clock, samples: samples && syncKey === null }),
    ...generationRoutes({
      settlements,
      readGeneration: (accountId, uuid) => readGeneration(database, accountId, uuid),
    }),
    ...modelRoutes({ catalogue: () => catalogue, health, clock }),
    ...providerRoutes(config),
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
          ? new RateLimit({ perSecond: limits.requestsPerSecond, burst: limits.burst }, clock)
          : null,
      maxBodyBytes: limits.bodyBytes,
      metrics,
      clock,
      log,
    },
    config.listen,
  );
  const admin = await openAdmin(
    () => metrics.text(gauges(server, settlements, journal, slots)),
    config.admin,
  );
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

  return {
    server,
    admin,
    slots,
    settlements,
    routes,
    async close(hurry) {
      await drain(server, limits.drainTimeoutMs, clock, hurry);
      jobs.close();
      await datasetSync.close();
      await server.close();
      await admin.close();
      await slots.close();
      await within(clock, settleOnCloseMs, settlements.drained(), undefined);
      await feed.close();
      await settlements.close();
      await Promise.all([...providers.values()].map((provider) => provider.close()));
      await engines.close();
    },
  };
}

/** What the database has committed leaves what was pending, in the same turn, so that no reader sees a charge twice or not at all. */
function takeCommitted(
  { accounts, keys }: { readonly accounts: AccountBook; readonly keys: KeyRing },
  rows: readonly SettlementRow[],
  result: SettlementResult,
): void {
  accounts.update(result.balances);
  for (const row of rows) {
    const cost = krwOfMicro(row.cost);
    accounts.peek(row.accountId)?.uncharge(cost);
    const key = keys.peekId(row.keyId);
    if (key === undefined) continue;
    if (!result.replayed.has(row.uuid)) key.committed(row.day, cost);
    else {
      // An earlier attempt whose answer was lost had moved it: how much the key has spent is read again.
      key.uncharge(row.day, cost);
      keys.doubt(row.keyId);
    }
  }
}

/** Takes back what was charged in memory for a row that the database will never take. */
function giveBack(
  { accounts, keys }: { readonly accounts: AccountBook; readonly keys: KeyRing },
  row: SettlementRow,
): void {
  const cost = krwOfMicro(row.cost);
  accounts.peek(row.accountId)?.uncharge(cost);
  keys.peekId(row.keyId)?.uncharge(row.day, cost);
}

function reportJournal(log: Log, event: JournalEvent): void {
  const { kind } = event;
  const detail = 'error' in event && event.error !== undefined ? describeError(event.error) : null;
  const segment = 'segment' in event ? event.segment : null;
  // A torn end is what every crash leaves; everything else wants a person.
  if (kind === 'torn' || kind === 'unblocked') log.info('journal', { kind, segment });
  else log.error('journal', { kind, segment, detail });
}

function providerOf<T>(providers: ReadonlyMap<string, T>, slug: string): T {
  const provider = providers.get(slug);
  if (provider === undefined) throw new Error(`no provider ${slug}: the configuration was checked`);
  return provider;
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

function gauges(server: Served, settlements: Settlements, journal: Journal, slots: Slots): readonly Gauge[] {
  const stats = journal.stats();
  const all = slots.statuses();
  return [
    {
      name: 'naru_requests_in_flight',
      help: 'Requests whose response is not complete.',
      value: server.inFlight(),
    },
    {
      name: 'naru_settlement_backlog',
      help: 'Settlements that are durable and not yet in the database.',
      value: settlements.backlog,
    },
    { name: 'naru_journal_bytes', help: 'Bytes of journal segments.', value: stats.bytes },
    { name: 'naru_journal_syncs', help: 'Group syncs of the journal.', value: stats.syncs },
    ...all.map((slot) => ({
      name: 'naru_slot_in_flight',
      help: 'Requests that an engine works on.',
      labels: { slot: slot.name },
      value: slot.inFlight,
    })),
    ...all.map((slot) => ({
      name: 'naru_slot_queued',
      help: 'Requests that wait for an engine.',
      labels: { slot: slot.name },
      value: slot.queued,
    })),
    ...all.map((slot) => ({
      name: 'naru_slot_starts',
      help: 'Starts of an engine, failed ones included.',
      labels: { slot: slot.name },
      value: slot.starts,
    })),
  ];
}
