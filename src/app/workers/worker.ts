import { createLog, describeError } from '../../log/log.ts';
import { createProcesses } from '../../slots/drivers/processes.ts';
import { statementTimeoutMs } from '../../store/connection.ts';
import { Database } from '../../store/database.ts';
import { systemClock } from '../../time/clock.ts';
import { guardAgainstCrash } from '../crash-guard.ts';
import { type Gateway, startGateway } from '../gateway.ts';
import { batchedSink } from '../logging/batched-sink.ts';
import { measureProcess } from '../metrics/process-metrics.ts';
import type { ProcessContext } from '../process-context.ts';
import { decodeConfig } from './config-codec.ts';
import { type Channel, type Handlers, IpcChannel } from './ipc.ts';
import type { ParentChannel, ToWorker, WorkerStartMessage } from './messages.ts';
import { remoteRateLimit } from './remote-rate-limit.ts';
import { remoteSlots } from './remote-slots.ts';
import { lockWorkerDir } from './worker-dir.ts';

/**
 * A worker of `naru up --workers`: a gateway with its own journal that listens on the port of its parent. Resolves with the exit code
 * when the parent, or `onLeave`, stops it; ends immediately when the parent ends.
 */
export async function work(
  channel: Channel,
  onLeave: (leave: () => void) => void,
  proc: ProcessContext,
): Promise<number> {
  const link: ParentChannel = new IpcChannel(channel);
  const stop = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const abort = new AbortController();
  onLeave(() => stop.resolve());
  const order = Promise.withResolvers<WorkerStartMessage>();
  const serving = Promise.withResolvers<{ readonly port: number }>();
  serving.promise.catch(() => {});
  link.handle({
    serve: (given) => {
      order.resolve(given);
      return serving.promise;
    },
    stop: () => {
      stop.resolve();
      return closed.promise;
    },
    abort: () => abort.abort(),
  });
  const { worker, workers, config: packedConfig, database: address, poolSize, home } = await order.promise;
  const { sink, flush } = batchedSink((text) => link.notify('log', text), systemClock);
  const config = decodeConfig(packedConfig);
  const log = createLog(
    (line) => sink(`${line.slice(0, -2)},"worker":${worker}}\n`),
    config.log.level,
    systemClock.now,
  );
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
  let database: Database | null = null;
  try {
    const lock = await lockWorkerDir(home, proc.pid);
    database = new Database(address, poolSize, statementTimeoutMs);
    const gateway = await startGateway({
      config,
      database,
      dataDir: home,
      clock: systemClock,
      log,
      processes: createProcesses(proc.kill),
      processMetrics: measureProcess(),
      onPublished: () => link.notify('published'),
      onSuperseded: ({ message }) => link.notify('superseded', message),
      onHistoryChanged: guard.restart,
      parent: { lanes: remoteSlots(link, systemClock), rate: remoteRateLimit(link), workers },
    });
    current = gateway;
    link.handle(answersOf(gateway));
    serving.resolve({ port: gateway.server.port });
    await stop.promise;
    await gateway.close(abort.signal);
    await database.close();
    lock.release();
  } catch (error) {
    serving.reject(error);
    log.error('worker_failed', { detail: describeError(error) });
    return 1;
  } finally {
    flush();
    closed.resolve();
    // When this is answered, all earlier notifications have arrived.
    await link.request('bye').catch(() => {});
  }
  return guard.exitCode();
}

function answersOf(gateway: Gateway): Partial<Handlers<ToWorker>> {
  return {
    reload: (packed) => gateway.reload(decodeConfig(packed)),
    'in-flight': () => gateway.server.inFlight(),
    metrics: () => gateway.metrics(),
    'caught-up': () => gateway.settlements.caughtUp(),
    backlog: () => gateway.settlements.backlog,
    route: ({ method, path, query }) => gateway.routeReports(method, path, new URLSearchParams(query)),
  };
}
