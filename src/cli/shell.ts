import type { Explanation, Knowledge } from '../inference/explain-plan.ts';
import type { RouteQuestion } from '../inference/explain-route.ts';
import type { CandidateReport } from '../inference/health-report.ts';
import type { Office } from './office.ts';

/** Where the configuration and the data are; null for the default place. */
export interface Places {
  readonly config: string | null;
  readonly dataDir: string | null;
}

/** What `naru up` was told beside the configuration. */
export interface UpOptions extends Places {
  readonly host: string | null;
  readonly port: number | null;
  readonly json: boolean;
}

/** One thing that `naru doctor` looked at; `words` carry the remedy when it is not in order. */
export interface Finding {
  readonly name: string;
  readonly ok: boolean;
  readonly words: string;
}

/** Why a request would be answered by whom, and how much of the candidates' health that takes into account. */
export interface RouteAnswer {
  readonly knowledge: Knowledge;
  readonly explanation: Explanation;
}

/** What the commands need of the process around them. */
export interface Shell {
  /** Writes to stdout; resolves when more can be taken. */
  out(text: string): Promise<void>;
  err(text: string): void;
  /** The version of Naru. */
  version(): string;
  /** Opens the database of the configuration, starting the embedded server if it does not run. */
  openOffice(places: Places): Promise<Office>;
  /** Serves until a signal; resolves with the exit code. */
  up(options: UpOptions): Promise<number>;
  /** Every fault of the configuration as text; empty when there is none. */
  checkConfig(places: Places): Promise<{ readonly file: string; readonly faults: readonly string[] }>;
  /** Everything that has to be right for serving, in order. */
  examine(places: Places): Promise<readonly Finding[]>;
  /** Asks the running server, if there is one, who would answer; throws a `CliError` for what the request would be refused for. */
  explainRoute(places: Places, question: RouteQuestion): Promise<RouteAnswer>;
  /** How the candidates of the running server do; null when none runs. */
  routeHealth(places: Places): Promise<readonly CandidateReport[] | null>;
}

/** The operator's mistake or a condition he can mend: printed as it is, exit code 1. */
export class CliError extends Error {
  override readonly name = 'CliError';
}
