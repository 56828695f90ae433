import { BackupJob, type BackupJobParts } from '../backup/backup-job.ts';
import { JobRunner } from './job-runner.ts';
import { backupMetrics } from './metrics/backup-metrics.ts';
import type { Registry } from './metrics/registry.ts';

const lookEveryMs = 10_000;

/** Starts the scheduled backups of a server, which `opened` closes; returns their metrics. */
export async function startBackups(parts: BackupJobParts, opened: AsyncDisposableStack): Promise<Registry> {
  const { clock, log, config } = parts;
  const backups = await BackupJob.open(parts);
  opened.defer(() => backups.close());
  const job = { name: 'back-up', everyMs: lookEveryMs, run: () => backups.runDue() };
  const jobs = new JobRunner([job], { clock, log });
  opened.defer(() => jobs.close());
  return backupMetrics({ config, summaries: () => backups.summaries });
}
