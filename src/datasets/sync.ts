import type { Config } from '../config/config.ts';
import { describeError, type Log } from '../log/log.ts';
import type { Database } from '../store/database.ts';
import { type Clock, isoOf, maxClockSkewMs } from '../time/clock.ts';
import { seoulDayAt, seoulDayStartMs } from '../time/period.ts';
import { syncApps } from './app-rankings.ts';
import { syncBenchmarks } from './benchmarks.ts';
import type { Synced } from './dataset.ts';
import { syncModels } from './model-rankings.ts';
import { defaultPace, SourceFault, type SourcePace, SourceReader } from './source.ts';
import { noteFailure, noteSynced, readSyncState, retryAt, type SyncState, takeSync } from './sync-sql.ts';

/** The datasets, in the order in which they are synced: the cheap ones first. */
export const datasetNames = ['app-rankings', 'benchmarks', 'rankings-daily'] as const;
export type DatasetName = (typeof datasetNames)[number];

/** The outcome of one dataset. */
export type SyncOutcome = { readonly dataset: DatasetName } & (
  | ({ readonly kind: 'synced' } & Synced)
  | { readonly kind: 'failed'; readonly reason: string }
);

/** 10:00 in Seoul is 01:00 UTC: the source's day has been over for an hour. */
const hourMs = 3_600_000;
const syncAtMs = 10 * hourMs;
const firstRetryMs = 60_000;
const maxRetryMs = hourMs;
const maxPutOffMs = 24 * hourMs;
/** A process that has not ended a sync by then is taken for dead. */
const maxSyncMs = hourMs / 4;

const syncs = { 'app-rankings': syncApps, benchmarks: syncBenchmarks, 'rankings-daily': syncModels };

/** What `DatasetSync` needs. */
export interface DatasetSyncParts {
  readonly settings: Config['datasets'];
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly pace?: SourcePace;
}

/**
 * Keeps the datasets in sync with the source (spec:api/18). The database records what is done: a
 * restart neither skips nor repeats a day, and of several nodes one does it. Two syncs of a dataset
 * at once would cost requests and do no harm. Without a sync key no request is ever made.
 */
export class DatasetSync {
  readonly #parts: DatasetSyncParts;
  readonly #closing = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(parts: DatasetSyncParts) {
    this.#parts = parts;
  }

  /**
   * The job: syncs what is due since 10:00 in Seoul, and retries what failed. A failure is logged
   * and leaves the data as it was.
   */
  async syncDue(): Promise<void> {
    await this.#run(datasetNames, (state) => isDue(state, this.#parts.clock.now()));
  }

  /** Syncs at once, for the operator. `no_key`: there is no sync key. */
  async syncNow(datasets: readonly DatasetName[]): Promise<readonly SyncOutcome[] | 'no_key'> {
    return this.#parts.settings.syncKey === null ? 'no_key' : this.#run(datasets, () => true);
  }

  /** Aborts the sync that is under way; the next one continues where it was. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the server is stopping'));
    await this.#running.catch(() => {});
  }

  #run(
    datasets: readonly DatasetName[],
    isWanted: (state: SyncState) => boolean,
  ): Promise<readonly SyncOutcome[]> {
    const running = this.#syncEach(datasets, isWanted);
    this.#running = running;
    return running;
  }

  async #syncEach(
    datasets: readonly DatasetName[],
    isWanted: (state: SyncState) => boolean,
  ): Promise<readonly SyncOutcome[]> {
    const { settings, database, clock, pace = defaultPace } = this.#parts;
    const { syncKey: key, baseUrl } = settings;
    const { signal } = this.#closing;
    if (key === null || signal.aborted) return [];
    const reader = new SourceReader({ database, clock, pace, baseUrl, key, signal });
    const outcomes: SyncOutcome[] = [];
    for (const dataset of datasets) {
      if (!isWanted(await readSyncState(database, dataset))) continue;
      const untilMs = clock.now() + maxSyncMs;
      const isTaken = await database.transaction((sql) => takeSync(sql, dataset, untilMs, isWanted));
      if (isTaken) outcomes.push(await this.#sync(reader, dataset));
    }
    return outcomes;
  }

  async #sync(reader: SourceReader, dataset: DatasetName): Promise<SyncOutcome> {
    const { database, clock, log } = this.#parts;
    const day = scheduledDay(clock.now());
    try {
      const synced = await syncs[dataset]({ reader, database, clock });
      await database.transaction((sql) => noteSynced(sql, dataset, day, clock.now()));
      log.info('dataset_synced', { dataset, ...synced });
      return { dataset, kind: 'synced', ...synced };
    } catch (error) {
      if (!this.#closing.signal.aborted) return this.#failed(dataset, error);
      await database.transaction((sql) => retryAt(sql, dataset, null));
      throw error;
    }
  }

  async #failed(dataset: DatasetName, error: unknown): Promise<SyncOutcome> {
    const { database, clock, log } = this.#parts;
    const failures = (await readSyncState(database, dataset)).failures + 1;
    const retryAtMs = clock.now() + retryDelayMs(error, failures);
    const reason = error instanceof SourceFault ? error.message : describeError(error);
    const fault = error instanceof Error ? error.message : reason;
    await database.transaction((sql) => noteFailure(sql, dataset, { failures, fault, retryAtMs }));
    log.warn('dataset_sync_failed', { dataset, failures, retry_at: isoOf(retryAtMs), reason });
    return { dataset, kind: 'failed', reason: fault };
  }
}

/**
 * Whether the job has to sync a dataset. A day that is still to come, and a retry that is put off
 * for longer than any is, are of a clock that was wrong.
 */
function isDue({ doneDay, retryAtMs }: SyncState, nowMs: number): boolean {
  const isDone =
    doneDay !== null && doneDay >= scheduledDay(nowMs) && doneDay <= scheduledDay(nowMs + maxClockSkewMs);
  const waitMs = (retryAtMs ?? nowMs) - nowMs;
  return !isDone && (waitMs <= 0 || waitMs > maxPutOffMs + maxClockSkewMs);
}

/** When the job syncs a dataset next; not before `nowMs`. */
export function nextSyncMs(
  { doneDay, retryAtMs }: Pick<SyncState, 'doneDay' | 'retryAtMs'>,
  nowMs: number,
): number {
  const due = scheduledDay(nowMs);
  if (doneDay !== null && doneDay >= due) return seoulDayStartMs(due + 1) + syncAtMs;
  return Math.max(nowMs, retryAtMs ?? nowMs);
}

/** The latest Seoul day whose sync is due at `nowMs`. */
function scheduledDay(nowMs: number): number {
  return seoulDayAt(nowMs - syncAtMs);
}

function retryDelayMs(error: unknown, failures: number): number {
  const backoffMs = Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(failures - 1, 10));
  const requestedMs = error instanceof SourceFault ? (error.retryAfterMs ?? 0) : 0;
  return Math.max(backoffMs, Math.min(requestedMs, maxPutOffMs));
}
