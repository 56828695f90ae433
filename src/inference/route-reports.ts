import { Refusal, statusOf } from '../errors/catalogue.ts';
import type { ControlHandler, ControlResponse } from '../http/control/serve.ts';
import type { Explanation } from '../routing/explain-plan.ts';
import { type CandidateReport, type HealthSources, reportHealth } from '../routing/health-report.ts';
import { explainRoute, questionOf } from './explain-route.ts';

/** The body of `GET /route` on the control socket. */
export interface RouteReport {
  readonly explanation: Explanation;
  /** The worker that responded, of a server with several; each measures health on its own. */
  readonly worker?: number;
}

/**
 * Handles `GET /route?model=…` (200 with a `RouteReport`, or the error that the API returns for
 * such a request) and `GET /route/health` (200 with a `CandidateReport` of each candidate) of the
 * control socket, for `naru route`.
 */
export function routeReports(sources: () => HealthSources): ControlHandler {
  return async (method, path, query) => {
    const [, name, ...more] = path;
    if (more.length > 0 || (name !== undefined && name !== 'health'))
      return { status: 404, body: { error: 'no such path' } };
    if (method !== 'GET') return { status: 405, body: { error: 'use GET' } };
    if (name === undefined) return explained(query, sources());
    return { status: 200, body: reportHealth(sources()) satisfies readonly CandidateReport[] };
  };
}

function explained(query: URLSearchParams, sources: HealthSources): ControlResponse {
  try {
    const explanation = explainRoute(questionOf(query), { ...sources, knowledge: 'live' });
    return { status: 200, body: { explanation } satisfies RouteReport };
  } catch (thrown) {
    if (!(thrown instanceof Refusal)) throw thrown;
    return { status: statusOf(thrown.failure), body: { error: thrown.message } };
  }
}
