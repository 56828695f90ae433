import type { AccountCache } from '../accounts/account-cache.ts';
import type { KeyHash } from '../accounts/api-key.ts';
import type { KeyService } from '../accounts/key-service.ts';
import type { KeyRow } from '../accounts/keys.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { DrainView } from '../catalogue/model.ts';
import type { publicProviders } from '../catalogue/public-providers.ts';
import type { Config } from '../config/config.ts';
import type { DescribedConfig } from '../config/describe-config.ts';
import type { DatasetParts } from '../datasets/dataset.ts';
import type { ControlHandler } from '../http/control/serve.ts';
import type { Identity } from '../identity/identity.ts';
import type { ProbeReport } from '../inference/probe-candidate.ts';
import type { Settlements } from '../ledger/settlements.ts';
import type { Log } from '../log/log.ts';
import type { Krw } from '../money/krw.ts';
import type { LedgerVerification } from '../operations/ledger-verification.ts';
import type { OperatorService } from '../operations/operator-service.ts';
import type { Payments } from '../operations/payment-operations.ts';
import type { SlotStatus, Slots } from '../slots/contract.ts';
import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';
import type { HealthView } from '../upstreams/health-status.ts';
import type { FiguresOfProcess } from './console/live-figures.ts';
import type { WorkOfProcess } from './console/open-work-body.ts';
import type { PublicReads } from './public-reads.ts';
import type { Watchers } from './watchers.ts';

/** What the rows of both areas use. Their handlers use it; the rows themselves are made without. */
export interface PageContext {
  /** For reads: a pool of the pages alone, so that the slowest page never delays a call. */
  readonly reads: Database;
  /** For changes. */
  readonly database: Database;
  readonly clock: Clock;
  readonly identity: Identity;
  readonly watchers: Watchers;
}

/** What sign-in at an address of an area uses besides. */
export interface SitePageContext extends PageContext {
  /** The origin that the configuration states; null: the one that the browser uses. */
  readonly publicOrigin: string | null;
  /** The one in effect. */
  readonly config: () => Pick<Config, 'mail' | 'webhooks'>;
}

/** What the rows of the dashboard use. */
export interface DashboardContext extends SitePageContext {
  readonly config: () => Pick<Config, 'company' | 'mail' | 'topup' | 'vat' | 'webhooks'>;
  /** Null: no provider of payments by card is configured. */
  readonly payments: Payments | null;
  readonly readKey: (hash: KeyHash) => Promise<KeyRow | null>;
  readonly accounts: AccountCache;
  /** The balance of an account in micro-won; zero when there is no account. */
  readonly balanceOf: (accountId: number) => Promise<bigint>;
  /** The current debt floor, positive. */
  readonly debtFloor: () => Krw;
  /** Settled here, and not in the database yet. */
  readonly settlements: Pick<Settlements, 'find'>;
  /** The use cases of `/api/v1/keys`, for changes. */
  readonly keyService: KeyService;
  /** The same on the pool of the pages, for reads. */
  readonly keyReader: Pick<KeyService, 'page' | 'read'>;
  readonly catalogue: () => Catalogue;
  readonly health: HealthView;
  /** Which candidates the operator drained, as this process knows it. */
  readonly drains: DrainView;
  /** The slots of this machine; null: the process that has them has not responded yet. */
  readonly slots: () => Promise<SlotReading | null>;
  /** The configured providers and slots. */
  readonly providers: () => Parameters<typeof publicProviders>[0];
  /** On the pool of the pages. */
  readonly datasets: DatasetParts;
  readonly publicReads: PublicReads;
}

/** What the rows of the console use. */
export interface ConsoleContext extends SitePageContext {
  /** Where browsers reach the dashboard: for the links of owners. */
  readonly dashboardOrigin: string;
  readonly log: Log;
  /** Where the logs of the engines are. */
  readonly dataDir: string;
  /** The one in effect. */
  readonly config: () => Config;
  readonly configuration: RunningConfiguration;
  /** The use cases of the command line. */
  readonly operations: OperatorService;
  readonly slots: Pick<Slots, 'statuses' | 'status' | 'start' | 'stop' | 'pin' | 'usedGpuMb'>;
  readonly processes: ServingProcesses;
  /** The thresholds of the configuration. */
  readonly liability: Config['liability'];
  readonly datasets: Config['datasets'];
  readonly verification: LedgerVerification;
}

/** The processes of a server. */
export interface ServingProcesses {
  /** The number of processes that serve when all are well. */
  readonly size: number;
  /** What the console shows of each process that serves. */
  figures(): Promise<readonly FiguresOfProcess[]>;
  /** The requests in flight of each process, and what it has not settled. */
  openWork(): Promise<readonly WorkOfProcess[]>;
  /** Handles `/route` and `/route/health` of the control socket. */
  readonly routeReports: ControlHandler;
  /** Calls a candidate for a test, from one process; null when there is none. */
  probe(model: string, candidate: string): Promise<readonly ProbeReport[] | null>;
}

/** The configuration of this server, and its file. */
export interface RunningConfiguration {
  /** The configuration file; null: there is none, and the built-in configuration is in effect. */
  readonly file: string | null;
  /** What is in effect. */
  readonly running: DescribedConfig;
  /** The last reload since the start; null: there was none. `error` says why it changed nothing. */
  readonly lastReload: { readonly atMs: number; readonly error: string | null } | null;
  /** The configuration that the file on the disk has now. Throws when it cannot be read. */
  onDisk(): DescribedConfig;
  /** Reloads as SIGHUP does; resolves with why nothing was changed, or null. */
  reload(): Promise<string | null>;
}

/** The states of the slots of this machine. */
export interface SlotReading {
  readonly statuses: readonly SlotStatus[];
  readonly asOfMs: number;
  /** The process that has the slots does not respond: this is what it reported last. */
  readonly isStale: boolean;
}
