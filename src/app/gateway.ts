import type { AnyRoute } from '../api/route.ts';
import type { Config } from '../config/config.ts';
import { ServerStopping } from '../errors/request-aborted.ts';
import type { ControlHandler } from '../http/control/serve.ts';
import type { Served } from '../http/serve.ts';
import { type ProbeReport, probeCandidate } from '../inference/probe-candidate.ts';
import { routeReports } from '../inference/route-reports.ts';
import type { Settlements } from '../ledger/settlements.ts';
import { EventLoopDelay } from '../metrics/event-loop-delay.ts';
import { type MetricData, readRegistry } from '../metrics/registry.ts';
import type { LiveFigures } from '../pages/console/live-figures.ts';
import type { OpenWork } from '../pages/console/open-work-body.ts';
import { labelsOf } from '../routing/health-report.ts';
import { UpstreamMetrics } from '../routing/metrics.ts';
import type { Clock } from '../time/clock.ts';
import type { Health } from '../upstreams/health.ts';
import { liveFigures, openWork } from './console-reports.ts';
import { endpoints, targetsOf } from './endpoints.ts';
import { type GatewayCore, type GatewayParts, openCore } from './gateway-core.ts';
import { startJobs } from './gateway-jobs.ts';
import { listen } from './gateway-listener.ts';
import { addGatewayMetrics } from './gateway-metrics.ts';

/** A serving gateway. */
export interface Gateway {
  readonly server: Served;
  /** Handles `/route` and `/route/health` of the control socket. */
  readonly routeReports: ControlHandler;
  /** Calls a candidate for a test, with real requests; null when there is none. */
  readonly probe: (model: string, candidate: string) => Promise<readonly ProbeReport[] | null>;
  readonly metrics: () => Promise<readonly MetricData[]>;
  /** What the console shows of this process at the moment. */
  readonly figures: () => LiveFigures;
  /** The requests in flight here, and the settlements that are not in the database. */
  readonly openWork: () => OpenWork;
  readonly settlements: Settlements;
  /** The current ones: a reload may change them. */
  readonly limits: Config['limits'];
  /** The health of the candidates. */
  readonly health: Health;
  /** All endpoints. */
  readonly routes: readonly AnyRoute[];
  /**
   * Applies another configuration; throws and changes nothing when that needs a restart
   * (spec:operator/2.3). See `LiveCatalog.apply` for `prepare`.
   */
  reload(config: Config, prepare?: () => Promise<() => void>): Promise<void>;
  /**
   * Stops accepting connections and drains the requests in flight for at most `drainTimeoutMs`;
   * after that, or when `abort` does, the rest end with an error. Every settlement is in the
   * database or the journal afterwards.
   */
  close(abort: AbortSignal): Promise<void>;
}

/**
 * Builds all parts and starts to serve. Throws, with nothing left open, when the database, the
 * journal or an address is unavailable.
 */
export async function startGateway(parts: GatewayParts): Promise<Gateway> {
  await using opened = new AsyncDisposableStack();
  let isStopping = false;
  const core = await openCore(parts, opened);
  const routes = endpoints(core, () => isStopping);
  const server = await listen(routes, core);
  opened.defer(() => server.close());
  await core.accounting.nodes.serveAt(`${parts.config.listen.host}:${server.port}`);
  measure(core, server, opened);
  startJobs(core, opened);
  const closing = opened.move();
  const { liveCatalog, health, drains, registry } = core;
  const sources = () => ({ catalogue: liveCatalog.catalogue, health, drains });
  return {
    server,
    routeReports: routeReports(sources),
    metrics: () => readRegistry(registry),
    probe: (model, label) => probe(core, model, label),
    figures: () => liveFigures(core, server),
    openWork: () => openWork(core),
    settlements: core.accounting.settlements,
    get limits() {
      return core.limits();
    },
    health,
    routes,
    async reload(next, prepare = async () => () => {}) {
      await liveCatalog.apply(next, prepare);
      health.keepOnly(labelsOf(liveCatalog.catalogue));
      core.requestMetrics.keepOnly(new Set(liveCatalog.catalogue.models.map(({ id }) => id)));
      // Reports the edition that is served now; the next beat would, too.
      void core.accounting.nodes.beat().catch(() => {});
    },
    async close(abort) {
      isStopping = true;
      parts.pages.stop();
      await drain(server, core.limits().drainTimeoutMs, parts.clock, abort);
      await closing.disposeAsync();
    },
  };
}

async function probe(
  core: GatewayCore,
  model: string,
  label: string,
): Promise<readonly ProbeReport[] | null> {
  const candidate = core.liveCatalog.catalogue.find(model)?.candidates.find((one) => one.label === label);
  if (candidate === undefined) return null;
  const signal = new AbortController().signal;
  return probeCandidate(targetsOf(core), candidate, { requestId: 'console-test', signal });
}

/** Registers the metrics that are read from the parts. */
function measure(core: GatewayCore, server: Served, opened: AsyncDisposableStack): void {
  const { registry, liveCatalog, health, drains, clock } = core;
  addGatewayMetrics(core, server);
  new UpstreamMetrics(registry, { catalogue: () => liveCatalog.catalogue, health, drains });
  const loopDelay = new EventLoopDelay(registry, clock);
  opened.defer(() => loopDelay.close());
}

async function drain(server: Served, limitMs: number, clock: Clock, abort: AbortSignal): Promise<void> {
  const drained = server.drain();
  const cut = (): void => server.abort(new ServerStopping('the server is stopping'));
  const timer = clock.after(limitMs, cut);
  if (abort.aborted) cut();
  abort.addEventListener('abort', cut, { once: true });
  await drained;
  timer.cancel();
  abort.removeEventListener('abort', cut);
}
