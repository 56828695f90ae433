import type { Journal, Ticket } from '../journal/journal.ts';
import { describeError, type Log } from '../log/log.ts';
import type { Database } from '../store/database.ts';
import { type Clock, within } from '../time/clock.ts';
import { FailureNotes } from './failure-notes.ts';
import { encodeFinal, finalType, type OpenRecord } from './journal-records.ts';
import { type Opened, OpenRequests } from './open-requests.ts';
import { orphanFailure, readOrphanedRecords } from './orphaned-requests.ts';
import { Quarantine } from './quarantine.ts';
import { checkRecovered } from './settlement-checks.ts';
import type { SettlementResult, SettlementRow } from './settlement-sql.ts';
import { type SettlementOutcome, Settler } from './settler.ts';

export type { Opened } from './open-requests.ts';
export type { SettlementRow } from './settlement-sql.ts';

/** How long a settlement may wait for the database when the journal cannot be written, and for a commit that is under way then. */
const databasePatienceMs = 10_000;
const commitPatienceMs = 250;
/** A request in flight is journaled anew when so much was written behind it: an eighth of what the journal may hold. */
const renewAfterBytes = 128 * 1024 * 1024;

/** What settlements are made of. */
export interface SettlementsParts {
  readonly database: Database;
  readonly journal: Journal;
  /** What makes a settlement durable: this process's journal, or the database itself (spec:money/5.3). */
  readonly ack: 'journal' | 'database';
  readonly clock: Clock;
  readonly log: Log;
  /** The node of whose shares settlements spend; null when it has none. */
  readonly spendingNode: () => number | null;
  /** See `SettlerParts`; not given by who is no node. */
  readonly untilSeen?: () => Promise<void>;
  readonly onCommitted: (rows: readonly SettlementRow[], result: SettlementResult, readAtMs: number) => void;
  /** Told of a row that was promised and that the database will never take: its money has not moved. */
  readonly onQuarantined: (row: SettlementRow) => void;
}

/** Neither the journal nor the database took a settlement: the answer cannot be billed, so it must not be completed. */
export class Unbillable extends Error {
  override readonly name = 'Unbillable';
}

/**
 * Makes money durable before the client can see that an answer is complete (spec:money/5.1): journal first, database soon
 * after. A generation settles at most once, whatever is killed or repeated: the database knows it by its id.
 */
export class Settlements {
  readonly #parts: SettlementsParts;
  readonly #settler: Settler;
  readonly #open: OpenRequests;
  readonly #failures: FailureNotes;
  readonly #quarantine: Quarantine;
  /** Settled here, not yet in the database: readable all the same. */
  readonly #pending = new Map<string, SettlementRow>();

  constructor(parts: SettlementsParts) {
    this.#parts = parts;
    this.#open = new OpenRequests(parts.journal);
    this.#failures = new FailureNotes(parts.journal);
    this.#quarantine = new Quarantine(parts);
    this.#settler = new Settler({
      ...parts,
      onQuarantined: (row, reason) =>
        parts.log.error('settlement_quarantined', {
          generation: row.uuid,
          account_id: row.accountId,
          cost: row.cost,
          detail: reason,
        }),
    });
  }

  /**
   * Notes that a request was admitted. When the journal takes nothing, the database is relied on to take the settlement; throws
   * `Unbillable` when that is away as well.
   */
  open(record: OpenRecord): Opened {
    try {
      return this.#open.add(record);
    } catch (error) {
      if (this.#settler.isFailing)
        throw new Unbillable('neither the journal nor the database takes requests', { cause: error });
      return { record, tickets: [] };
    }
  }

  /**
   * Journals again what it must: requests that have been in flight for so long that their records keep much of the journal
   * (`OpenRequests`), and failures that it refused (`FailureNotes`); and stores what of the quarantine could not be stored. Returns how many requests.
   */
  renew(bytes = renewAfterBytes): Promise<number> {
    this.#failures.rewrite();
    void this.#quarantine.storeAgain();
    return this.#open.renew(bytes);
  }

  /** Settles a request; resolves when that is durable. Rejects with `Unbillable`; then nothing was or will be charged. */
  async settle(opened: Opened, row: SettlementRow): Promise<void> {
    const journaled = this.#journal(row);
    const tickets = [...this.#open.end(opened), ...(journaled === null ? [] : [journaled])];
    const { promise: outcome, resolve } = Promise.withResolvers<Ended>();
    this.#push(row, tickets, { done: (how, reason) => resolve({ how, reason }) });
    if (this.#parts.ack === 'journal' && journaled !== null) {
      try {
        await this.#parts.journal.durable(journaled);
        void outcome.then(({ how, reason }) => {
          if (how === 'committed') return;
          this.#parts.onQuarantined(row);
          void this.#quarantine.add(row, reason, tickets);
        });
        return;
      } catch (error) {
        this.#parts.log.error('journal_failed', { generation: row.uuid, detail: describeError(error) });
      }
    }
    await this.#committedInTime(row, tickets, outcome);
  }

  /** The record of a generation that is settled but not yet in the database. */
  find(uuid: string): SettlementRow | undefined {
    return this.#pending.get(uuid);
  }

  /** Settlements that are not yet in the database. */
  get backlog(): number {
    return this.#settler.backlog;
  }

  /** Settlements that the database refuses, and refuses to put into its quarantine: only the journal has them. */
  get unstored(): number {
    return this.#quarantine.unstored;
  }

  /**
   * Settles what an earlier process left in the journal, before anything is served: finals as they are; an admitted request
   * without one is a failed request at zero cost. Returns how many of each.
   */
  async recover(): Promise<{ readonly finals: number; readonly orphans: number }> {
    const { journal } = this.#parts;
    const { settled, orphans, unknown } = readOrphanedRecords(journal.replay());
    for (const ticket of unknown) journal.release(ticket);
    const storing: Promise<void>[] = [];
    const settle = (row: SettlementRow, tickets: readonly Ticket[]): void =>
      this.#push(row, tickets, {
        isLeftover: true,
        done: (how, reason) => {
          if (how === 'quarantined') storing.push(this.#quarantine.add(row, reason, tickets));
        },
      });
    const nowMs = this.#parts.clock.now();
    const failed = orphans.map(({ record, tickets }) => ({ row: orphanFailure(record, nowMs), tickets }));
    const left = [...settled, ...failed];
    const checks = await checkRecovered(
      this.#parts.database,
      left.map(({ row }) => row),
    );
    for (const { row, tickets } of left) {
      const stranger = checks.unknownKeys.get(row.uuid);
      if (checks.writtenOff.has(row.uuid)) for (const ticket of tickets) journal.release(ticket);
      else if (stranger === undefined) settle(row, tickets);
      else storing.push(this.#setAside(row, stranger, tickets));
    }
    await this.#settler.drained();
    await Promise.all(storing);
    return { finals: settled.length, orphans: orphans.length };
  }

  /** Resolves when everything settled so far is in the database. */
  drained(): Promise<void> {
    return this.#settler.drained();
  }

  /** Resolves when everything settled until now is in the database, or set aside; what is settled meanwhile is not waited for. */
  caughtUp(): Promise<void> {
    return this.#settler.caughtUp();
  }

  /** Stops; what the database has not taken stays in the journal for the next start. */
  async close(): Promise<void> {
    this.#settler.stop();
    this.#failures.rewrite();
    await this.#parts.journal.close();
  }

  #setAside(row: SettlementRow, reason: string, tickets: readonly Ticket[]): Promise<void> {
    const { uuid, accountId, cost } = row;
    this.#parts.log.error('settlement_quarantined', {
      generation: uuid,
      account_id: accountId,
      cost,
      detail: reason,
    });
    return this.#quarantine.add(row, reason, tickets);
  }

  #journal(row: SettlementRow): Ticket | null {
    try {
      return this.#parts.journal.append(finalType, encodeFinal(row));
    } catch (error) {
      this.#parts.log.error('journal_failed', { generation: row.uuid, detail: describeError(error) });
      return null;
    }
  }

  #push(
    row: SettlementRow,
    tickets: readonly Ticket[],
    { done, isLeftover }: { done: (how: SettlementOutcome, reason: string) => void; isLeftover?: boolean },
  ): void {
    this.#pending.set(row.uuid, row);
    const finished = (outcome: SettlementOutcome, reason: string): void => {
      this.#pending.delete(row.uuid);
      this.#failures.forget(row.uuid);
      // A quarantined row keeps its place in the journal until the quarantine has it: it is money that a person must look at.
      if (outcome === 'committed') for (const ticket of tickets) this.#parts.journal.release(ticket);
      done(outcome, reason);
    };
    this.#settler.push(row, finished, isLeftover);
  }

  /** Waits for the database for a while, then gives the settlement up for a record of the failure. */
  async #committedInTime(row: SettlementRow, tickets: Ticket[], outcome: Promise<Ended>): Promise<void> {
    for (let maxWaitMs = databasePatienceMs; ; maxWaitMs = commitPatienceMs) {
      const first = await within(this.#parts.clock, maxWaitMs, outcome, null);
      if (first?.how === 'committed') return;
      if (first?.how === 'quarantined') {
        this.#recordFailure(row, tickets);
        throw new Unbillable('the database refuses the settlement');
      }
      // A row that is being committed is waited for, and one whose COMMIT was not answered: either outcome may be the truth.
      if (this.#giveUp(row, tickets)) {
        void outcome.then(({ how, reason }) => {
          if (how === 'quarantined') void this.#quarantine.add(failureOf(row), reason, tickets);
        });
        throw new Unbillable('neither the journal nor the database took the settlement');
      }
    }
  }

  /** Puts the record of a failure in the place of a settlement; false when that is being committed, or may have been. */
  #giveUp(row: SettlementRow, tickets: Ticket[]): boolean {
    const failed = failureOf(row);
    if (!this.#settler.replace(row.uuid, failed)) return false;
    this.#pending.set(row.uuid, failed);
    this.#failures.add(failed, tickets);
    return true;
  }

  /** Puts the record of a failure in the place of a settlement that the database refused: else the journal would bill it one day. */
  #recordFailure(row: SettlementRow, tickets: Ticket[]): void {
    const failed = failureOf(row);
    this.#failures.add(failed, tickets);
    this.#push(failed, tickets, {
      done: (how, reason) => {
        if (how === 'quarantined') void this.#quarantine.add(failed, reason, tickets);
      },
    });
  }
}

/** The record of a request whose settlement came to nothing. */
function failureOf(row: SettlementRow): SettlementRow {
  return { ...row, status: 500, errorType: 'server', cost: 0n };
}

/** How a settlement ended, and why when the database refused it. */
interface Ended {
  readonly how: SettlementOutcome;
  readonly reason: string;
}
