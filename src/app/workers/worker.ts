import { Refusal } from '../../errors/catalogue.ts';
import { createLog, describeError } from '../../log/log.ts';
import { createProcesses } from '../../slots/drivers/processes.ts';
import { answerWithinMs } from '../../store/connection.ts';
import { Database } from '../../store/database.ts';
import { systemClock } from '../../time/clock.ts';
import { guardAgainstCrash } from '../crash-guard.ts';
import { type Gateway, startGateway } from '../gateway.ts';
import { batchedSink } from '../logging/batched-sink.ts';
import type { ProcessContext } from '../process-context.ts';
import { unpackConfig } from './config-codec.ts';
import { type Channel, Link } from './ipc.ts';
import type { PageAnswer, WorkerOrder } from './messages.ts';
import { rateOfParent } from './remote-rate-limit.ts';
import { lanesOfParent } from './remote-slots.ts';
import { holdHome } from './worker-dir.ts';

/**
 * A worker of `naru up --workers`: a gateway with a journal of its own, which listens where its parent says. Resolves with the
 * exit code when the parent, or `onLeave`, asks it to stop; it is the parent's end that ends it at once.
 */
export async function work(
  channel: Channel,
  onLeave: (leave: () => void) => void,
  around: ProcessContext,
): Promise<number> {
  const link = new Link(channel);
  const stop = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const hurry = new AbortController();
  onLeave(() => stop.resolve());
  const order = Promise.withResolvers<WorkerOrder>();
  const serving = Promise.withResolvers<{ readonly port: number }>();
  serving.promise.catch(() => {});
  link.answer({
    serve: (given: WorkerOrder) => {
      order.resolve(given);
      return serving.promise;
    },
    stop: () => {
      stop.resolve();
      return closed.promise;
    },
    hurry: () => hurry.abort(),
  });
  const { worker, workers, config: packedConfig, database: address, poolSize, home } = await order.promise;
  const { sink, flush } = batchedSink((text) => link.tell('log', text), systemClock);
  const config = unpackConfig(packedConfig);
  const log = createLog(
    (line) => sink(`${line.slice(0, -2)},"worker":${worker}}\n`),
    config.log.level,
    systemClock.now,
  );
  let current: Pick<Gateway, 'limits'> = config;
  const guard = guardAgainstCrash({
    around,
    clock: systemClock,
    log,
    flush,
    drainMs: () => current.limits.crashDrainTimeoutMs,
    stop: stop.resolve,
    cut: () => hurry.abort(),
  });
  let database: Database | null = null;
  try {
    const lock = await holdHome(home, around.pid);
    database = new Database(address, poolSize, answerWithinMs);
    const gateway = await startGateway({
      config,
      database,
      dataDir: home,
      clock: systemClock,
      log,
      processes: createProcesses(around.kill),
      onPublished: () => link.tell('published'),
      onSuperseded: ({ message }) => link.tell('superseded', message),
      onHistoryChanged: guard.restart,
      parent: { lanes: lanesOfParent(link, systemClock), rate: rateOfParent(link), workers },
    });
    current = gateway;
    link.answer(answersOf(gateway));
    serving.resolve({ port: gateway.server.port });
    await stop.promise;
    await gateway.close(hurry.signal);
    await database.close();
    lock.release();
  } catch (error) {
    serving.reject(error);
    log.error('worker_failed', { detail: describeError(error) });
    return 1;
  } finally {
    flush();
    closed.resolve();
    // Whatever was told before has arrived when this is answered.
    await link.ask('bye').catch(() => {});
  }
  return guard.exitCode();
}

function answersOf(gateway: Gateway): Parameters<Link['answer']>[0] {
  return {
    reload: (packed: string) => gateway.reload(unpackConfig(packed)),
    'in-flight': () => gateway.server.inFlight(),
    families: () => gateway.families(),
    'caught-up': () => gateway.settlements.caughtUp(),
    backlog: () => gateway.settlements.backlog,
    page: async ({ path, query }: { path: string; query: string }): Promise<PageAnswer> => {
      try {
        const said = (await gateway.pages[path]?.(new URLSearchParams(query))) ?? '';
        return { said };
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        const { failure, message, extras } = error;
        return { refused: { failure, message, extras } };
      }
    },
  };
}
