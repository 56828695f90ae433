import { publishAtStart, publishOwn } from '../catalogue/own-publication.ts';
import type { Config } from '../config/config.ts';
import type { AdminServer } from '../http/serve-admin.ts';
import type { Identity } from '../identity/identity.ts';
import type { Log } from '../log/log.ts';
import { renderPage } from '../metrics/page.ts';
import { type MetricData, readRegistry } from '../metrics/registry.ts';
import { DatasetRuns } from '../operations/dataset-runs.ts';
import { LedgerVerification } from '../operations/ledger-verification.ts';
import { openIdentity } from '../operations/open-identity.ts';
import type { RunningConfiguration } from '../pages/console/configuration.ts';
import type { PageServer } from '../pages/page-server.ts';
import type { Sessions } from '../pages/page-session.ts';
import type { Processes } from '../slots/drivers/processes.ts';
import type { Slots } from '../slots/slots.ts';
import type { Database } from '../store/database.ts';
import type { FollowingClock } from '../time/clock.ts';
import { openAdmin } from './admin-server.ts';
import { startBackups } from './backups.ts';
import { type ConfigFile, openConsoleOperations } from './console-operations.ts';
import { assertNoRestart } from './live-catalog.ts';
import { openPages, type Pages } from './pages.ts';
import type { ProcessContext } from './process-context.ts';
import { SharedServices } from './shared-services.ts';
import type { WorkerGroup, WorkerServices } from './workers/worker-group.ts';

/** The parts of a server. */
export interface ServerParts
  extends Pick<WorkerServices, 'onPublished' | 'onSuperseded' | 'onHistoryChanged' | 'journal' | 'tokens'> {
  readonly config: Config;
  /** An open database; the caller closes it after the server. */
  readonly database: Database;
  readonly dataDir: string;
  readonly proc: Pick<ProcessContext, 'version' | 'uid' | 'env'>;
  readonly configuration: RunningConfiguration;
  readonly clock: FollowingClock;
  readonly log: Log;
  readonly processes: Processes;
  readonly workers: WorkerGroup;
  /** Resolves when the start should be given up. */
  readonly stopRequested: Promise<void>;
  /** What the console compares and publishes; the configuration in effect when absent. */
  readonly configFile?: ConfigFile;
  /** Who is signed in to the pages; the identity room when absent. */
  readonly sessions?: Sessions;
  /** The folder of the built pages; that beside the program when absent. */
  readonly distFolder?: string;
}

/** Workers that serve, with what they share. */
export interface Server {
  readonly port: number;
  readonly admin: AdminServer;
  readonly slots: Slots;
  readonly identity: Identity;
  /** Those in effect: a reload may change them. */
  readonly limits: Config['limits'];
  /** The content of the metrics page. */
  metrics(): Promise<readonly MetricData[]>;
  /** The last edition that this server published; 0: none. */
  readonly ownEdition: number;
  /**
   * Applies another configuration at the published prices; throws and changes nothing when that
   * needs a restart (spec:operator/2.3). With `mayPublish`, what it changes is published first if
   * no other server is live.
   */
  reload(next: Config, mayPublish?: boolean): Promise<void>;
  /** Applies the configuration in effect at the published prices. */
  keepConfiguration(): Promise<void>;
  /** Drains the requests in flight until `abort` does, and closes everything. */
  close(abort: AbortSignal): Promise<void>;
}

/**
 * Starts the engines, the workers and the admin port; null when a stop was requested first. Leaves
 * nothing open when it throws.
 */
export async function startServer(parts: ServerParts): Promise<Server | null> {
  const { config, database, workers, clock, log, stopRequested } = parts;
  await using opened = new AsyncDisposableStack();
  const identity = openIdentity(database, clock, config.auth.oidc);
  const pages = openPages({ identity, ...parts });
  opened.defer(() => pages.close());
  let ownEdition = await publishAtStart(config, parts);
  const shared = await SharedServices.open(parts);
  opened.defer(() => shared.close());
  // The workers always end before the parts that they use.
  opened.defer(() => workers.stop(0, AbortSignal.abort()));
  const serving = workers.serve({
    ...parts,
    config: () => shared.config,
    slots: shared.slots,
    rate: shared.rate,
    pages,
    identity,
  });
  const port = await Promise.race([serving, stopRequested]);
  if (port === undefined) return null;
  const backups = await startBackups(parts, () => shared.config.backup, opened);
  const lists = async () => [
    ...(await workers.metrics()),
    await shared.metrics(),
    await readRegistry(backups),
  ];
  const metricsPage = async () => renderPage(await lists());
  const app = openConsole(parts, { shared, identity, pages }, opened);
  const admin = await openAdmin({ pages: { '/metrics': metricsPage }, app, clock, log }, config.admin);
  opened.defer(() => admin.close());
  const closing = opened.move();
  return {
    port,
    admin,
    slots: shared.slots,
    identity,
    get limits() {
      return shared.config.limits;
    },
    metrics: async () => (await lists()).flat(),
    get ownEdition() {
      return ownEdition;
    },
    async reload(next, mayPublish = true) {
      assertNoRestart(shared.config, next);
      await workers.reload(next, async () => {
        const follow = await shared.prepare(next);
        ownEdition = await publishOwn(next, parts, { mayPublish, before: ownEdition });
        return follow;
      });
    },
    keepConfiguration: () => workers.reload(shared.config, () => shared.prepare(shared.config)),
    async close(abort) {
      pages.stop();
      await workers.stop(shared.config.limits.drainTimeoutMs, abort);
      await closing.disposeAsync();
    },
  };
}

/** The console of a server; what is to be closed goes to `opened`. */
function openConsole(
  parts: ServerParts,
  {
    shared,
    identity,
    pages,
  }: { readonly shared: SharedServices; readonly identity: Identity; readonly pages: Pages },
  opened: AsyncDisposableStack,
): PageServer {
  const { config, database, workers, clock, log } = parts;
  const file = parts.configFile ?? { read: () => shared.config, readToPublish: () => shared.config };
  const datasetRuns = new DatasetRuns({ clock, database, log, identity, settings: config.datasets });
  opened.defer(() => datasetRuns.close());
  const verification = new LedgerVerification({ clock, database, log, identity });
  opened.defer(() => verification.stop());
  return pages.console({
    config: () => shared.config,
    slots: shared.slots,
    processes: workers,
    liability: config.liability,
    operations: openConsoleOperations(database, clock, config, { identity, file }),
    datasets: config.datasets,
    datasetRuns,
    verification,
    dataDir: parts.dataDir,
    configuration: parts.configuration,
    log,
  });
}
