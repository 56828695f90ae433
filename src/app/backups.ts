import { BackupJob, type BackupJobParts } from '../backup/backup-job.ts';
import { backupMetrics } from '../backup/metrics.ts';
import type { Registry } from '../metrics/registry.ts';
import { JobRunner } from './job-runner.ts';
import type { ProcessContext } from './process-context.ts';

const lookEveryMs = 10_000;

/** What scheduled backups take from a server. */
interface BackupParts extends Pick<BackupJobParts, 'database' | 'clock' | 'log'> {
  readonly dataDir: string;
  readonly proc: Pick<ProcessContext, 'version' | 'uid' | 'env'>;
}

/** Starts the scheduled backups of a server, which `opened` closes; returns their metrics. */
export async function startBackups(
  { database, clock, log, dataDir, proc }: BackupParts,
  config: BackupJobParts['config'],
  opened: AsyncDisposableStack,
): Promise<Registry> {
  const { version, uid, env } = proc;
  const drill = { dataDir, uid, env };
  const backups = await BackupJob.open({ config, database, clock, log, version, drill });
  opened.defer(() => backups.close());
  const job = { name: 'back-up', everyMs: lookEveryMs, run: () => backups.runDue() };
  const jobs = new JobRunner([job], { clock, log });
  opened.defer(() => jobs.close());
  return backupMetrics({ config, summaries: () => backups.summaries });
}
