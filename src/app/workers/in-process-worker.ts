import type { Config } from '../../config/config.ts';
import type { ControlHandler } from '../../http/control/serve.ts';
import type { InheritedSocket } from '../../http/serve.ts';
import type { ProbeReport } from '../../inference/probe-candidate.ts';
import { measureProcess } from '../../metrics/process-metrics.ts';
import type { MetricData } from '../../metrics/registry.ts';
import type { FiguresOfProcess } from '../../pages/console/live-figures.ts';
import type { WorkOfProcess } from '../../pages/console/open-work-body.ts';
import type { Gateway } from '../gateway.ts';
import type { WorkerGroup, WorkerServices } from './worker-group.ts';

/** The only worker of a server, in its process: no channel, no further process. */
export class InProcessWorker implements WorkerGroup {
  readonly size = 1;
  readonly #socket: InheritedSocket | null;
  readonly #processMetrics: () => Promise<readonly MetricData[]>;
  #loading: Promise<typeof import('../gateway.ts')> | null = null;
  #starting: Promise<Gateway> | null = null;
  #gateway: Gateway | null = null;
  #stopping: Promise<void> | null = null;

  /** `socket`: the one to listen on; null: it opens its own. */
  constructor(
    processMetrics: () => Promise<readonly MetricData[]> = measureProcess(),
    socket: InheritedSocket | null = null,
  ) {
    this.#processMetrics = processMetrics;
    this.#socket = socket;
  }

  /** The gateway, once it serves. */
  get gateway(): Gateway {
    if (this.#gateway === null) throw new Error('the gateway does not serve yet');
    return this.#gateway;
  }

  get routeReports(): ControlHandler {
    return this.gateway.routeReports;
  }

  load(): void {
    this.#loading ??= import('../gateway.ts');
  }

  directories(dataDir: string): readonly string[] {
    return [dataDir];
  }

  async serve(services: WorkerServices): Promise<number> {
    this.#starting = this.#start(services);
    this.#gateway = await this.#starting;
    return this.#gateway.server.port;
  }

  reload(next: Config, prepare: () => Promise<() => void>): Promise<void> {
    return this.gateway.reload(next, prepare);
  }

  async inFlight(): Promise<number> {
    return this.gateway.server.inFlight();
  }

  async backlog(): Promise<number> {
    return this.gateway.settlements.backlog;
  }

  async caughtUp(): Promise<void> {
    await this.gateway.settlements.caughtUp();
  }

  async metrics(): Promise<readonly (readonly MetricData[])[]> {
    return Promise.all([this.gateway.metrics(), this.#processMetrics()]);
  }

  probe(model: string, candidate: string): Promise<readonly ProbeReport[] | null> {
    return this.gateway.probe(model, candidate);
  }

  async figures(): Promise<readonly FiguresOfProcess[]> {
    return [{ worker: null, figures: this.gateway.figures() }];
  }

  async openWork(): Promise<readonly WorkOfProcess[]> {
    return [{ worker: null, work: this.gateway.openWork() }];
  }

  /**
   * The gateway has the limit of the drain in its configuration. A start in progress is awaited
   * first.
   */
  stop(_drainMs: number, abort: AbortSignal): Promise<void> {
    this.#stopping ??= this.#stop(abort);
    return this.#stopping;
  }

  async #start(services: WorkerServices): Promise<Gateway> {
    this.#loading ??= import('../gateway.ts');
    const { startGateway } = await this.#loading;
    return startGateway({
      ...services,
      config: services.config(),
      lanes: services.slots,
      slots: async () => ({
        statuses: services.slots.statuses(),
        asOfMs: services.clock.now(),
        isStale: false,
      }),
      workers: 1,
      socket: this.#socket,
      onSuperseded: ({ message }) => services.onSuperseded(message),
    });
  }

  async #stop(abort: AbortSignal): Promise<void> {
    const gateway = await this.#starting?.catch(() => null);
    await gateway?.close(abort);
  }
}
