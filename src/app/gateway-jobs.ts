import { DatasetSync } from '../datasets/sync.ts';
import { UsageRoller } from '../generations/analytics/roll-usage.ts';
import { ensurePartitions } from '../generations/partitions.ts';
import { expireDueCredit } from '../ledger/credit.ts';
import { beatEveryMs } from '../nodes/node-registry.ts';
import { forgetOldChanges } from '../store/changes.ts';
import { ServerWatch } from '../store/server-watch.ts';
import { writeUptime } from '../upstreams/uptime-file.ts';
import type { GatewayCore } from './gateway-core.ts';
import { type Job, JobRunner } from './job-runner.ts';

/** Starts the periodic jobs of a gateway; what is to be closed goes to `opened`. */
export function startJobs(core: GatewayCore, opened: AsyncDisposableStack): void {
  const { config, database, clock, log, alarms } = core;
  const datasets = new DatasetSync({ settings: config.datasets, database, clock, log });
  opened.defer(() => datasets.close());
  const jobs = new JobRunner(
    [
      ...accountingJobs(core),
      ...databaseJobs(core),
      ...paymentJobs(core),
      {
        name: 'read-certificates',
        everyMs: 600_000,
        run: async () => {
          await Promise.all(core.certificates.map((certificate) => certificate.look()));
        },
      },
      { name: 'keep-uptime', everyMs: 300_000, run: () => writeUptime(core.dataDir, core.health.kept()) },
      { name: 'read-alarms', everyMs: 5_000, run: () => alarms.refresh() },
      { name: 'read-upkeep', everyMs: 15_000, run: () => alarms.refreshUpkeep() },
      { name: 'sync-datasets', everyMs: 5_000, run: () => datasets.syncDue() },
    ],
    { clock, log },
  );
  opened.defer(() => jobs.close());
}

function accountingJobs({ accounting, watch }: GatewayCore): readonly Job[] {
  const { settlements, keptSegments, nodes, leases, keys } = accounting;
  const checkReplication: Job = {
    name: 'check-replication',
    everyMs: 1_000,
    run: () => keptSegments.check(),
  };
  return [
    { name: 'renew-journal', everyMs: 5_000, run: () => settlements.renew() },
    ...(watch === null ? [] : [checkReplication]),
    { name: 'beat', everyMs: beatEveryMs, run: () => nodes.beat() },
    { name: 'give-back-shares', everyMs: 1_000, run: () => leases.releaseIdle() },
    { name: 'forget-lost-nodes', everyMs: 60_000, run: () => nodes.forgetLost() },
    { name: 'refresh-doubtful-keys', everyMs: 1_000, run: () => keys.refreshStale() },
    { name: 'forget-idle', everyMs: 1_000, run: async () => accounting.evictIdle() },
  ];
}

function paymentJobs({ payments }: GatewayCore): readonly Job[] {
  if (payments === null) return [];
  return [{ name: 'settle-payments', everyMs: 60_000, run: () => payments.settleDue() }];
}

function databaseJobs({ accounting, database, clock, log, pages, identity }: GatewayCore): readonly Job[] {
  const servers = new ServerWatch({ database, log, onLooked: () => accounting.waits.check() });
  const roller = new UsageRoller({ database, clock });
  return [
    { name: 'look-for-servers', everyMs: 1_000, run: () => servers.look() },
    { name: 'read-shards', everyMs: 60_000, run: () => database.place() },
    { name: 'forget-old-changes', everyMs: 3_600_000, run: () => forgetOldChanges(database) },
    { name: 'expire-credit', everyMs: 1_000, run: () => expireDueCredit(database) },
    { name: 'ensure-partitions', everyMs: 3_600_000, run: (nowMs) => ensurePartitions(database, nowMs) },
    { name: 'forget-page-changes', everyMs: 3_600_000, run: () => pages.changes.forgetOld() },
    { name: 'roll-up-usage', everyMs: 10_000, run: () => roller.run() },
    { name: 'prune-identity', everyMs: 600_000, run: () => identity.prune() },
  ];
}
