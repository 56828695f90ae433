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

/** Why a request would be answered by whom, and how much of the candidates' health that takes into account. */
export interface RouteAnswer {
  readonly knowledge: Knowledge;
  readonly explanation: Explanation;
  /** The worker that was asked, of a server that has several. */
  readonly worker: number | null;
}

/** A server on this machine answers at once, or is busy enough that its health is no use. */
const askForMs = 3_000;

/** What the running server says on its admin port; `dataDir` tells that it is the one that was meant. */
export interface AdminRoute {
  readonly data_dir: string;
  readonly explanation: Explanation;
  /** Which of several workers decides so: health is each one's own. */
  readonly worker?: number;
}
export interface AdminHealth {
  readonly data_dir: string;
  readonly candidates: readonly CandidateReport[];
}

/** Why a request would be answered by whom: of the running server, else of the configuration alone. */
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

/** How the candidates of the running server do; null when none runs. */
export async function readRouteHealth(
  places: CliPaths,
  proc: ProcessContext,
): Promise<readonly CandidateReport[] | null> {
  const settings = settingsOf(places, proc);
  const config = readConfig(settings, proc);
  return (await ask<AdminHealth>(config, settings.dataDir, '/route/health'))?.candidates ?? null;
}

/** What the server with this data directory says; null when it does not run. Throws what it refuses. */
async function ask<T extends { readonly data_dir: string }>(
  { admin }: Config,
  dataDir: string,
  path: string,
): Promise<T | null> {
  const host = admin.host.includes(':') ? `[${admin.host}]` : admin.host;
  let stated: T & { readonly error?: string };
  try {
    // Once in a command, so the slow built-in client will do; undici takes 100 ms to load.
    const response = await fetch(`http://${host}:${admin.port}${path}`, {
      signal: AbortSignal.timeout(askForMs),
      redirect: 'error',
    });
    stated = (await response.json()) as typeof stated;
  } catch {
    // Nobody there, or somebody else who does not speak JSON.
    return null;
  }
  if (typeof stated.error === 'string') throw new OperatorError(stated.error);
  return stated.data_dir === dataDir ? stated : null;
}
