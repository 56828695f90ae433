import type { Config } from '../config/config.ts';
import { serveControl } from '../control/serve.ts';
import { createLog, type LogSink } from '../log/log.ts';
import { createOperatorService } from '../operations/operator-service.ts';
import { createProcesses } from '../slots/drivers/processes.ts';
import { migrate } from '../store/migrate.ts';
import { systemClock } from '../time/clock.ts';
import type { UpOptions } from './cli-options.ts';
import { ConfigReloader } from './config-reloader.ts';
import { readConfig, readConfigToPublish, rememberConfig, settingsOf } from './config-source.ts';
import { controlRoutes } from './control-routes.ts';
import { guardAgainstCrash } from './crash-guard.ts';
import { holdAfterCommands, openOwnDatabase, warnOfUnsafeServer } from './database.ts';
import { createDemoAccount } from './demo-account.ts';
import { type FoundEngine, findEngines } from './engine-discovery.ts';
import type { Gateway, GatewayParts } from './gateway.ts';
import { settleAbandonedDirs, workerDirs } from './journal-recovery.ts';
import { aboutAddress, assertListenable } from './listen-address.ts';
import { batchedSink } from './logging/batched-sink.ts';
import { openLogFile } from './logging/log-file.ts';
import type { ProcessContext } from './process-context.ts';
import { shutdownMessage } from './shutdown-message.ts';
import { urlOf, welcome, welcomeRow } from './startup-banner.ts';
import { type Serving, serveWithWorkers } from './workers/primary.ts';

/** `naru up`: serves until a stop signal; resolves with the exit code. Throws an `OperatorError` for what the operator can correct. */
export async function up(options: UpOptions, proc: ProcessContext): Promise<number> {
  const settings = settingsOf(options, proc);
  const logLine = (line: string): void => proc.err(`naru: ${line}\n`);
  // Read first: a faulty file must change nothing.
  let config = readConfig(settings, proc);
  const lock = await holdAfterCommands(settings.dataDir, { pid: proc.pid, describe: 'naru up' });
  try {
    if (settings.configFile === null) {
      const found = await findEngines(settings.dataDir);
      for (const engine of found) logLine(foundMessage(engine));
      if (found.length > 0) config = readConfig(settings, proc);
    } else {
      config = readConfigToPublish(settings, proc);
    }
    config = withAddress(config, options);
    await assertListenable(config);
    rememberConfig(settings);
    const serving = {
      config,
      readAgain: () => withAddress(readConfigToPublish(settings, proc), options),
      dataDir: settings.dataDir,
      lock,
      logLine: logLine,
      proc,
      json: options.json,
    };
    if (options.workers === 1) return await serveUntilStopped(serving);
    const roots = runtimeFolders(proc);
    return await serveWithWorkers({ ...serving, size: options.workers, roots, ...openSink(serving) });
  } finally {
    lock.release();
  }
}

async function serveUntilStopped(serving: Serving): Promise<number> {
  const { config, dataDir, lock, logLine, proc, json } = serving;
  const stop = Promise.withResolvers<void>();
  const abort = new AbortController();
  let exitCode = 0;
  let asked = 0;
  const forget = proc.onStop(() => {
    asked += 1;
    if (asked === 1) stop.resolve();
    else abort.abort();
  });
  const { sink, flush, note, close: closeLog } = openSink(serving);
  const log = createLog(sink, config.log.level, systemClock.now);
  let current: Pick<Gateway, 'limits'> = config;
  const guard = guardAgainstCrash({
    proc,
    clock: systemClock,
    log,
    flush,
    drainMs: () => current.limits.crashDrainTimeoutMs,
    stop: stop.resolve,
    cut: () => abort.abort(),
  });
  // The gateway's code is loaded while the database starts.
  const loading = Promise.all([import('./gateway.ts'), import('./metrics/process-metrics.ts')]);
  const { database, close } = await openOwnDatabase(config, dataDir, proc, logLine);
  try {
    const [{ startGateway }, { measureProcess }] = await loading;
    if (asked > 0) return guard.exitCode();
    const left = workerDirs(dataDir).map((dir) => ({ dir, isHeld: false }));
    if (left.length > 0) {
      await migrate(database);
      await settleAbandonedDirs(left, { database, config, log });
    }
    const parts = {
      database,
      dataDir,
      clock: systemClock,
      log,
      processes: createProcesses(proc.kill),
      processMetrics: measureProcess(),
    };
    const reloading = new ConfigReloader((gateway: Gateway, atStart) => reload(serving, gateway, atStart));
    const gateway = await startAt(startGateway, {
      ...parts,
      config,
      onPublished: () => reloading.ask(),
      onSuperseded(error) {
        logLine(error.message);
        exitCode = 1;
        stop.resolve();
      },
      onHistoryChanged() {
        logLine(
          'the database lost commits in a failover; this process exits so that its supervisor starts a new one',
        );
        guard.restart();
      },
    });
    current = gateway;
    await warnOfUnsafeServer(config, database, log, logLine);
    const control = await serveControl({
      dataDir,
      roots: runtimeFolders(proc),
      respond: controlRoutes({
        slots: gateway.slots,
        settlements: {
          caughtUp: () => gateway.settlements.caughtUp(),
          backlog: () => gateway.settlements.backlog,
        },
        routes: gateway.routeReports,
      }),
      log,
    });
    const { port } = gateway.server;
    const url = urlOf(config.listen.host, port);
    lock.describe(`naru up, listening on ${url}`);
    const operator = createOperatorService(database, {
      clock: systemClock,
      keyPrefix: config.keys.prefix,
      close: async () => {},
    });
    const demo = await createDemoAccount(operator, database);
    if (demo !== null) await proc.out(json ? row(welcomeRow(demo)) : welcome(demo, config, port));
    if (note !== null) logLine(note);
    const listening = { event: 'listening', url, admin_port: gateway.admin.port };
    await proc.out(json ? row(listening) : `listening on ${url}\n`);
    proc.reportServing();
    reloading.begin(gateway);
    const ignore = proc.onReload(() => reloading.ask());
    await stop.promise;
    ignore();
    await reloading.end();
    const inFlight = gateway.server.inFlight();
    logLine(shutdownMessage(inFlight));
    await gateway.close(abort.signal);
    await control?.close();
    return Math.max(exitCode, guard.exitCode());
  } finally {
    forget();
    await close();
    guard.release();
    closeLog();
  }
}

/** Folders for a control socket whose path in the data directory is too long. */
function runtimeFolders({ env, uid }: ProcessContext): readonly string[] {
  const roots = [uid === 0 ? '/run' : env['XDG_RUNTIME_DIR'], env['TMPDIR'], '/tmp'];
  return roots.filter((root): root is string => root !== undefined && root !== '');
}

/** Applies a changed configuration; rejects a faulty one and keeps the old one (spec:operator/2.3). Never throws. */
async function reload({ readAgain, logLine }: Serving, gateway: Gateway, atStart: boolean): Promise<void> {
  try {
    await gateway.reload(readAgain());
    // A start reloads after the last publication, which may be newer than the file that it read.
    if (!atStart) logLine('configuration reloaded: models, prices, providers, slots and limits');
  } catch (error) {
    logLine(
      `configuration not reloaded, the old one stays in effect: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/**
 * Chooses the log output. With a terminal on stderr, warnings and errors are printed as text and everything goes to a file;
 * otherwise stderr gets every line as JSON.
 */
function openSink({ proc, dataDir, logLine }: Serving): {
  readonly sink: LogSink;
  /** Writes the buffered lines. */
  readonly flush: () => void;
  readonly note: string | null;
  readonly close: () => void;
} {
  if (!proc.isWatched) {
    const { sink, flush } = batchedSink(proc.err, systemClock);
    return { sink, flush, note: null, close: flush };
  }
  const { path, sink, close } = openLogFile(dataDir, logLine);
  return { sink, flush: () => {}, note: `requests are logged to ${path}; press Ctrl-C to stop`, close };
}

/** Starts the gateway; an unavailable address becomes an error that names the option. */
async function startAt(
  startGateway: (parts: GatewayParts) => Promise<Gateway>,
  parts: GatewayParts,
): Promise<Gateway> {
  try {
    return await startGateway(parts);
  } catch (error) {
    throw aboutAddress(error, parts.config);
  }
}

function withAddress(config: Config, options: UpOptions): Config {
  const listen = { host: options.host ?? config.listen.host, port: options.port ?? config.listen.port };
  return { ...config, listen };
}

function foundMessage({ title, baseUrl, models }: FoundEngine): string {
  const ids = models.slice(0, 5).map((model) => model.id);
  const more = models.length > ids.length ? ` and ${models.length - ids.length} more` : '';
  return `found ${title} at ${baseUrl}; its models are served as ${ids.join(', ')}${more}`;
}

function row(value: object): string {
  return `${JSON.stringify(value)}\n`;
}
