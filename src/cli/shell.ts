import type { FactsTaken } from '../config/model-metadata/apply-metadata.ts';
import type { Facts } from '../config/model-metadata/metadata.ts';
import type { RouteQuestion } from '../inference/explain-route.ts';
import type { Anchor } from '../ledger/ledger.ts';
import type { Explanation, Knowledge } from '../routing/explain-plan.ts';
import type { CandidateReport } from '../routing/health-report.ts';
import type { BackupDone, BackupOrder, RestoreDone } from './backup.ts';
import type { NewIdentity, Recovered, RecoverOrder } from './node-desk.ts';
import type { Office } from './office.ts';
import type { SlotDesk } from './slot-desk.ts';

/** Where the configuration and the data are; null for the default place. */
export interface Places {
  readonly config: string | null;
  readonly dataDir: string | null;
}

/** What `naru up` was told beside the configuration. */
export interface UpOptions extends Places {
  readonly host: string | null;
  readonly port: number | null;
  /** How many processes share the port. */
  readonly workers: number;
  readonly json: boolean;
}

/** One thing that `naru doctor` looked at; `words` carry the remedy when it is not in order. */
export interface Finding {
  readonly name: string;
  readonly ok: boolean;
  readonly words: string;
}

/** What was found in a configuration. */
export interface CheckedConfig {
  readonly file: string;
  /** Every fault as text; empty when there is none. */
  readonly faults: readonly string[];
  /** What is unsafe about it although it can be used, such as who may write it. */
  readonly warnings: readonly string[];
  /** What it takes from the public facts; null when it has faults or takes none. */
  readonly facts: FactsTaken | null;
}

/** Why a request would be answered by whom, and how much of the candidates' health that takes into account. */
export interface RouteAnswer {
  readonly knowledge: Knowledge;
  readonly explanation: Explanation;
  /** The worker that was asked, of a server that has several. */
  readonly worker: number | null;
}

/** What replacing the copy of the public facts came to; ids, in order. */
export interface RefreshedFacts {
  readonly path: string;
  readonly asOf: string;
  readonly source: string;
  readonly models: number;
  readonly added: readonly string[];
  readonly gone: readonly string[];
  /** With another price than in the copy before. */
  readonly priced: readonly string[];
  /** Rows that were not understood, by the reason. */
  readonly left: ReadonlyMap<string, number>;
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
  /** The slots, through the server that runs if there is one. */
  openSlotDesk(places: Places): Promise<SlotDesk>;
  /** Copies the books into a folder. */
  backUp(places: Places, order: BackupOrder): Promise<BackupDone>;
  /** Where the chains of the ledger stood when a backup was made, by account. */
  readAnchors(from: string): Promise<ReadonlyMap<number, Anchor>>;
  /** Puts a backup into an empty database. `continues`: the books go on there, and journals of the original are settled there. */
  restore(places: Places, from: string, continues: boolean): Promise<RestoreDone>;
  /** Makes a copied data directory a node of its own, and each of its workers. */
  newIdentity(places: Places): Promise<readonly NewIdentity[]>;
  /** Settles what a journal holds, from a disk or a copy. */
  recover(places: Places, order: RecoverOrder): Promise<Recovered>;
  /** Serves until a signal; resolves with the exit code. */
  up(options: UpOptions): Promise<number>;
  /** Every fault of the configuration, or what it takes from the public facts. */
  checkConfig(places: Places): Promise<CheckedConfig>;
  /** The public facts that the configuration takes from, whether it has faults or not. */
  readFacts(places: Places): Promise<Facts & { readonly origin: string }>;
  /** Replaces the operator's copy of the public facts; `from` is a file or a URL, null for those that came with Naru. */
  refreshFacts(places: Places, from: string | null): Promise<RefreshedFacts>;
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
