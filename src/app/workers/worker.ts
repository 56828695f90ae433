import { decodeConfig } from '../../config/codec.ts';
import type { Config } from '../../config/config.ts';
import { batchedSink } from '../../log/batched-sink.ts';
import { createLog, describeError, type Log } from '../../log/log.ts';
import { measureProcess } from '../../metrics/process-metrics.ts';
import { openIdentity } from '../../operations/open-identity.ts';
import { openPages } from '../../pages/pages.ts';
import { lockWorkerDir } from '../../postgres/worker-dir.ts';
import { statementTimeoutMs } from '../../store/connection.ts';
import { Database } from '../../store/database.ts';
import { DatabaseClock } from '../../store/database-clock.ts';
import { systemClock } from '../../time/clock.ts';
import { guardAgainstCrash } from '../crash-guard.ts';
import { type Gateway, startGateway } from '../gateway.ts';
import type { ProcessContext } from '../process-context.ts';
import { Shutdown } from '../shutdown.ts';
import { type Channel, type Handlers, IpcChannel } from './ipc.ts';
import type { ParentChannel, ToWorker, WorkerStartMessage } from './messages.ts';
import { remoteRateLimit } from './remote-rate-limit.ts';
import { remoteSlotStates, remoteSlots } from './remote-slots.ts';

/**
 * A worker of `naru up --workers`: a gateway with its own journal that listens on the port of its
 * parent. Resolves with the exit code when the parent, or `onLeave`, stops it; ends immediately
 * when the parent ends.
 */
export async function work(
  channel: Channel,
  onLeave: (leave: () => void) => void,
  proc: ProcessContext,
): Promise<number> {
  const parent: ParentChannel = new IpcChannel(channel);
  const shutdown = new Shutdown();
  const closed = Promise.withResolvers<void>();
  const serving = Promise.withResolvers<{ readonly port: number }>();
  serving.promise.catch(() => {});
  onLeave(shutdown.request);
  const start = await startMessage(parent, shutdown, serving.promise, closed.promise);
  const config = decodeConfig(start.config);
  const { log, flush } = openWorkerLog(parent, start.worker, config);
  let current: Pick<Gateway, 'limits'> = config;
  const guard = guardAgainstCrash({
    proc,
    clock: systemClock,
    log,
    flush,
    drainMs: () => current.limits.crashDrainTimeoutMs,
    stop: shutdown.request,
    cut: shutdown.abort,
  });
  try {
    await serveGateway(
      start,
      { config, parent, log, proc, shutdown, onHistoryChanged: guard.restart },
      (gateway) => {
        current = gateway;
        serving.resolve({ port: gateway.server.port });
      },
    );
  } catch (error) {
    serving.reject(error);
    log.error('worker_failed', { detail: describeError(error) });
    return 1;
  } finally {
    flush();
    closed.resolve();
    // When the response arrives, all earlier notifications have arrived.
    await parent.request('flush').catch(() => {});
  }
  return guard.exitCode();
}

/**
 * Resolves with the start message of the parent, and responds with `serving`. A stop may arrive
 * before.
 */
function startMessage(
  parent: ParentChannel,
  shutdown: Shutdown,
  serving: Promise<{ readonly port: number }>,
  closed: Promise<void>,
): Promise<WorkerStartMessage> {
  return new Promise((resolve) => {
    parent.handle({
      serve: (start) => {
        resolve(start);
        return serving;
      },
      stop: () => {
        shutdown.request();
        return closed;
      },
      abort: shutdown.abort,
    });
  });
}

/** The log of a worker, which its parent writes; each line names the worker. */
function openWorkerLog(
  parent: ParentChannel,
  worker: number,
  config: Config,
): { readonly log: Log; readonly flush: () => void } {
  const { sink, flush } = batchedSink((text) => parent.notify('log', text), systemClock);
  const numbered = (line: string): void => sink(`${line.slice(0, -2)},"worker":${worker}}\n`);
  return { log: createLog(numbered, config.log.level, systemClock.now), flush };
}

/** Serves until the shutdown; `onServing` is called when it begins. */
async function serveGateway(
  { home, database: address, poolSize, workers }: WorkerStartMessage,
  parts: {
    readonly config: Config;
    readonly parent: ParentChannel;
    readonly log: Log;
    readonly proc: ProcessContext;
    readonly shutdown: Shutdown;
    readonly onHistoryChanged: () => void;
  },
  onServing: (gateway: Gateway) => void,
): Promise<void> {
  const { config, parent, log, proc, shutdown, onHistoryChanged } = parts;
  const processMetrics = measureProcess();
  const lock = await lockWorkerDir(home, proc.pid);
  const database = new Database(address, poolSize, statementTimeoutMs);
  const clock = await DatabaseClock.open(database, systemClock);
  clock.follow(log);
  const identity = openIdentity(database, clock, config.auth.oidc);
  const pages = openPages({ database, clock, log, identity });
  const gateway = await startGateway({
    config,
    database,
    dataDir: home,
    version: proc.version,
    clock,
    log,
    pages,
    identity,
    slots: remoteSlotStates(parent, systemClock),
    lanes: remoteSlots(parent, systemClock),
    rate: remoteRateLimit(parent),
    workers,
    socket: proc.socket,
    onPublished: (publication) => parent.notify('published', publication),
    onSuperseded: ({ message }) => parent.notify('superseded', message),
    onHistoryChanged,
  });
  parent.handle({
    ...handlersOf(gateway),
    metrics: async () => [...(await gateway.metrics()), ...(await processMetrics())],
  });
  onServing(gateway);
  await shutdown.requested;
  await gateway.close(shutdown.aborted);
  await pages.close();
  clock.close();
  await database.close();
  lock.release();
}

function handlersOf(gateway: Gateway): Partial<Handlers<ToWorker>> {
  return {
    reload: (packed) => gateway.reload(decodeConfig(packed)),
    'in-flight': () => gateway.server.inFlight(),
    'caught-up': () => gateway.settlements.caughtUp(),
    backlog: () => gateway.settlements.backlog,
    figures: () => gateway.figures(),
    'open-work': () => gateway.openWork(),
    probe: ({ model, candidate }) => gateway.probe(model, candidate),
    route: ({ method, path, query }) => gateway.routeReports(method, path, new URLSearchParams(query)),
  };
}
