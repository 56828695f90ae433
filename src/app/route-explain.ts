import { buildCatalogue } from '../catalogue/catalogue.ts';
import type { Config } from '../config/config.ts';
import { Refusal } from '../errors/catalogue.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { explainRoute, queryOf, type RouteQuestion } from '../inference/explain-route.ts';
import type { Explanation, Knowledge } from '../routing/explain-plan.ts';
import type { CandidateReport } from '../routing/health-report.ts';
import { noHealthData } from '../upstreams/health-status.ts';
import type { CliPaths } from './cli-options.ts';
import { readConfig, settingsOf } from './config-source.ts';
import type { ProcessContext } from './process-context.ts';

/** The routing explanation of a request, and whether it uses live health data. */
export interface RouteAnswer {
  readonly knowledge: Knowledge;
  readonly explanation: Explanation;
  /** The worker that responded, of a server with several. */
  readonly worker: number | null;
}

/** A local server responds quickly, or is too busy for useful health data. */
const askForMs = 3_000;

/** The response of the admin port; `data_dir` identifies the server. */
export interface AdminRoute {
  readonly data_dir: string;
  readonly explanation: Explanation;
  /** The worker that responded; each has its own health data. */
  readonly worker?: number;
}
export interface AdminHealth {
  readonly data_dir: string;
  readonly candidates: readonly CandidateReport[];
}

/** Explains the routing of a request: by the running server, otherwise from the configuration alone. */
export async function explainServerRoute(
  places: CliPaths,
  question: RouteQuestion,
  proc: ProcessContext,
): Promise<RouteAnswer> {
  const settings = settingsOf(places, proc);
  const config = readConfig(settings, proc);
  const live = await ask<AdminRoute>(config, settings.dataDir, `/route?${queryOf(question)}`);
  if (live !== null) return { knowledge: 'live', explanation: live.explanation, worker: live.worker ?? null };
  try {
    const known = {
      catalogue: buildCatalogue(config, () => 0),
      health: noHealthData,
      knowledge: 'none',
    } as const;
    return { knowledge: 'none', explanation: explainRoute(question, known), worker: null };
  } catch (error) {
    if (error instanceof Refusal) throw new OperatorError(error.message);
    throw error;
  }
}

/** The health of the candidates of the running server; null when none is running. */
export async function readRouteHealth(
  places: CliPaths,
  proc: ProcessContext,
): Promise<readonly CandidateReport[] | null> {
  const settings = settingsOf(places, proc);
  const config = readConfig(settings, proc);
  return (await ask<AdminHealth>(config, settings.dataDir, '/route/health'))?.candidates ?? null;
}

/** The response of the server with this data directory; null when it is not running. Throws its errors. */
async function ask<T extends { readonly data_dir: string }>(
  { admin }: Config,
  dataDir: string,
  path: string,
): Promise<T | null> {
  const host = admin.host.includes(':') ? `[${admin.host}]` : admin.host;
  let stated: T & { readonly error?: string };
  try {
    // Once per command, so the slow built-in client is fine; undici takes 100 ms to load.
    const response = await fetch(`http://${host}:${admin.port}${path}`, {
      signal: AbortSignal.timeout(askForMs),
      redirect: 'error',
    });
    stated = (await response.json()) as typeof stated;
  } catch {
    // Nothing listens there, or it does not return JSON.
    return null;
  }
  if (typeof stated.error === 'string') throw new OperatorError(stated.error);
  return stated.data_dir === dataDir ? stated : null;
}
