import type { Config } from '../config/config.ts';
import type { Sql } from '../store/sql.ts';
import { utcDayAt } from './days.ts';
import { countRows } from './periods-sql.ts';
import { defaultPace } from './source.ts';
import { type DatasetName, datasetNames, nextSyncMs } from './sync.ts';
import { readSource, readSyncState } from './sync-sql.ts';

/** The state of one dataset. */
export interface DatasetReport {
  readonly dataset: DatasetName;
  /** Null: never. */
  readonly syncedAtMs: number | null;
  readonly rows: number;
  /** Since the last success. */
  readonly failures: number;
  /** When the job syncs it next; null without a sync key. */
  readonly nextAtMs: number | null;
}

/** The state of all datasets and of their source. */
export interface SyncReport {
  readonly hasKey: boolean;
  /** Without data of the source, samples are served. */
  readonly samples: boolean;
  readonly calls: { readonly today: number; readonly max: number; readonly lastAtMs: number | null };
  /** A process syncs at the moment. */
  readonly isRunning: boolean;
  readonly datasets: readonly DatasetReport[];
}

/** Reads the state of the datasets. */
export async function reportSync(
  sql: Sql,
  { syncKey, samples }: Config['datasets'],
  nowMs: number,
): Promise<SyncReport> {
  const source = await readSource(sql);
  const rows = await countRows(sql);
  const reports: DatasetReport[] = [];
  for (const dataset of datasetNames) {
    const state = await readSyncState(sql, dataset);
    const nextAtMs = syncKey === null ? null : nextSyncMs(state, nowMs);
    const { syncedAtMs, failures } = state;
    reports.push({ dataset, syncedAtMs, rows: rows.get(dataset) ?? 0, failures, nextAtMs });
  }
  return {
    hasKey: syncKey !== null,
    samples,
    calls: {
      today: source.day === utcDayAt(nowMs) ? source.requests : 0,
      max: defaultPace.requestsPerDay,
      lastAtMs: source.requestedAtMs,
    },
    isRunning: source.heldUntilMs !== null && source.heldUntilMs > nowMs,
    datasets: reports,
  };
}
