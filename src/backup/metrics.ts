import type { BackupConfig } from '../config/config.ts';
import { addCounter, addGauge, Registry } from '../metrics/registry.ts';
import { type RunKind, type RunSummary, runKinds } from './runs-sql.ts';

/** What the metrics of backups are read from. */
export interface BackupReadings {
  readonly config: () => BackupConfig | null;
  readonly summaries: () => Readonly<Record<RunKind, RunSummary>>;
}

/** The metrics of scheduled backups; times are seconds since 1970, as `time()` of Prometheus. */
export function backupMetrics({ config, summaries }: BackupReadings): Registry {
  const registry = new Registry();
  const gauge = (name: string, help: string, read: () => number): void =>
    addGauge(registry, { name, help }, () => [{ value: read() }]);
  gauge(
    'naru_backup_last_success_timestamp_seconds',
    'When the last good backup in the configured place began, in seconds since 1970; before the first: when the database was created.',
    () => (summaries().backup.goodAtMs ?? summaries().backup.sinceMs) / 1000,
  );
  gauge(
    'naru_backup_max_age_seconds',
    'The age of the last good backup at which the alarm fires; 0: no backups are scheduled.',
    () => (config()?.maxAgeHours ?? 0) * 3600,
  );
  gauge(
    'naru_backup_bytes',
    'Size of the last good backup in the configured place.',
    () => summaries().backup.bytes,
  );
  gauge(
    'naru_backup_drill_last_success_timestamp_seconds',
    'When the last drill that passed began, in seconds since 1970; 0: never.',
    () => (summaries().drill.goodAtMs ?? 0) / 1000,
  );
  gauge(
    'naru_backup_drill_failures_in_a_row',
    'Drills that failed since the last one that passed.',
    () => summaries().drill.failedSince,
  );
  addCounter(
    registry,
    { name: 'naru_backup_failures_total', help: 'Runs that failed, by kind.', labelNames: ['kind'] },
    () => runKinds.map((kind) => ({ labels: { kind }, value: summaries()[kind].failures })),
  );
  return registry;
}
