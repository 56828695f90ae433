import { type CliPaths, readConfig, settingsOf } from '../app/config-source.ts';
import type { ProcessContext } from '../app/process-context.ts';
import { buildCatalogue, statedPrices } from '../catalogue/catalogue.ts';
import { noDrains } from '../catalogue/model.ts';
import type { Config } from '../config/config.ts';
import { Refusal } from '../errors/catalogue.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { explainRoute, queryOf, type RouteQuestion } from '../inference/explain-route.ts';
import type { RouteReport } from '../inference/route-reports.ts';
import type { Explanation, Knowledge } from '../routing/explain-plan.ts';
import type { CandidateReport } from '../routing/health-report.ts';
import { noHealthData } from '../upstreams/health-status.ts';
import { callServer, serverIsAway } from './control-client.ts';

/** The routing explanation of a request, and whether it uses live health data. */
export interface RouteExplanation {
  readonly knowledge: Knowledge;
  readonly explanation: Explanation;
  /** The worker that responded, of a server with several. */
  readonly worker: number | null;
}

/** A healthy server responds far sooner. */
const responseTimeoutMs = 10_000;

/**
 * Explains the routing of a request: by the running server, or without one from the configuration
 * alone. Throws an `OperatorError` for a request that the API rejects.
 */
export async function explainServerRoute(
  paths: CliPaths,
  question: RouteQuestion,
  proc: ProcessContext,
): Promise<RouteExplanation> {
  const settings = settingsOf(paths, proc);
  const report = (await callServerAt(settings.dataDir, `/route?${queryOf(question)}`)) as RouteReport | null;
  if (report === null) return explainOffline(question, readConfig(settings, proc));
  return { knowledge: 'live', explanation: report.explanation, worker: report.worker ?? null };
}

/** The health of the candidates of the running server; null when none is running. */
export async function readRouteHealth(
  paths: CliPaths,
  proc: ProcessContext,
): Promise<readonly CandidateReport[] | null> {
  const { dataDir } = settingsOf(paths, proc);
  return (await callServerAt(dataDir, '/route/health')) as readonly CandidateReport[] | null;
}

function explainOffline(question: RouteQuestion, config: Config): RouteExplanation {
  try {
    const known = {
      catalogue: buildCatalogue(config, statedPrices(config, 0)),
      health: noHealthData,
      drains: noDrains,
      knowledge: 'none',
    } as const;
    return { knowledge: 'none', explanation: explainRoute(question, known), worker: null };
  } catch (error) {
    if (error instanceof Refusal) throw new OperatorError(error.message);
    throw error;
  }
}

/**
 * The response of the server with this data directory; null when none is running. Throws its
 * errors.
 */
async function callServerAt(dataDir: string, path: string): Promise<unknown> {
  try {
    return await callServer(dataDir, { method: 'GET', path, limitMs: responseTimeoutMs });
  } catch (thrown) {
    if (await serverIsAway(thrown, dataDir)) return null;
    throw thrown;
  }
}
