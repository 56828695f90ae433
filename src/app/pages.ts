import { fileURLToPath } from 'node:url';
import { KeyService } from '../accounts/key-service.ts';
import { readKey } from '../accounts/keys.ts';
import type { Config } from '../config/config.ts';
import type { Identity } from '../identity/identity.ts';
import type { Log } from '../log/log.ts';
import { type ConsoleParts, consoleRows } from '../pages/console/rows.ts';
import { type DashboardParts, dashboardRows } from '../pages/dashboard/rows.ts';
import { IdempotentChanges } from '../pages/idempotency.ts';
import { PageServer } from '../pages/page-server.ts';
import type { Sessions } from '../pages/page-session.ts';
import { PublicReads } from '../pages/public-reads.ts';
import { Watchers } from '../pages/watchers.ts';
import { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';
import type { Health } from '../upstreams/health.ts';
import type { Accounting } from './accounting.ts';
import type { LiveCatalog } from './live-catalog.ts';

/** What the pages of one process need. */
export interface PagesParts {
  /** For changes: that of the process. */
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly identity: Identity;
  /** Who is signed in; identity when absent. */
  readonly sessions?: Sessions;
  /** `web/dist`; the one beside the program when absent. */
  readonly distFolder?: string;
}

/** What the pages of both areas share in one process. */
export interface Pages {
  /** Reads of the pages: a pool of their own, so that the slowest page never delays a call. */
  readonly reads: Database;
  readonly watchers: Watchers;
  readonly changes: IdempotentChanges;
  dashboard(gateway: DashboardSources): PageServer;
  console(parts: Omit<ConsoleParts, keyof CommonParts>): PageServer;
  /** Ends the live views, so that a drain does not wait for them. */
  stop(): void;
  close(): Promise<void>;
}

/** What the rows of both areas need. */
type CommonParts = Pick<
  DashboardParts & ConsoleParts,
  'reads' | 'database' | 'clock' | 'identity' | 'watchers'
>;

/** What the dashboard shows of a gateway. */
export interface DashboardSources {
  readonly config: Config;
  /** The current ones: a reload may change them. */
  readonly limits: () => Config['limits'];
  readonly accounting: Accounting;
  readonly keyService: KeyService;
  readonly liveCatalog: Pick<LiveCatalog, 'catalogue' | 'config'>;
  readonly health: Health;
  readonly drains: DashboardParts['drains'];
  readonly slots: DashboardParts['slots'];
}

/** Connections for reads of the pages. */
const readConnections = 2;
/** How long a read of a page may take. */
const readTimeoutMs = 5_000;
const builtFolder = fileURLToPath(new URL('../../web/dist', import.meta.url));

/** Opens what the pages of one process share. */
export function openPages({
  database,
  clock,
  log,
  identity,
  sessions = identity,
  distFolder = builtFolder,
}: PagesParts): Pages {
  const reads = new Database(database.address, readConnections, readTimeoutMs);
  const watchers = new Watchers({ sessions, clock, log });
  const changes = new IdempotentChanges({ database, clock });
  const common = { reads, database, clock, identity, watchers };
  const shared = { sessions, changes, log, distFolder };
  return {
    reads,
    watchers,
    changes,
    dashboard: (gateway) => {
      const rows = dashboardRows(dashboardParts(gateway, common));
      return new PageServer({ ...shared, area: 'dashboard', rows });
    },
    console: (parts) =>
      new PageServer({ ...shared, area: 'console', rows: consoleRows({ ...parts, ...common }) }),
    stop: () => watchers.close(),
    close: () => reads.close(),
  };
}

function dashboardParts(
  { config, limits, accounting, keyService, liveCatalog, health, drains, slots }: DashboardSources,
  common: CommonParts,
): DashboardParts {
  const { accounts, keys } = accounting;
  const { prefix: keyPrefix, maxPerAccount } = config.keys;
  const { reads, clock } = common;
  const { samples, syncKey } = config.datasets;
  return {
    ...common,
    publicReads: new PublicReads(clock),
    datasets: { database: reads, clock, samples: samples && syncKey === null },
    publicOrigin: config.auth.publicUrl,
    readKey: (hash) => readKey(reads, hash),
    accounts,
    balanceOf: async (accountId) => (await accounts.current(accountId))?.balance ?? 0n,
    debtFloor: () => limits().debtFloorKrw,
    settlements: accounting.settlements,
    catalogue: () => liveCatalog.catalogue,
    providers: () => liveCatalog.config,
    health,
    drains,
    slots,
    keyService,
    keyReader: new KeyService({ database: reads, cache: keys, clock, keyPrefix, maxPerAccount }),
  };
}
