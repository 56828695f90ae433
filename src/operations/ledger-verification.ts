import type { Client } from 'pg';
import type { Act, Actor } from '../identity/audit.ts';
import type { Identity } from '../identity/identity.ts';
import { type Verdict, verifyLedgerOn } from '../ledger/verification.ts';
import { backendOf, cancelBackend, type VerifyProgress } from '../ledger/verification-sql.ts';
import { describeError, type Log } from '../log/log.ts';
import { disconnect } from '../store/connection.ts';
import type { Database } from '../store/database.ts';
import { sqlOver } from '../store/sql.ts';
import type { Clock } from '../time/clock.ts';

/** A verification that an operator started. */
export interface VerificationRun {
  readonly startedAtMs: number;
  readonly startedBy: string;
  readonly progress: VerifyProgress;
  /** Null while it runs. */
  readonly ended: {
    readonly atMs: number;
    /** `busy`: another process was verifying; `stopped`: an operator or the server stopped it. */
    readonly outcome: Verdict | 'busy' | 'stopped' | { readonly fault: string };
  } | null;
}

/** How long one statement of a verification may take. */
const statementLimitMs = 600_000;

/**
 * Verifies the ledger for operators of the console, one run at a time on all nodes, on a connection
 * of its own: neither calls nor other pages wait for it.
 */
export class LedgerVerification {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #identity: Identity;
  #last: VerificationRun | null = null;
  #running: Promise<void> = Promise.resolve();
  #backend: number | null = null;
  #stopping = new AbortController();

  constructor(parts: {
    readonly database: Database;
    readonly clock: Clock;
    readonly log: Log;
    readonly identity: Identity;
  }) {
    this.#database = parts.database;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#identity = parts.identity;
  }

  /** The run under way, or the last one of this process; null: there was none. */
  get last(): VerificationRun | null {
    return this.#last;
  }

  /** Starts a run; returns before it has ended. Its result is in the audit log. */
  start(actor: Actor): 'started' | 'running' {
    if (this.#last !== null && this.#last.ended === null) return 'running';
    this.#stopping = new AbortController();
    this.#last = {
      startedAtMs: this.#clock.now(),
      startedBy: actor.name,
      progress: { check: '', share: 0 },
      ended: null,
    };
    this.#running = this.#run(this.#last, actor);
    return 'started';
  }

  /** Stops the run under way, if any. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    // Between two statements nothing is cancelled, and the next report ends the run.
    if (this.#backend !== null) await cancelBackend(this.#database, this.#backend).catch(() => {});
    await this.#running;
  }

  /** Never throws. */
  async #run(run: VerificationRun, actor: Actor): Promise<void> {
    let outcome: NonNullable<VerificationRun['ended']>['outcome'];
    try {
      outcome = await this.#verify(run);
      if (typeof outcome === 'object' && 'checks' in outcome)
        await this.#identity.recordAct(actor, verificationAct(outcome, this.#clock.now() - run.startedAtMs));
    } catch (error) {
      if (!this.#stopping.signal.aborted)
        this.#log.warn('ledger_verification_failed', { detail: describeError(error) });
      outcome = this.#stopping.signal.aborted
        ? 'stopped'
        : { fault: error instanceof Error ? error.message : String(error) };
    }
    const progress = this.#last?.progress ?? run.progress;
    this.#last = { ...run, progress, ended: { atMs: this.#clock.now(), outcome } };
  }

  async #verify(run: VerificationRun): Promise<Verdict | 'busy'> {
    const client: Client = await this.#database.connect(statementLimitMs);
    try {
      const sql = sqlOver(client);
      this.#backend = await backendOf(sql);
      return await verifyLedgerOn(this.#database, sql, {
        limitMs: statementLimitMs,
        signal: this.#stopping.signal,
        report: (progress) => {
          this.#last = { ...run, progress };
        },
      });
    } finally {
      this.#backend = null;
      await disconnect(client);
    }
  }
}

/** A completed verification as the audit log has it. */
export function verificationAct(
  { differences, checks, accounts, entries, generations }: Verdict,
  tookMs: number,
): Act {
  const after = {
    differences: differences.length,
    checks: checks.length,
    accounts,
    entries,
    generations,
    took_ms: tookMs,
  };
  return { act: 'ledger.verify', after };
}
