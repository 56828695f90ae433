import type { Client } from 'pg';
import { StoredApps } from '../generations/apps-sql.ts';
import { describeError, type Log } from '../log/log.ts';
import type { SettlementObserver } from '../metrics/observers.ts';
import { isConflict, isConnectionLoss } from '../store/connection.ts';
import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';
import {
  LaterKey,
  type SettlementResult,
  type SettlementRow,
  settleBatch,
  Uncharged,
} from './settlement-sql.ts';

/**
 * How long settlements wait for others to form a batch: the short time, then until there are enough
 * rows. A larger batch delays requests, since each row costs the event loop some 20 µs and the
 * database 50. Only the short time applies when a commit is awaited, and where several nodes spend:
 * requests that wait at another node wait for what a settlement gives back.
 */
const minGatherMs = 20;
const maxGatherMs = 250;
const enoughRows = 20;
const maxBatch = 500;
const minRetryMs = 50;
const maxRetryMs = 1_000;

/** Notified when a settlement in the queue has ended. */
export interface SettlementListener {
  /** Called once: it is in the database, or was set aside for this reason. */
  ended(outcome: SettlementOutcome, reason: string): void;
}

/** One settlement in the queue for the database. */
interface Queued {
  row: SettlementRow;
  readonly listener: SettlementListener;
  /** An earlier process left it, and may have settled it. */
  readonly isLeftover: boolean;
  /** Monotonic instant at which it was queued. */
  readonly queuedMs: number;
  isCommitting: boolean;
  /** A COMMIT of it got no response: the database may have it. */
  isInDoubt: boolean;
  /** How often it failed alone, and how many rows had been committed before the first time. */
  failures: number;
  failedAt: number;
  hasLeft: boolean;
}

/** One attempt to settle the front of the queue, in one batch or in parts. */
interface Pass {
  /** How many rows had been committed before. */
  readonly committed: number;
  failedAlone: number;
}

/** How many rows fail alone before the database is taken to refuse all of them. */
const maxFailedAlone = 3;
/** How often a row fails, a second apart, before it is set aside although no other one was taken. */
const maxFailures = 60;

/** How a settlement ended: in the database, or refused by it for good. */
export type SettlementOutcome = 'committed' | 'quarantined';

/** What `Settler` needs. */
export interface SettlerParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** The node whose credit leases settlements spend; null when it has none. */
  readonly spendingNode: () => number | null;
  /**
   * Resolves once the other nodes know that this one serves, before each batch: they may never look
   * for what an unknown node settles.
   */
  readonly untilSeen?: () => Promise<void>;
  /** Called for every committed batch in the same turn of the event loop. */
  readonly onCommitted: (rows: readonly SettlementRow[], result: SettlementResult, readAtMs: number) => void;
  /** Called for a row that the database will never take. */
  readonly onQuarantined: (row: SettlementRow, reason: string) => void;
  readonly observer?: SettlementObserver | undefined;
}

/**
 * Brings settlements into the database in batches, in their order. A lost connection is retried
 * without a limit, since every settlement is idempotent by its generation. A batch that the
 * database refuses is halved down to the row at fault, which is set aside; nothing is dropped. A
 * refusal that does not say that it is about the row is believed once other rows are taken, or
 * after a minute: until then the database may refuse everything for a while, and the row waits
 * behind the others.
 */
export class Settler {
  readonly #parts: SettlerParts;
  readonly #storedApps = new StoredApps();
  #queue: Queued[] = [];
  #committed = 0;
  /** Called when rows leave the queue. */
  #awaited: (() => void)[] = [];
  #running: Promise<void> | null = null;
  /** Whether the commit of a queued row is awaited. */
  #isAwaited = false;
  /** Set while rows are gathered for longer than the short time. */
  #endGathering: (() => void) | null = null;
  #stopped = false;
  #failing = false;

  constructor(parts: SettlerParts) {
    this.#parts = parts;
  }

  /** Rows that are not committed yet. */
  get backlog(): number {
    return this.#queue.length;
  }

  /** Whether the last attempt failed: the database is away. */
  get isFailing(): boolean {
    return this.#failing;
  }

  /** Adds a settlement. */
  push(row: SettlementRow, listener: SettlementListener, isLeftover = false): void {
    this.#queue.push({
      row,
      listener,
      isLeftover,
      queuedMs: this.#parts.clock.monotonic(),
      isCommitting: false,
      isInDoubt: false,
      failures: 0,
      failedAt: 0,
      hasLeft: false,
    });
    this.#running ??= this.#run();
    if (this.#queue.length >= enoughRows) this.#endGathering?.();
  }

  /** The commit of what is queued is awaited: its batch must not wait for long. */
  hasten(): void {
    this.#isAwaited = true;
    this.#endGathering?.();
  }

  /**
   * Replaces a row that waits; false when it is just being committed, may have been, or has left
   * the queue. This is how a settlement that was given up becomes the record of a failure.
   */
  replace(uuid: string, row: SettlementRow): boolean {
    const queued = this.#queue.find((each) => each.row.uuid === uuid);
    if (queued === undefined || queued.isCommitting || queued.isInDoubt) return false;
    queued.row = row;
    return true;
  }

  /** Resolves when everything pushed so far is committed or set aside. */
  async drained(): Promise<void> {
    while (this.#running !== null) {
      this.hasten();
      await this.#running;
    }
  }

  /**
   * Resolves when everything pushed so far is committed or set aside, whatever is pushed meanwhile.
   */
  async caughtUp(): Promise<void> {
    const until = [...this.#queue];
    while (until.some(({ hasLeft }) => !hasLeft)) {
      this.hasten();
      await new Promise<void>((resolve) => this.#awaited.push(resolve));
    }
  }

  /** Stops retrying; the rest stays in the journal. */
  stop(): void {
    this.#stopped = true;
    this.#endGathering?.();
  }

  async #run(): Promise<void> {
    let retryMs = minRetryMs;
    await this.#gather();
    while (this.#queue.length > 0 && !this.#stopped) {
      try {
        await this.#settleFront();
        this.#failing = false;
        retryMs = minRetryMs;
        if (this.#queue.length > 0 && this.#queue.length < maxBatch) await this.#gather();
      } catch (error) {
        this.#failing = true;
        this.#parts.log.warn('settlement_delayed', {
          backlog: this.#queue.length,
          detail: describeError(error),
        });
        await this.#wait(retryMs);
        retryMs = Math.min(retryMs * 2, maxRetryMs);
      }
    }
    this.#running = null;
  }

  /**
   * Settles the front of the queue. A function of its own, which ends with its batch: while the loop
   * waits for the next one, nothing keeps these rows.
   */
  async #settleFront(): Promise<void> {
    // Rows that failed alone wait behind those that may show that the database takes others.
    const failed = this.#queue.filter(({ failures }) => failures > 0);
    if (failed.length > 0) this.#queue = [...this.#queue.filter(({ failures }) => failures === 0), ...failed];
    const batch = this.#queue.slice(0, maxBatch);
    if (batch.length === this.#queue.length) this.#isAwaited = false;
    for (const queued of batch) queued.isCommitting = true;
    try {
      await this.#settle(batch, { committed: this.#committed, failedAlone: 0 });
    } finally {
      for (const queued of batch) queued.isCommitting = false;
    }
  }

  /** Settles a batch or its halves; throws only errors that may pass. */
  async #settle(batch: readonly Queued[], pass: Pass): Promise<void> {
    const rows = batch.map((queued) => queued.row);
    const leftovers = batch.filter((queued) => queued.isLeftover).map((queued) => queued.row);
    await this.#parts.untilSeen?.();
    let isCommitting = false;
    let result: SettlementResult;
    let readAtMs = 0;
    const settle = (client: Client): Promise<SettlementResult> => {
      // Repeated: the next connection may reach another server, which may lack stored apps.
      if (isCommitting) this.#storedApps.clear();
      readAtMs = this.#parts.clock.monotonic();
      return settleBatch(client, rows, {
        nodeId: this.#parts.spendingNode(),
        storedApps: this.#storedApps,
        leftovers,
        nowMs: this.#parts.clock.now(),
        onCommit: () => {
          isCommitting = true;
        },
      });
    };
    const isInDoubt = (error: unknown): boolean => isCommitting && isConnectionLoss(error);
    try {
      result = await this.#parts.database.placement.settle(rows[0]?.accountId ?? 0, settle, isInDoubt);
    } catch (error) {
      // As above.
      this.#storedApps.clear();
      if (isCommitting) for (const queued of batch) queued.isInDoubt = true;
      if (mayPass(error)) throw error;
      return this.#settleInParts(batch, pass, error);
    }
    this.#committed += batch.length;
    this.#parts.onCommitted(rows, result, readAtMs);
    this.#leaveQueue(batch, 'committed');
    const nowMs = this.#parts.clock.monotonic();
    for (const { queuedMs } of batch) this.#parts.observer?.settlementCommitted(nowMs - queuedMs);
  }

  /**
   * The database refused a batch: its halves are tried, down to the row at fault, which is set
   * aside.
   */
  async #settleInParts(batch: readonly Queued[], pass: Pass, error: unknown): Promise<void> {
    const [only] = batch;
    if (only !== undefined && batch.length === 1) {
      if (!isAboutTheRow(error) && !this.#isBelieved(only, pass)) {
        pass.failedAlone += 1;
        throw error;
      }
      const reason = describeError(error);
      this.#parts.onQuarantined(only.row, reason);
      this.#leaveQueue(batch, 'quarantined', reason);
      return;
    }
    const middle = Math.ceil(batch.length / 2);
    const halves = [batch.slice(0, middle), batch.slice(middle)];
    let failure: unknown = null;
    for (const half of halves) {
      try {
        await this.#settle(half, pass);
      } catch (thrown) {
        if (mayPass(thrown) || pass.failedAlone >= maxFailedAlone) throw thrown;
        failure = thrown;
      }
    }
    if (failure !== null) throw failure;
  }

  /** Whether the database refuses this row and not all of them. */
  #isBelieved(queued: Queued, { committed }: Pass): boolean {
    if (queued.failures === 0) queued.failedAt = committed;
    queued.failures += 1;
    if (this.#committed > queued.failedAt) return true;
    return queued.failures >= maxFailures && this.#queue.length <= maxFailedAlone;
  }

  #leaveQueue(batch: readonly Queued[], outcome: SettlementOutcome, reason = ''): void {
    const gone = new Set(batch);
    this.#queue = this.#queue.filter((queued) => !gone.has(queued));
    for (const queued of batch) {
      queued.hasLeft = true;
      queued.listener.ended(outcome, reason);
    }
    for (const resolve of this.#awaited.splice(0)) resolve();
  }

  /** Waits until the queue is a batch: of enough rows, awaited, or old enough. */
  async #gather(): Promise<void> {
    await this.#wait(minGatherMs);
    if (this.#parts.spendingNode() !== null) return;
    if (this.#isAwaited || this.#stopped || this.#queue.length >= enoughRows) return;
    await new Promise<void>((resolve) => {
      const timer = this.#parts.clock.after(maxGatherMs - minGatherMs, resolve);
      const endGathering = (): void => {
        timer.cancel();
        resolve();
      };
      this.#endGathering = endGathering;
    });
    this.#endGathering = null;
  }

  #wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.#parts.clock.after(delayMs, resolve));
  }
}

/**
 * Whether the error of a settlement passes: the server is away, changes, is out of something, or
 * has another schema (SQLSTATE classes 08, 25, 40, 42, 53, 55, 57 and 58).
 */
export function mayPass(error: unknown): boolean {
  return isConnectionLoss(error) || isConflict(error) || /^(25|42|55|57|58)/.test(codeOf(error));
}

/**
 * Whether an error is certainly about the row: the database's (data exceptions, integrity, program
 * limits: SQLSTATE classes 22, 23 and 54), or our own when a value fits no column (RangeError), the
 * key is another one (LaterKey) or the record has no charge (Uncharged).
 */
export function isAboutTheRow(error: unknown): boolean {
  const isOurs = error instanceof RangeError || error instanceof LaterKey || error instanceof Uncharged;
  return isOurs || /^(22|23|54)/.test(codeOf(error));
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code ?? '');
}
