import { BearerHashes } from '../../src/accounts/authenticate.ts';
import { accountRoutes } from '../../src/api/account.ts';
import { dispatch } from '../../src/api/dispatch.ts';
import { generationRoutes } from '../../src/api/generation.ts';
import { inferenceRoutes } from '../../src/api/inference.ts';
import { type Accounting, openAccounting } from '../../src/app/accounting.ts';
import { JobRunner } from '../../src/app/job-runner.ts';
import { PricedCatalogue } from '../../src/catalogue/edition.ts';
import { noDrains } from '../../src/catalogue/model.ts';
import { ifAlone } from '../../src/catalogue/own-publication.ts';
import { publishPrices } from '../../src/catalogue/publish.ts';
import type { Config } from '../../src/config/config.ts';
import { openaiDialect } from '../../src/dialects/openai/index.ts';
import { ClientDisconnected, ServerStopping } from '../../src/errors/request-aborted.ts';
import { findGeneration } from '../../src/generations/generations-sql.ts';
import type { Exchange } from '../../src/http/exchange.ts';
import { RateLimit } from '../../src/http/rate-limit.ts';
import { RouteTable } from '../../src/http/route-table.ts';
import { CompletionSizes } from '../../src/inference/estimate.ts';
import { expireDueCredit } from '../../src/ledger/credit.ts';
import { type Log, type LogFields, silentLog } from '../../src/log/log.ts';
import { LinkedList } from '../../src/memory/linked-list.ts';
import { Registry } from '../../src/metrics/registry.ts';
import { RequestMetrics } from '../../src/metrics/request-metrics.ts';
import { beatEveryMs } from '../../src/nodes/node-registry.ts';
import type { Slots } from '../../src/slots/slots.ts';
import { Database } from '../../src/store/database.ts';
import { DatabaseClock } from '../../src/store/database-clock.ts';
import { Health } from '../../src/upstreams/health.ts';
import type { Provider } from '../../src/upstreams/providers.ts';
import type { Reply } from '../../src/wire/reply.ts';
import type { MachineDisk } from './memory-disk.ts';
import { MemoryWatch } from './memory-watch.ts';
import type { Link, SimServer } from './network.ts';
import type { Forgetting } from './plan.ts';
import type { SimProcess } from './process.ts';
import type { Arrival, Queue } from './queue.ts';

/** What a gateway is simulated with. */
export interface SimGatewayParts {
  readonly process: SimProcess;
  readonly config: Config;
  readonly server: SimServer;
  readonly link: Link;
  readonly disk: MachineDisk;
  readonly home: string;
  readonly provider: (slug: string) => Provider;
  /** How the cache evicts; null: it evicts nothing. */
  readonly forgetting: Forgetting | null;
  /** Where waiting requests are recorded. */
  readonly queue: Queue;
  /** A request is about to be counted. */
  readonly onAdmit: (arrival: Arrival, accounting: Accounting) => void;
  readonly onMemory: MemoryWatch['met'];
  readonly onLog: (event: string, fields: LogFields) => void;
  readonly onSync: (when: 'before' | 'after') => void;
}

/**
 * One life of a gateway: its rooms as the roof builds them, but for sockets and slots.
 */
export interface SimGateway {
  readonly accounting: Accounting;
  response(exchange: Exchange): Promise<Reply>;
  /** As after SIGHUP: another file. Rejects without the database. */
  reload(config: Config): Promise<void>;
  /** Gives requests in flight `drainMs`, then stops as a gateway stops. */
  close(drainMs: number): Promise<void>;
}

const segmentBytes = 24 * 1024;

/** Starts a gateway; rejects when the database or the journal cannot be had, as a start would. */
export async function startSimGateway(parts: SimGatewayParts): Promise<SimGateway> {
  const { process, config, server, link, disk } = parts;
  const log = logTo(parts.onLog);
  const database = new Database({}, 8, null, server.meansOf(process, link));
  const clock = await DatabaseClock.open(database, process.clock);
  clock.follow(log);
  const observer = new RequestMetrics(new Registry());
  const publishOwn = async (own: Config): Promise<void> => {
    const permit = ifAlone(new Set([parts.home]));
    await publishPrices(database, own, { atMs: clock.now(), announce: 'edition', permit });
  };
  await publishOwn(config);
  const priced = await PricedCatalogue.open(database, config);
  const accounting = await openAccounting({
    config,
    observer,
    database,
    dataDir: '/data',
    clock,
    log,
    debtFloor: () => config.limits.debtFloorKrw,
    home: parts.home,
    prices: () => priced.served,
    takePrices: () => priced.takePrices(),
    // The command has changed this file, too.
    onPublished: () => void clock.after(300, () => void priced.apply(priced.config).catch(() => {})),
    ...(parts.forgetting && { cacheCapacity: parts.forgetting.kept }),
    journal: {
      disk: disk.for(() => process.isAlive, { onSync: parts.onSync }),
      atTurnEnd: (task) => void clock.after(0, task),
      segmentBytes,
      maxBytes: 64 * segmentBytes,
    },
  });
  const { accounts, keys, settlements, feed, nodes, leases: shares } = accounting;
  const memory = new MemoryWatch(accounting, parts.onMemory);
  const health = new Health(clock, config.routing);
  /** A reservation that the witnesses of the world see wait and be counted. */
  const openReservation: typeof accounting.openReservation = (account, key) => {
    const reservation = accounting.openReservation(account, key);
    const reserve = reservation.reserve.bind(reservation);
    const count = reservation.count.bind(reservation);
    let arrival: Arrival;
    reservation.count = () => {
      parts.onAdmit(arrival, accounting);
      parts.queue.admit(arrival);
      memory.onAdmit(reservation);
      count();
    };
    reservation.reserve = (amount, wait) => {
      arrival = parts.queue.arrive(process, reservation);
      const waiting = reserve(amount, wait);
      if (waiting !== undefined) parts.queue.wait(arrival, waiting);
      waiting?.then(
        () => parts.onMemory('a request waited in the queue and was admitted'),
        (error) =>
          error instanceof ClientDisconnected &&
          parts.onMemory('a client disconnected while its request was queued'),
      );
      return waiting;
    };
    return reservation;
  };
  const routes = inferenceRoutes({
    accounts,
    settlements,
    catalogue: () => priced.catalogue,
    drains: noDrains,
    chain: {
      clock,
      health,
      limits: () => config.limits,
      targets: {
        provider: parts.provider,
        engine: () => {
          throw new Error('no engines are simulated');
        },
        slots: {} as Slots,
        slotKey: () => null,
        engineDialect: openaiDialect,
        clock,
        log: silentLog,
        limits: () => config.limits,
      },
    },
    clock,
    observer,
    tracer: null,
    spendLimits: accounting.spendLimits,
    openReservation,
    openSessions: new LinkedList(),
    sizes: new CompletionSizes(),
    refusals: accounting.refusals,
    rate: new RateLimit(() => ({ perSecond: 1, burst: 1 }), clock),
    count: async (texts) => [...texts].join(' ').split(' ').filter(Boolean).length,
  });
  const reading = [
    ...accountRoutes({
      accounts,
      clock,
      current: async (key) => {
        if (!nodes.isAlone) await keys.refresh(key.row.id);
        return key;
      },
    }),
    ...generationRoutes({
      settlements,
      refusals: accounting.refusals,
      readRefusal: async () => null,
      readGeneration: (accountId, uuid) => findGeneration(database, accountId, uuid),
    }),
  ];
  const table = new RouteTable([...routes, ...reading]);
  const hashes = new BearerHashes(config.keys.prefix);
  const dispatching = {
    table,
    keys,
    accounts,
    clock,
    hashes,
    waits: accounting.waits,
    fresh: () => feed.fresh(),
  };
  const jobs = new JobRunner(
    [
      { name: 'renew-journal', everyMs: 1_000, run: () => settlements.renew(4 * segmentBytes) },
      { name: 'beat', everyMs: beatEveryMs, run: () => nodes.beat() },
      { name: 'give-back-shares', everyMs: 1_000, run: () => shares.releaseIdle() },
      { name: 'forget-lost-nodes', everyMs: 60_000, run: () => nodes.forgetLost() },
      { name: 'refresh-doubtful-keys', everyMs: 1_000, run: () => keys.refreshStale() },
      { name: 'expire-credit', everyMs: 1_000, run: () => expireDueCredit(database) },
      ...(parts.forgetting === null
        ? []
        : [
            {
              name: 'forget-idle',
              everyMs: parts.forgetting.everyMs,
              run: async () => memory.proc(() => accounting.evictIdle()),
            },
          ]),
    ],
    { clock, log },
  );
  const inFlight = new Map<Exchange, Promise<unknown>>();
  let closing = false;
  return {
    accounting,
    response(exchange) {
      if (closing) throw new Error('connection refused');
      const reply = responseOf(dispatch(dispatching, exchange), () => inFlight.delete(exchange));
      inFlight.set(exchange, reply);
      return reply;
    },
    async reload(next) {
      await publishOwn(next);
      await priced.apply(next);
      health.keepOnly(
        new Set(priced.catalogue.models.flatMap((model) => model.candidates.map(({ label }) => label))),
      );
    },
    async close(drainMs) {
      closing = true;
      const endMs = clock.monotonic() + drainMs;
      while (inFlight.size > 0 && clock.monotonic() < endMs) await wait(50);
      for (const exchange of inFlight.keys()) exchange.leave(new ServerStopping('the server is stopping'));
      while (inFlight.size > 0) await wait(10);
      jobs.close();
      clock.close();
      const settled = accounting.refusals.close().then(() => settlements.drained());
      await Promise.race([settled, wait(3_000)]);
      await accounting.close();
      await database.close();
    },
  };

  function wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => clock.after(delayMs, resolve));
  }
}

/** The result of a request; `over` once its response is completely written, too. */
async function responseOf(response: ReturnType<typeof dispatch>, over: () => void): Promise<Reply> {
  let reply: Awaited<typeof response>;
  try {
    reply = await response;
  } catch (error) {
    over();
    throw error;
  }
  if ('allow' in reply) throw new Error('the method is not allowed');
  if (!('stream' in reply)) {
    over();
    return reply;
  }
  return { headers: reply.headers, stream: (sink) => reply.stream(sink).finally(over) };
}

function logTo(onLog: SimGatewayParts['onLog']): Log {
  const log = (event: string, fields: LogFields = {}): void => onLog(event, fields);
  return { debug: log, info: log, warn: log, error: log };
}
