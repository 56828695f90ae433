import type { ControlHandler } from '../../http/control/serve.ts';
import type { RouteReport } from '../../inference/route-reports.ts';
import { addCounter, addGauge, labelled, type MetricData, type Registry } from '../../metrics/registry.ts';
import type { CandidateReport } from '../../routing/health-report.ts';
import type { OfWorker, WorkerSupervisor } from './supervisor.ts';

/**
 * Handles `/route` and `/route/health` of a parent's control socket: the routing of a request as
 * the first worker would decide it, and the health of the candidates as each worker measured it.
 */
export function workersRouteReports(supervisor: WorkerSupervisor): ControlHandler {
  return async (method, path, query) => {
    const request = { method, path, query: query.toString() };
    const responses = await supervisor.requestAll((channel) => channel.request('route', request));
    const [first] = responses;
    if (first === undefined) return { status: 503, body: { error: 'no worker is serving' } };
    const { worker, response } = first;
    if (response.status !== 200) return response;
    if (path[1] === undefined) return { status: 200, body: { ...(response.body as RouteReport), worker } };
    const rows = responses.map((each) => ({
      worker: each.worker,
      response: each.response.body as readonly CandidateReport[],
    }));
    return { status: 200, body: rowsOf(rows) };
  };
}

/** Registers what a parent knows of its workers. */
export function addWorkerMetrics(
  registry: Registry,
  supervisor: Pick<WorkerSupervisor, 'serving' | 'restarts'>,
): void {
  addGauge(registry, { name: 'naru_workers', help: 'Workers that serve requests.' }, () => [
    { value: supervisor.serving },
  ]);
  addCounter(
    registry,
    { name: 'naru_worker_restarts_total', help: 'Workers that ended and were restarted.' },
    () => [{ value: supervisor.restarts }],
  );
}

/**
 * The metrics of all workers, each series with its worker in the label `worker`. Sums would hide a
 * restart: only the series of one worker shows that its counter began again, and health is each
 * worker's own. The page shows each metric once.
 */
export function metricsOf(
  workers: readonly OfWorker<readonly MetricData[]>[],
): readonly (readonly MetricData[])[] {
  return workers.map(({ worker, response }) => labelled(response, 'worker', String(worker)));
}

/** The rows of all workers by candidate, each with its worker. */
export function rowsOf<Row extends { readonly candidate: string }>(
  workers: readonly OfWorker<readonly Row[]>[],
): readonly (Row & { readonly worker: number })[] {
  const rows = workers.flatMap(({ worker, response }) => response.map((row) => ({ worker, ...row })));
  return [...Map.groupBy(rows, ({ candidate }) => candidate).values()].flat();
}
