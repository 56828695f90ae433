import type { Config } from '../config/config.ts';
import { type DatasetName, DatasetSync, type SyncOutcome } from '../datasets/sync.ts';
import type { Actor } from '../identity/audit.ts';
import type { Identity } from '../identity/identity.ts';
import { describeError, type Log } from '../log/log.ts';
import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';

/** A synchronisation that an operator started. */
export interface DatasetRun {
  readonly datasets: readonly DatasetName[];
  readonly startedAtMs: number;
  readonly startedBy: string;
  /** Null while it runs. */
  readonly ended: {
    readonly atMs: number;
    /** `busy`: another process was synchronising. */
    readonly outcome: readonly SyncOutcome[] | 'busy' | { readonly fault: string };
  } | null;
}

/** Synchronises datasets for operators of the console, one run at a time; it may take minutes. */
export class DatasetRuns {
  readonly #identity: Identity;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #settings: Config['datasets'];
  readonly #sync: DatasetSync;
  #last: DatasetRun | null = null;

  constructor(parts: {
    readonly database: Database;
    readonly clock: Clock;
    readonly log: Log;
    readonly identity: Identity;
    readonly settings: Config['datasets'];
  }) {
    this.#identity = parts.identity;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#settings = parts.settings;
    this.#sync = new DatasetSync(parts);
  }

  /** The run under way, or the last one of this process; null: there was none. */
  get last(): DatasetRun | null {
    return this.#last;
  }

  /** Starts a run, which is in the audit log; returns before it has ended. */
  async start(datasets: readonly DatasetName[], actor: Actor): Promise<'started' | 'running' | 'no_key'> {
    if (this.#settings.syncKey === null) return 'no_key';
    if (this.#last !== null && this.#last.ended === null) return 'running';
    const run: DatasetRun = {
      datasets,
      startedAtMs: this.#clock.now(),
      startedBy: actor.name,
      ended: null,
    };
    this.#last = run;
    try {
      await this.#identity.recordAct(actor, { act: 'datasets.sync', subject: datasets.join(', ') });
    } catch (error) {
      this.#last = null;
      throw error;
    }
    void this.#run(run);
    return 'started';
  }

  /** Aborts the run under way. */
  close(): Promise<void> {
    return this.#sync.close();
  }

  /** Never throws. */
  async #run(run: DatasetRun): Promise<void> {
    const outcome = await this.#sync.syncNow(run.datasets).catch((error: unknown) => {
      this.#log.warn('dataset_run_failed', { detail: describeError(error) });
      return { fault: error instanceof Error ? error.message : String(error) };
    });
    // Without a key nothing was started.
    this.#last = { ...run, ended: { atMs: this.#clock.now(), outcome: outcome === 'no_key' ? [] : outcome } };
  }
}
