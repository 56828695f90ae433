import { encodeConfig } from '../../config/codec.ts';
import type { Config } from '../../config/config.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import type { ControlHandler } from '../../http/control/serve.ts';
import type { ProbeReport } from '../../inference/probe-candidate.ts';
import type { LogSink } from '../../log/log.ts';
import { measureProcess } from '../../metrics/process-metrics.ts';
import { labelled, type MetricData, Registry, readRegistry } from '../../metrics/registry.ts';
import type { FiguresOfProcess } from '../../pages/console/live-figures.ts';
import type { WorkOfProcess } from '../../pages/console/open-work-body.ts';
import { workerDir } from '../../postgres/worker-dir.ts';
import type { WorkerChannel, WorkerStartMessage } from './messages.ts';
import { serveRateLimit } from './remote-rate-limit.ts';
import { serveSlots } from './remote-slots.ts';
import { WorkerSupervisor, type WorkerSupervisorParts } from './supervisor.ts';
import type { WorkerGroup, WorkerServices } from './worker-group.ts';
import { addWorkerMetrics, metricsOf, workersRouteReports } from './worker-reports.ts';

/** The parts of the worker processes of a server. */
export interface WorkerProcessesParts extends WorkerSupervisorParts {
  readonly config: Config;
  readonly dataDir: string;
  /** Receives the log lines of the workers. */
  readonly sink: LogSink;
}

/**
 * The embedded database accepts 100 connections; the parent, commands and the server itself need
 * some.
 */
const connectionsForWorkers = 80;
/** Beside its pool a worker has a serial connection and a change feed. */
const furtherConnections = 2;
const defaultPoolSize = 8;
const minPoolSize = 3;
/** How long a backup waits until the settlements are in the database. */
const settleWithinMs = 55_000;

/**
 * Several processes that share the port; this one is their parent and serves no requests itself.
 */
export class WorkerProcesses implements WorkerGroup {
  readonly routeReports: ControlHandler;
  readonly #parts: WorkerProcessesParts;
  readonly #poolSize: number;
  readonly #supervisor: WorkerSupervisor;
  readonly #own = new Registry();
  readonly #processMetrics = measureProcess();

  /**
   * Forks the workers, which load the program while the database starts. Throws an `OperatorError`
   * when the database has too few connections for them.
   */
  constructor(parts: WorkerProcessesParts) {
    this.#parts = parts;
    this.#poolSize = poolFor(parts.config, parts.size);
    this.#supervisor = new WorkerSupervisor(parts);
    this.routeReports = workersRouteReports(this.#supervisor);
    addWorkerMetrics(this.#own, this.#supervisor);
  }

  /** Each process loads it as soon as it is forked. */
  load(): void {}

  get size(): number {
    return this.#parts.size;
  }

  directories(dataDir: string): readonly string[] {
    return Array.from({ length: this.#parts.size }, (_, at) => workerDir(dataDir, at + 1));
  }

  serve(services: WorkerServices): Promise<number> {
    return this.#supervisor.serve({
      log: services.log,
      startMessage: (worker) => this.#startMessage(worker, services),
      onWorkerStarted: (channel) => this.#attach(channel, services),
    });
  }

  async reload(next: Config, prepare: () => Promise<() => void>): Promise<void> {
    const follow = await prepare();
    await this.#supervisor.reload(encodeConfig(next), follow);
  }

  inFlight(): Promise<number> {
    return this.#sum((channel) => channel.request('in-flight'));
  }

  backlog(): Promise<number> {
    return this.#sum((channel) => channel.request('backlog'));
  }

  async caughtUp(): Promise<void> {
    const done = await this.#supervisor.requestAll((channel) => channel.request('caught-up'), settleWithinMs);
    if (done.length < this.#parts.size)
      throw new Error('a worker is restarting or slow; its latest settlements are only in its journal');
  }

  async metrics(): Promise<readonly (readonly MetricData[])[]> {
    const workers = metricsOf(await this.#supervisor.requestAll((channel) => channel.request('metrics')));
    const parent = labelled(await this.#processMetrics(), 'worker', 'parent');
    return [...workers, await readRegistry(this.#own), parent];
  }

  probe(model: string, candidate: string): Promise<readonly ProbeReport[] | null> {
    return this.#supervisor.requestFirst((channel) => channel.request('probe', { model, candidate }));
  }

  async figures(): Promise<readonly FiguresOfProcess[]> {
    const found = await this.#supervisor.requestAll((channel) => channel.request('figures'));
    return found.map(({ worker, response }) => ({ worker, figures: response }));
  }

  async openWork(): Promise<readonly WorkOfProcess[]> {
    const found = await this.#supervisor.requestAll((channel) => channel.request('open-work'));
    return found.map(({ worker, response }) => ({ worker, work: response }));
  }

  stop(drainMs: number, abort: AbortSignal): Promise<void> {
    return this.#supervisor.stop(drainMs, abort);
  }

  #startMessage(worker: number, { config, database, dataDir }: WorkerServices): WorkerStartMessage {
    return {
      worker,
      config: encodeConfig(config()),
      database: database.address,
      workers: this.#parts.size,
      poolSize: this.#poolSize,
      home: workerDir(dataDir, worker),
    };
  }

  /** Serves one worker over its channel; returns the cleanup for its end. */
  #attach(channel: WorkerChannel, services: WorkerServices): () => void {
    const { sink } = this.#parts;
    channel.handle({
      log: (text) => {
        for (const line of text.split(/(?<=\n)/)) sink(line);
      },
      published: services.onPublished,
      superseded: services.onSuperseded,
      'slots.statuses': () => services.slots.statuses(),
    });
    serveRateLimit(services.rate, channel);
    return serveSlots(services.slots, channel);
  }

  async #sum(request: (channel: WorkerChannel) => Promise<number>): Promise<number> {
    const counts = await this.#supervisor.requestAll(request);
    return counts.reduce((sum, { response }) => sum + response, 0);
  }
}

/**
 * The pool size of a worker. Throws an `OperatorError` when the embedded database has too few
 * connections for so many workers.
 */
function poolFor({ database }: Config, size: number): number {
  if (database.url !== 'embedded') return defaultPoolSize;
  const each = Math.floor(connectionsForWorkers / size) - furtherConnections;
  if (each >= minPoolSize) return Math.min(defaultPoolSize, each);
  const most = Math.floor(connectionsForWorkers / (minPoolSize + furtherConnections));
  throw new OperatorError(
    `--workers ${size}: the embedded database supports at most ${most}; set database.url to use your own server`,
  );
}
