import { hostname } from 'node:os';
import { BackupJob } from '../backup/backup-job.ts';
import { backupMetrics } from '../backup/metrics.ts';
import { publishAtStart, publishOwn } from '../catalogue/own-publication.ts';
import type { Config } from '../config/config.ts';
import { defaultPorts } from '../config/defaults.ts';
import { type AdminParts, type AdminServer, serveAdmin } from '../http/serve-admin.ts';
import type { Identity } from '../identity/identity.ts';
import { pageOrigins } from '../identity/page-links.ts';
import { Messages } from '../messages/messages.ts';
import { addMessageMetrics } from '../messages/metrics.ts';
import { watchConditions, watchSlots } from '../messages/watch.ts';
import { type MetricData, type Registry, readRegistry, renderPage } from '../metrics/registry.ts';
import { LedgerVerification } from '../operations/ledger-verification.ts';
import { openIdentity } from '../operations/open-identity.ts';
import { createOperatorService } from '../operations/operator-service.ts';
import { openPaymentProvider } from '../operations/payment-operations.ts';
import { consoleRows } from '../pages/console/rows.ts';
import type { RunningConfiguration } from '../pages/context.ts';
import type { PageServer } from '../pages/page-server.ts';
import { openPages, type Pages, type PagesParts } from '../pages/pages.ts';
import type { Processes } from '../slots/drivers/processes.ts';
import type { Slots } from '../slots/slots.ts';
import { addReload } from './gateway-metrics.ts';
import { JobRunner } from './job-runner.ts';
import { assertNoRestart } from './live-catalog.ts';
import type { ProcessContext } from './process-context.ts';
import { SharedServices } from './shared-services.ts';
import type { WorkerGroup, WorkerServices } from './workers/worker-group.ts';

/** The configuration file of a server. */
export interface ConfigFile {
  /** Reads it; throws an `OperatorError` that lists its faults. */
  readonly read: () => Config;
  /** The same for a publication, which keeps the model metadata that it uses. */
  readonly readToPublish: () => Config;
}

/** The parts of a server. */
export interface ServerParts
  extends Omit<WorkerServices, 'version' | 'config' | 'slots' | 'rate' | 'pages' | 'identity'>,
    Pick<PagesParts, 'sessions' | 'distFolder'> {
  readonly config: Config;
  readonly proc: Pick<ProcessContext, 'version' | 'uid' | 'env'>;
  readonly configuration: RunningConfiguration;
  readonly processes: Processes;
  readonly workers: WorkerGroup;
  /** Resolves when the start should be given up. */
  readonly stopRequested: Promise<void>;
  /** What the console compares and publishes; the configuration in effect when absent. */
  readonly configFile?: ConfigFile;
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
  const identity = openIdentity(database, clock, config.auth.oidc, config.admin);
  const pages = openPages({ identity, ...parts });
  opened.defer(() => pages.close());
  let ownEdition = await publishAtStart(config, parts);
  const shared = await SharedServices.open(parts);
  opened.defer(() => shared.close());
  // The workers always end before the parts that they use.
  opened.defer(() => workers.stop(0, AbortSignal.abort()));
  const serving = workers.serve({
    ...parts,
    version: parts.proc.version,
    config: () => shared.config,
    slots: shared.slots,
    rate: shared.rate,
    pages,
    identity,
  });
  const port = await Promise.race([serving, stopRequested]);
  if (port === undefined) return null;
  const backups = await startBackups(parts, () => shared.config.backup, opened);
  addMessageMetrics(backups, startMessages(parts, shared, opened), clock);
  addReload(backups, () => parts.configuration.lastReload, clock.now());
  const lists = async () => [
    ...(await workers.metrics()),
    await shared.metrics(),
    await readRegistry(backups),
  ];
  const metricsPage = async () => renderPage(await lists());
  const app = openConsole(parts, { shared, identity, pages, port }, opened);
  const { trustedProxies } = config.edge;
  const adminParts = { pages: { '/metrics': metricsPage }, app, trustedProxies, clock, log };
  const admin = await openAdmin(adminParts, config.admin);
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

/** Starts the scheduled backups of a server, which `opened` closes; returns their metrics. */
async function startBackups(
  { database, clock, log, dataDir, proc: { version, uid, env } }: ServerParts,
  config: () => Config['backup'],
  opened: AsyncDisposableStack,
): Promise<Registry> {
  const drill = { dataDir, uid, env };
  const backups = await BackupJob.open({ config, database, clock, log, version, drill });
  opened.defer(() => backups.close());
  const job = { name: 'back-up', everyMs: 10_000, run: () => backups.runDue() };
  const jobs = new JobRunner([job], { clock, log });
  opened.defer(() => jobs.close());
  return backupMetrics({ config, summaries: () => backups.summaries });
}

/** Sends messages, and looks for what causes some; `opened` ends it. Returns the sender. */
function startMessages(
  { database, clock, log }: ServerParts,
  shared: SharedServices,
  opened: AsyncDisposableStack,
): Messages {
  const messages = new Messages({ database, clock, log, config: () => shared.config });
  const slots = () => ({ host: hostname(), statuses: shared.slots.statuses(), atMs: clock.now() });
  const watchEveryMs = 60_000;
  const jobs = new JobRunner(
    [
      { name: 'send-messages', everyMs: 5_000, run: () => messages.run() },
      { name: 'measure-messages', everyMs: 15_000, run: () => messages.measure() },
      {
        name: 'watch-conditions',
        everyMs: watchEveryMs / 4,
        run: (nowMs) => watchConditions(database, nowMs, watchEveryMs),
      },
      { name: 'watch-slots', everyMs: watchEveryMs, run: () => watchSlots(database, slots()) },
      { name: 'forget-messages', everyMs: 3_600_000, run: () => messages.forgetOld() },
    ],
    { clock, log },
  );
  opened.defer(() => jobs.close());
  return messages;
}

/** The console of a server; what is to be closed goes to `opened`. */
function openConsole(
  parts: ServerParts,
  {
    shared,
    identity,
    pages,
    port,
  }: {
    readonly shared: SharedServices;
    readonly identity: Identity;
    readonly pages: Pages;
    readonly port: number;
  },
  opened: AsyncDisposableStack,
): PageServer {
  const { config, database, workers, clock, log } = parts;
  const file = parts.configFile ?? { read: () => shared.config, readToPublish: () => shared.config };
  const verification = new LedgerVerification({ clock, database, log, identity });
  opened.defer(() => verification.stop());
  return pages.serve(
    'console',
    consoleRows({
      ...pages.context,
      publicOrigin: config.admin.publicUrl,
      dashboardOrigin: pageOrigins(config, { listen: port, admin: config.admin.port }).dashboard,
      config: () => shared.config,
      slots: shared.slots,
      processes: workers,
      liability: config.liability,
      operations: createOperatorService(database, {
        clock,
        keyPrefix: config.keys.prefix,
        maxKeysPerAccount: config.keys.maxPerAccount,
        supportCreditLimit: config.auth.supportCreditLimitKrw,
        payments: openPaymentProvider(config, clock),
        identity,
        catalogue: {
          get config() {
            return file.read();
          },
          configToPublish: file.readToPublish,
        },
        close: async () => {},
      }),
      datasets: config.datasets,
      verification,
      dataDir: parts.dataDir,
      configuration: parts.configuration,
      log,
    }),
    config.admin.publicUrl,
  );
}

/**
 * Listens on the admin port. If the default port is in use by another gateway on this machine,
 * listens on a free one.
 */
async function openAdmin(parts: AdminParts, address: Config['admin']): Promise<AdminServer> {
  try {
    return await serveAdmin(parts, address);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EADDRINUSE' || address.port !== defaultPorts.admin)
      throw error;
    return serveAdmin(parts, { ...address, port: 0 });
  }
}
