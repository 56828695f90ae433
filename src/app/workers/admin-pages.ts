import { Refusal } from '../../errors/catalogue.ts';
import type { AdminPage } from '../../http/serve-admin.ts';
import type { CandidateReport } from '../../routing/health-report.ts';
import { renderPage } from '../metrics/page.ts';
import { addCounter, addGauge, type MetricData, type Registry } from '../metrics/registry.ts';
import type { AdminHealth, AdminRoute } from '../route-explain.ts';
import { metricsOf, rowsOf } from './merge-metrics.ts';
import type { PageAnswer } from './messages.ts';
import type { WorkerSupervisor } from './supervisor.ts';

/**
 * The admin port of a parent: the metrics of its workers and slots, the health of the candidates as each worker measured it, and the
 * routing of a request as the first worker would decide it.
 */
export function workerPages(
  team: WorkerSupervisor,
  dataDir: string,
  own: () => Promise<readonly MetricData[]>,
): Readonly<Record<string, AdminPage>> {
  const ask = async <T>(path: string, query: URLSearchParams) => {
    const answers = await team.askAll((link) => link.request('page', { path, query: query.toString() }));
    return answers.map(({ worker, response }) => ({ worker, response: unwrapped(response) as T }));
  };
  return {
    '/metrics': async () =>
      renderPage([...metricsOf(await team.askAll((link) => link.request('metrics'))), await own()]),
    '/route': async (query): Promise<AdminRoute> => {
      const [first] = await ask<AdminRoute>('/route', query);
      if (first === undefined) throw new Error('no worker is serving');
      return { ...first.response, data_dir: dataDir, worker: first.worker };
    },
    '/route/health': async (query): Promise<AdminHealth> => {
      const all = await ask<AdminHealth>('/route/health', query);
      const candidates = all.map(({ worker, response }) => ({ worker, response: response.candidates }));
      return { data_dir: dataDir, candidates: rowsOf<CandidateReport>(candidates) };
    },
  };
}

function unwrapped(answer: PageAnswer): string | object {
  if ('response' in answer) return answer.response;
  const { failure, message, extras } = answer.refused;
  throw new Refusal(failure, message, extras as never);
}

/** Registers what a parent knows of its workers. */
export function addTeamMetrics(
  registry: Registry,
  team: Pick<WorkerSupervisor, 'serving' | 'restarts'>,
): void {
  addGauge(registry, { name: 'naru_workers', help: 'Workers that serve.' }, () => [{ value: team.serving }]);
  addCounter(
    registry,
    { name: 'naru_worker_restarts_total', help: 'Workers that ended and were replaced.' },
    () => [{ value: team.restarts }],
  );
}
