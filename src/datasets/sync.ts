import { randomUUID } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { describeError, type Log } from '../log/log.ts';
import type { Database } from '../store/database.ts';
import { type Clock, isoOf, maxClockSkewMs } from '../time/clock.ts';
import { seoulDayAt, seoulDayStartMs } from '../time/period.ts';
import { syncApps } from './app-rankings.ts';
import { syncBenchmarks } from './benchmarks.ts';
import type { Synced } from './dataset.ts';
import { instantOf, utcDayAt } from './days.ts';
import { syncModels } from './model-rankings.ts';
import {
  BudgetSpent,
  defaultPace,
  defaultSourceLimits,
  leaseMs,
  type Pace,
  SourceFault,
  type SourceLimits,
  SourceLost,
  SourceReader,
} from './source.ts';
import {
  leaseSource,
  noteFailure,
  noteSynced,
  readSyncState,
  releaseSource,
  type SyncState,
} from './sync-sql.ts';

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

const syncs = { 'app-rankings': syncApps, benchmarks: syncBenchmarks, 'rankings-daily': syncModels };

/** What `DatasetSync` needs. */
export interface DatasetSyncParts {
  readonly settings: Config['datasets'];
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly pace?: Pace;
  readonly limits?: SourceLimits;
}

/**
 * Keeps the datasets in sync with the source (spec:api/18). The database records what is done: a
 * restart neither skips nor repeats a day, and of several nodes one does it. Without a sync key no
 * request is ever made.
 */
export class DatasetSync {
  readonly #parts: DatasetSyncParts;
  readonly #closing = new AbortController();
  readonly #holder = randomUUID();
  #running: Promise<unknown> = Promise.resolve();

  constructor(parts: DatasetSyncParts) {
    this.#parts = parts;
  }

  /**
   * The job: syncs what is due since 10:00 in Seoul, and retries what failed. A failure is logged
   * and leaves the data as it was.
   */
  async syncDue(): Promise<void> {
    if (this.#parts.settings.syncKey === null || this.#closing.signal.aborted) return;
    if ((await this.#due()).length === 0) return;
    await this.#withLease(async (reader) => {
      // Checked again: another node may have done it just before.
      for (const dataset of await this.#due()) await this.#sync(reader, dataset);
    });
  }

  /**
   * Syncs at once, for the operator. `no_key`: there is no sync key; `busy`: another process syncs
   * now.
   */
  async syncNow(datasets: readonly DatasetName[]): Promise<readonly SyncOutcome[] | 'no_key' | 'busy'> {
    if (this.#parts.settings.syncKey === null) return 'no_key';
    const outcomes: SyncOutcome[] = [];
    const isLeased = await this.#withLease(async (reader) => {
      for (const dataset of datasets) outcomes.push(await this.#sync(reader, dataset));
    });
    return isLeased ? outcomes : 'busy';
  }

  /** Aborts the sync that is under way; the next one continues where it was. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the server is stopping'));
    await this.#running.catch(() => {});
  }

  /** Runs `work` with the lease of the source. False if another process has it. */
  async #withLease(work: (reader: SourceReader) => Promise<void>): Promise<boolean> {
    const { settings, database, clock, pace = defaultPace, limits = defaultSourceLimits } = this.#parts;
    const { syncKey, baseUrl } = settings;
    if (syncKey === null) return false;
    const holder = this.#holder;
    const nowMs = clock.now();
    const lease = await database.transaction((sql) => leaseSource(sql, holder, nowMs, nowMs + leaseMs));
    if (lease === null) return false;
    const { signal } = this.#closing;
    const parts = { database, clock, pace, limits, baseUrl, key: syncKey, holder, signal };
    const working = work(new SourceReader(parts, lease.requestedAtMs)).finally(() =>
      database.transaction((sql) => releaseSource(sql, holder)),
    );
    this.#running = working;
    await working;
    return true;
  }

  async #due(): Promise<readonly DatasetName[]> {
    const nowMs = this.#parts.clock.now();
    const due: DatasetName[] = [];
    for (const dataset of datasetNames) {
      const { doneDay, retryAtMs } = await readSyncState(this.#parts.database, dataset);
      // A day that is still to come, and a retry that is put off for longer, are of a clock that was
      // wrong.
      const isDone =
        doneDay !== null && doneDay >= scheduledDay(nowMs) && doneDay <= scheduledDay(nowMs + maxClockSkewMs);
      const waitMs = (retryAtMs ?? nowMs) - nowMs;
      if (!isDone && (waitMs <= 0 || waitMs > maxPutOffMs + maxClockSkewMs)) due.push(dataset);
    }
    return due;
  }

  async #sync(reader: SourceReader, dataset: DatasetName): Promise<SyncOutcome> {
    const { database, clock, log } = this.#parts;
    const day = scheduledDay(clock.now());
    try {
      const synced = await syncs[dataset](reader, clock, database);
      await database.transaction((sql) => noteSynced(sql, dataset, day, clock.now()));
      log.info('dataset_synced', { dataset, ...synced });
      return { dataset, kind: 'synced', ...synced };
    } catch (error) {
      if (this.#closing.signal.aborted || error instanceof SourceLost) throw error;
      return this.#failed(dataset, error);
    }
  }

  async #failed(dataset: DatasetName, error: unknown): Promise<SyncOutcome> {
    const { database, clock, log } = this.#parts;
    const { failures: before } = await readSyncState(database, dataset);
    const failures = before + 1;
    const retryAtMs = clock.now() + retryDelayMs(error, failures, clock.now());
    await database.transaction((sql) => noteFailure(sql, dataset, failures, retryAtMs));
    const known = error instanceof SourceFault || error instanceof BudgetSpent;
    const reason = known ? error.message : describeError(error);
    log.warn('dataset_sync_failed', { dataset, failures, retry_at: isoOf(retryAtMs), reason });
    return { dataset, kind: 'failed', reason: error instanceof Error ? error.message : reason };
  }
}

/** When the job syncs a dataset next; not before `nowMs`. */
export function nextSyncMs({ doneDay, retryAtMs }: SyncState, nowMs: number): number {
  const due = scheduledDay(nowMs);
  if (doneDay !== null && doneDay >= due) return seoulDayStartMs(due + 1) + syncAtMs;
  return Math.max(nowMs, retryAtMs ?? nowMs);
}

/** The latest Seoul day whose sync is due at `nowMs`. */
function scheduledDay(nowMs: number): number {
  return seoulDayAt(nowMs - syncAtMs);
}

function retryDelayMs(error: unknown, failures: number, nowMs: number): number {
  if (error instanceof BudgetSpent) return instantOf(utcDayAt(nowMs) + 1) - nowMs;
  const backoffMs = Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(failures - 1, 10));
  const requestedMs = error instanceof SourceFault ? (error.retryAfterMs ?? 0) : 0;
  return Math.max(backoffMs, Math.min(requestedMs, maxPutOffMs));
}
