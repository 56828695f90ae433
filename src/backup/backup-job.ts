import type { BackupConfig } from '../config/config.ts';
import type { Log } from '../log/log.ts';
import type { Database } from '../store/database.ts';
import { type Clock, within } from '../time/clock.ts';
import { runBackup } from './run-backup.ts';
import { type DrillMeans, runDrill } from './run-drill.ts';
import { type RunKind, type RunSummary, readRunSummaries } from './runs-sql.ts';
import { isDue } from './schedule.ts';

/** What the scheduled backups of a server need. */
export interface BackupJobParts {
  /** The one in effect; null: none. */
  readonly config: () => BackupConfig | null;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** The version of Naru. */
  readonly version: string;
  readonly drill: DrillMeans;
}

/** How long the job waits when there was nothing to restore. */
const lookAgainMs = 600_000;
const closeWithinMs = 10_000;

/** The actor of scheduled backups in the audit log. */
const scheduler = { kind: 'cli', name: 'schedule' } as const;

/**
 * Makes the backups and the drills that are due. The database records what is done: of several servers one makes
 * each, and a restart neither skips nor repeats one.
 */
export class BackupJob {
  readonly #parts: BackupJobParts;
  readonly #closing = new AbortController();
  #running: Promise<unknown> = Promise.resolve();
  #summaries: Readonly<Record<RunKind, RunSummary>>;
  #noDrillUntilMs = 0;

  private constructor(parts: BackupJobParts, summaries: Readonly<Record<RunKind, RunSummary>>) {
    this.#parts = parts;
    this.#summaries = summaries;
  }

  static async open(parts: BackupJobParts): Promise<BackupJob> {
    return new BackupJob(parts, await readRunSummaries(parts.database));
  }

  /** As they were last read. */
  get summaries(): Readonly<Record<RunKind, RunSummary>> {
    return this.#summaries;
  }

  /**
   * Reads what was done, by any process, and makes what is due now. A failure is logged and recorded;
   * throws when the database is away.
   */
  async runDue(): Promise<void> {
    const running = this.#runDue();
    this.#running = running;
    await running;
  }

  /** Aborts the run that is under way, and waits for its end, for 10 s at most: a disk may hang. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the server was stopped'));
    const ended = this.#running.catch(() => {});
    await within(this.#parts.clock, closeWithinMs, ended, undefined);
  }

  async #runDue(): Promise<void> {
    const { config, clock } = this.#parts;
    const backup = config();
    if (backup === null || this.#closing.signal.aborted) return;
    await this.#refresh();
    if (backup.schedule === null) return;
    if (isDue(backup.schedule, this.#summaries.backup, clock.now())) {
      await this.#backUp(backup);
      await this.#refresh();
    }
    const { drill } = backup;
    if (drill === null || clock.monotonic() < this.#noDrillUntilMs || this.#closing.signal.aborted) return;
    if (!isDue(drill.schedule, this.#summaries.drill, clock.now())) return;
    await this.#drill(backup);
    await this.#refresh();
  }

  async #refresh(): Promise<void> {
    this.#summaries = await readRunSummaries(this.#parts.database);
  }

  async #drill(backup: BackupConfig): Promise<void> {
    const { log, clock, drill } = this.#parts;
    const done = await runDrill({ ...this.#parts, backup, signal: this.#closing.signal }, drill);
    if (done === 'busy') return;
    if (done === 'nothing') {
      this.#noDrillUntilMs = clock.monotonic() + lookAgainMs;
      return;
    }
    if (done.kind === 'failed') return log.error('backup_drill_failed', { reason: done.error });
    const { name, place, rows } = done;
    log.info('backup_drill_passed', { name, place, rows });
  }

  async #backUp(backup: BackupConfig): Promise<void> {
    const { log } = this.#parts;
    const signal = this.#closing.signal;
    const done = await runBackup({ ...this.#parts, backup, actor: scheduler, settledHomes: [], signal });
    if (done === 'busy') return;
    if (done.kind === 'failed') return log.error('backup_failed', { reason: done.error });
    const { name, place, bytes, rows, withoutNodes, removed } = done;
    log.info('backup_made', { name, place, bytes, rows, removed: removed.length });
    for (const node of withoutNodes) log.warn('backup_lacks_node', { name, node });
  }
}
