import type { Config } from '../../config/config.ts';
import { serveControl } from '../../control/serve.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import { RateLimit } from '../../http/rate-limit.ts';
import { createLog, type Log, type LogSink } from '../../log/log.ts';
import { createOperatorService } from '../../operations/operator-service.ts';
import type { DataDirLock } from '../../postgres/data-dir-lock.ts';
import { createProcesses } from '../../slots/drivers/processes.ts';
import { createSlots, type Slots } from '../../slots/slots.ts';
import type { Database } from '../../store/database.ts';
import { migrate } from '../../store/migrate.ts';
import { systemClock } from '../../time/clock.ts';
import { openAdmin } from '../admin-server.ts';
import { slotSettings } from '../build-slots.ts';
import { ConfigReloader } from '../config-reloader.ts';
import { controlRoutes } from '../control-routes.ts';
import { guardAgainstCrash } from '../crash-guard.ts';
import { openOwnDatabase, warnOfUnsafeServer } from '../database.ts';
import { createDemoAccount } from '../demo-account.ts';
import { openIdentity } from '../identity.ts';
import { settleAbandonedDirs, workerDirs } from '../journal-recovery.ts';
import { freePort } from '../listen-address.ts';
import { measureProcess } from '../metrics/process-metrics.ts';
import { labelled, Registry, readRegistry } from '../metrics/registry.ts';
import { SlotMetrics } from '../metrics/slot-metrics.ts';
import { openPages } from '../pages.ts';
import type { ProcessContext } from '../process-context.ts';
import { shutdownMessage } from '../shutdown-message.ts';
import { urlOf, welcome, welcomeRow } from '../startup-banner.ts';
import { addTeamMetrics, teamRouteReports, workerPages } from './admin-pages.ts';
import { encodeConfig } from './config-codec.ts';
import { serveRateLimit } from './remote-rate-limit.ts';
import { serveSlots } from './remote-slots.ts';
import { WorkerSupervisor } from './supervisor.ts';
import { workerDir } from './worker-dir.ts';

/** The parts of `naru up`. */
export interface Serving {
  readonly config: Config;
  /** Reads the configuration again; throws an `OperatorError` that lists its faults. */
  readonly readAgain: () => Config;
  readonly dataDir: string;
  readonly lock: DataDirLock;
  readonly logLine: (line: string) => void;
  readonly proc: ProcessContext;
  readonly json: boolean;
}

/** The parts of `naru up --workers N`. */
export interface TeamServing extends Serving {
  readonly size: number;
  /** Folders for a control socket that cannot be in the data directory. */
  readonly roots: readonly string[];
  readonly sink: LogSink;
  /** Writes the buffered log lines. */
  readonly flush: () => void;
  readonly note: string | null;
  /** Closes the log. */
  readonly close: () => void;
}

/** The embedded database accepts 100 connections; the parent, commands and the server itself need some. */
const connectionsForWorkers = 80;
/** Beside its pool a worker has a serial connection and a change feed. */
const furtherConnections = 2;
const defaultPoolSize = 8;
const minPoolSize = 3;
/** How long a backup waits until the settlements are in the database. */
const settleWithinMs = 55_000;

/**
 * Serves with several processes that share the port (docs/decisions/workers.md). This one owns the data directory, the embedded
 * database, the engines, the control socket, the admin port and the rate limit; it serves no requests itself. Resolves with the
 * exit code.
 */
export async function serveWithWorkers(serving: TeamServing): Promise<number> {
  const { dataDir, logLine, proc, size, sink, flush, close: closeLog } = serving;
  const poolSize = poolFor(serving.config, size);
  const abort = new AbortController();
  const stop = Promise.withResolvers<void>();
  let exitCode = 0;
  let asked = 0;
  const forget = proc.onStop(() => {
    asked += 1;
    if (asked === 1) stop.resolve();
    else abort.abort();
  });
  const log = createLog(sink, serving.config.log.level, systemClock.now);
  const reloading = new ConfigReloader((next: () => Promise<void>, atStart) =>
    reload(next, logLine, atStart),
  );
  const own: { config: Config; database: Database | null; slots: Slots | null } = {
    config: serving.config,
    database: null,
    slots: null,
  };
  /** The current ones: a reload may change them. */
  const limits = (): Config['limits'] => own.config.limits;
  const rate = new RateLimit(
    () => ({ perSecond: limits().requestsPerSecond, burst: limits().burst }),
    systemClock,
  );
  // The workers load the program while the database starts.
  const team = new WorkerSupervisor({
    size,
    fork: proc.forkWorker,
    clock: systemClock,
    order: (worker) => ({
      worker,
      config: encodeConfig(own.config),
      database: opened(own.database).address,
      workers: size,
      poolSize,
      home: workerDir(dataDir, worker),
    }),
    onWorkerStarted: (link) => {
      link.handle({
        log: (text) => {
          for (const line of text.split(/(?<=\n)/)) sink(line);
        },
        published: () => reloading.ask(),
        superseded(message) {
          if (exitCode === 0) logLine(message);
          exitCode = 1;
          stop.resolve();
        },
      });
      serveRateLimit(rate, link);
      return serveSlots({ acquire: async (...order) => opened(own.slots).acquire(...order) }, link);
    },
  });
  const guard = guardAgainstCrash({
    proc,
    clock: systemClock,
    log,
    flush,
    drainMs: () => limits().crashDrainTimeoutMs,
    stop: stop.resolve,
    cut: () => abort.abort(),
  });
  const closing = new AsyncDisposableStack();
  try {
    own.config = await withPort(serving.config);
    const { database, close } = await openOwnDatabase(own.config, dataDir, proc, logLine);
    closing.defer(close);
    own.database = database;
    await prepare(serving, database, log);
    await warnOfUnsafeServer(own.config, database, log, logLine);
    const registry = new Registry();
    const processMetrics = measureProcess();
    const slotMetrics = new SlotMetrics(registry);
    const slots = await createSlots({
      settings: slotSettings(own.config),
      clock: systemClock,
      log,
      dataDir,
      processes: createProcesses(proc.kill),
      observer: slotMetrics,
    });
    closing.defer(() => slots.close());
    own.slots = slots;
    const port = await Promise.race([team.serve(log), stop.promise]);
    if (port === undefined) return guard.exitCode();
    slotMetrics.show(() => slots.statuses());
    addTeamMetrics(registry, team);
    const metrics = async () => [
      ...(await readRegistry(registry)),
      ...labelled(await processMetrics(), 'worker', 'parent'),
    ];
    const identity = openIdentity(database, systemClock, own.config);
    const web = openPages({ database, clock: systemClock, log, sessions: identity });
    closing.defer(() => web.close());
    const admin = await openAdmin(
      { pages: workerPages(team, metrics), app: web.console({}), clock: systemClock, log },
      own.config.admin,
    );
    closing.defer(() => admin.close());
    closing.defer(async () => web.stop());
    const control = await serveControl({
      dataDir,
      roots: serving.roots,
      respond: controlRoutes({
        slots,
        settlements: { caughtUp: () => caughtUp(team, size), backlog: () => backlogOf(team) },
        routes: teamRouteReports(team),
      }),
      log,
    });
    if (control !== null) closing.defer(() => control.close());
    await announce(serving, { database, port, adminPort: admin.port });
    proc.reportServing();
    reloading.begin(async () => {
      const { listen } = own.config;
      const next = { ...serving.readAgain(), listen };
      const follow = await slots.prepare(slotSettings(next));
      await team.reload(encodeConfig(next), () => {
        own.config = next;
        follow();
      });
    });
    const ignore = proc.onReload(() => reloading.ask());
    await stop.promise;
    ignore();
    await reloading.end();
    await reportStopping(team, logLine);
    await team.stop(limits().drainTimeoutMs, abort.signal);
    return Math.max(exitCode, guard.exitCode());
  } finally {
    // The workers always end before the parts that they use.
    await team.stop(0, AbortSignal.abort());
    try {
      await closing.disposeAsync();
    } finally {
      forget();
      guard.release();
      closeLog();
    }
  }
}

/** Migrates the schema and settles the journals of processes without a successor in this start. */
async function prepare({ dataDir, size, config }: TeamServing, database: Database, log: Log): Promise<void> {
  const migrated = await migrate(database);
  if (migrated.length > 0) log.info('migrated', { steps: migrated.join(', ') });
  const kept = new Set(Array.from({ length: size }, (_, at) => workerDir(dataDir, at + 1)));
  const left = workerDirs(dataDir).filter((home) => !kept.has(home));
  await settleAbandonedDirs(
    [{ dir: dataDir, isHeld: true }, ...left.map((dir) => ({ dir, isHeld: false }))],
    {
      database,
      config,
      log,
    },
  );
}

async function announce(
  { config, lock, proc, json, note, logLine }: TeamServing,
  at: { readonly database: Database; readonly port: number; readonly adminPort: number },
): Promise<void> {
  const url = urlOf(config.listen.host, at.port);
  lock.describe(`naru up, listening on ${url}`);
  const operator = createOperatorService(at.database, {
    clock: systemClock,
    keyPrefix: config.keys.prefix,
    close: async () => {},
  });
  const demo = await createDemoAccount(operator, at.database);
  if (demo !== null)
    await proc.out(json ? `${JSON.stringify(welcomeRow(demo))}\n` : welcome(demo, config, at.port));
  if (note !== null) logLine(note);
  const listening = { event: 'listening', url, admin_port: at.adminPort };
  await proc.out(json ? `${JSON.stringify(listening)}\n` : `listening on ${url}\n`);
}

async function reload(
  next: () => Promise<void>,
  logLine: (line: string) => void,
  atStart: boolean,
): Promise<void> {
  try {
    await next();
    if (!atStart) logLine('configuration reloaded: models, prices, providers, slots and limits');
  } catch (error) {
    logLine(
      `configuration not reloaded, the old one stays in effect: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** A backup needs the settlements of every journal in its snapshot. */
async function caughtUp(team: WorkerSupervisor, size: number): Promise<void> {
  const done = await team.askAll((link) => link.request('caught-up'), settleWithinMs);
  if (done.length < size)
    throw new Error('a worker is restarting or slow; its latest settlements are only in its journal');
}

async function backlogOf(team: WorkerSupervisor): Promise<number> {
  return (await team.askAll((link) => link.request('backlog'))).reduce(
    (sum, { response }) => sum + response,
    0,
  );
}

async function reportStopping(team: WorkerSupervisor, logLine: (line: string) => void): Promise<void> {
  const counts = await team.askAll((link) => link.request('in-flight'));
  logLine(shutdownMessage(counts.reduce((sum, { response }) => sum + response, 0)));
}

/** Resolves port 0 once, so that replaced workers listen on the same port. */
async function withPort(config: Config): Promise<Config> {
  const { listen } = config;
  return listen.port === 0 ? { ...config, listen: { ...listen, port: await freePort(listen.host) } } : config;
}

/** The pool size of a worker. Throws an `OperatorError` when the embedded database has too few connections for so many workers. */
function poolFor({ database }: Config, size: number): number {
  if (database.url !== 'embedded') return defaultPoolSize;
  const each = Math.floor(connectionsForWorkers / size) - furtherConnections;
  if (each >= minPoolSize) return Math.min(defaultPoolSize, each);
  const most = Math.floor(connectionsForWorkers / (minPoolSize + furtherConnections));
  throw new OperatorError(
    `--workers ${size}: the embedded database has connections for ${most}; name a server of your own in database.url`,
  );
}

function opened<T>(value: T | null): T {
  if (value === null) throw new Error('asked for before it was open');
  return value;
}
