import { counted } from '../errors/counted.ts';
import { serveControl } from '../http/control/serve.ts';
import { aboutAddress } from '../http/listen-address.ts';
import { controlPages } from '../identity/control-pages.ts';
import { pageOrigins } from '../identity/page-links.ts';
import { settleAbandonedDirs } from '../ledger/journal-recovery.ts';
import { describeError } from '../log/log.ts';
import { controlledSlots, controlRoutes } from '../operations/control-routes.ts';
import { createProcesses } from '../slots/drivers/processes.ts';
import type { Database } from '../store/database.ts';
import { DatabaseClock } from '../store/database-clock.ts';
import { systemClock } from '../time/clock.ts';
import { announce } from './announce.ts';
import type { Published } from './apply-changes.ts';
import { ConfigReloader } from './config-reloader.ts';
import { openOwnDatabase, warnOfUnsafeServer } from './database.ts';
import { Lifetime, type Serving } from './lifetime.ts';
import type { ProcessContext } from './process-context.ts';
import { type Server, startServer } from './server.ts';
import { InProcessWorker } from './workers/in-process-worker.ts';
import type { WorkerGroup } from './workers/worker-group.ts';
import { WorkerProcesses } from './workers/worker-processes.ts';

/**
 * What is open before the server starts. Everything in `closing` is closed at the end, in reverse
 * order.
 */
interface Context {
  readonly serving: Serving;
  readonly lifetime: Lifetime;
  readonly reloader: ConfigReloader<Server, ReloadReason>;
  readonly workers: WorkerGroup;
  readonly database: Database;
  readonly clock: DatabaseClock;
  readonly closing: AsyncDisposableStack;
}

/** Serves until a stop signal, in this process or with workers; resolves with the exit code. */
export async function serveUntilStopped(serving: Serving): Promise<number> {
  const { config, dataDir, proc, notice } = serving;
  const closing = new AsyncDisposableStack();
  const lifetime = new Lifetime(serving);
  closing.defer(() => lifetime.release());
  try {
    const reloader: Context['reloader'] = new ConfigReloader((server, reasons, atStart) =>
      reload(serving, server, { reasons, atStart }),
    );
    // From the beginning: without a handler the signal would end the process.
    closing.defer(proc.onReload(() => reloader.request('operator')));
    const workers = openWorkers(serving, lifetime);
    closing.defer(() => workers.stop(0, AbortSignal.abort()));
    const { database, close } = await openOwnDatabase(
      config,
      dataDir,
      proc,
      (line) => notice('database', line),
      {
        onLaunch: () => workers.load(),
        onExit: (reason) => lifetime.restart(`the database ended: ${reason}`),
      },
    );
    closing.defer(close);
    if (lifetime.shutdown.isRequested) return lifetime.exitCode();
    const clock = await DatabaseClock.open(database, systemClock);
    closing.defer(async () => clock.close());
    clock.follow(lifetime.output.log);
    const context = { serving, lifetime, reloader, workers, database, clock, closing };
    const server = await start(context);
    if (server !== null) await serveRequests(server, context);
    return lifetime.exitCode();
  } finally {
    await closing.disposeAsync();
  }
}

/** The workers; their processes load the program while the database starts. */
function openWorkers({ workers: size, config, dataDir, proc }: Serving, { output }: Lifetime): WorkerGroup {
  if (size === 1) return new InProcessWorker(undefined, proc.socket);
  const { sink } = output;
  return new WorkerProcesses({ size, fork: proc.forkWorker, clock: systemClock, config, dataDir, sink });
}

/**
 * Settles what earlier processes left, and starts the server; null when a stop was requested first.
 */
async function start(context: Context): Promise<Server | null> {
  const { serving, lifetime, reloader, workers, database, clock, closing } = context;
  const { config, dataDir, proc } = serving;
  const { log } = lifetime.output;
  await settleAbandonedDirs(dataDir, workers.directories(dataDir), { database, config, log });
  await warnOfUnsafeServer(config, database, log);
  const server = await startServer({
    config,
    database,
    dataDir,
    proc,
    clock,
    log,
    processes: createProcesses(proc.kill),
    configuration: serving.configuration,
    configFile: { read: serving.review, readToPublish: serving.readAgain },
    workers,
    stopRequested: lifetime.shutdown.requested,
    onPublished: (publication) => reloader.request(publication),
    onSuperseded: lifetime.fail,
    onHistoryChanged: () => lifetime.restart('the database lost commits in a failover'),
  }).catch((error: unknown) => {
    throw aboutAddress(error, config);
  });
  if (server === null) return null;
  closing.defer(() => server.close(AbortSignal.abort()));
  lifetime.follow(server);
  return server;
}

/**
 * Announces the server, follows its configuration and its operator, and drains it after a stop
 * signal.
 */
async function serveRequests(server: Server, context: Context): Promise<void> {
  const { serving, lifetime, reloader, workers, database, clock, closing } = context;
  const { config, dataDir, proc, notice } = serving;
  const { log, note } = lifetime.output;
  const ports = { listen: server.port, admin: server.admin.port };
  const control = await serveControl({
    dataDir,
    roots: runtimeFolders(proc),
    respond: controlRoutes({
      slots: controlledSlots(server.slots, { database, clock, log }),
      settlements: workers,
      routes: workers.routeReports,
      pages: controlPages(server.identity, () => pageOrigins(config, ports)),
    }),
    log,
  });
  if (control !== null) closing.defer(() => control.close());
  await announce({ ...serving, database, clock, note, ports });
  proc.reportServing();
  serving.configuration.begin(() => reloader.requestAndWait('operator'));
  reloader.begin(server);
  await lifetime.shutdown.requested;
  await reloader.end();
  notice('shutting_down', shutdownMessage(await workers.inFlight()));
  await server.close(lifetime.shutdown.aborted);
}

/** The line that a server prints when it begins to shut down. */
function shutdownMessage(inFlight: number): string {
  if (inFlight === 0) return 'shutting down';
  return `shutting down: waiting for ${counted(inFlight, 'request')}; press Ctrl-C again to abort them`;
}

/** Folders for a control socket whose path in the data directory is too long. */
function runtimeFolders({ env, uid }: ProcessContext): readonly string[] {
  const roots = [uid === 0 ? '/run' : env['XDG_RUNTIME_DIR'], env['TMPDIR'], '/tmp'];
  return roots.filter((root): root is string => root !== undefined && root !== '');
}

/** An operator who requests it (SIGHUP, the console), or a publication. */
type ReloadReason = 'operator' | Published;

/**
 * Applies a changed configuration; rejects a faulty one and keeps the old one (spec:operator/2.3),
 * at the prices of a new publication. Only an operator's reload may publish: a publication would
 * be undone by a file that is older. Never throws.
 */
async function reload(
  { readAgain, notice, configuration }: Serving,
  server: Server,
  { reasons, atStart }: { readonly reasons: readonly ReloadReason[]; readonly atStart: boolean },
): Promise<void> {
  const byOperator = reasons.includes('operator');
  const isOwn = (reason: ReloadReason): boolean =>
    reason !== 'operator' && !reason.byOperator && reason.edition <= server.ownEdition;
  if (reasons.every(isOwn)) return;
  try {
    await server.reload(readAgain(), byOperator);
    configuration.reloaded(null);
    // A start reloads after the last publication, which may be newer than the file that it read.
    if (byOperator || !atStart)
      notice('configuration_reloaded', 'configuration reloaded: models, prices, providers, slots and limits');
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    configuration.reloaded(detail);
    const message = `configuration not reloaded, the old one stays in effect: ${detail}`;
    notice('configuration_not_reloaded', message, 'error');
    if (!byOperator)
      await server.keepConfiguration().catch((failed: unknown) => {
        const why = describeError(failed);
        notice('edition_not_served', `the published edition is not served completely: ${why}`, 'error');
      });
  }
}
