import { Unbillable } from '../errors/unbillable.ts';
import { describeError } from '../log/log.ts';
import { LinkedList, type ListPlace } from '../memory/linked-list.ts';
import { within } from '../time/clock.ts';
import { FailureNotes } from './failure-notes.ts';
import type { Journal, Ticket } from './journal/journal.ts';
import { finalParts, finalType, type OpenRecord } from './journal-records.ts';
import { type Opened, OpenRequests } from './open-requests.ts';
import { checkRecovered, orphanFailure, readOrphanedRecords, settledByNow } from './orphaned-requests.ts';
import { Quarantine } from './quarantine.ts';
import type { SettlementRow } from './settlement-sql.ts';
import type { SettlementListener, SettlementOutcome, SettlerParts } from './settler.ts';
import { Settlers } from './settlers.ts';

export type { Opened } from './open-requests.ts';
export type { SettlementRow } from './settlement-sql.ts';

/**
 * How long a settlement may wait for the database when the journal cannot be written, and for a
 * commit that is under way then.
 */
const maxDatabaseWaitMs = 10_000;
const maxCommitWaitMs = 250;
/**
 * A request in flight is journaled again when this much was written behind it: an eighth of the
 * journal's maximum.
 */
const renewAfterBytes = 128 * 1024 * 1024;

/** What `Settlements` needs. */
export interface SettlementsParts extends Omit<SettlerParts, 'onQuarantined'> {
  readonly journal: Journal;
  /**
   * What makes a settlement durable: this process's journal, or the database itself
   * (spec:money/5.3).
   */
  readonly ack: 'journal' | 'database';
  /**
   * Called with a row that was acknowledged and that the database will never take: its money has
   * not moved.
   */
  readonly onQuarantined: (row: SettlementRow) => void;
}

/**
 * Makes money durable before the client can see that a response is complete (spec:money/5.1):
 * journal first, database soon after. A generation settles at most once, whatever is killed or
 * repeated: the database identifies it by its id.
 */
export class Settlements {
  readonly #parts: SettlementsParts;
  readonly #settlers: Settlers;
  readonly #open: OpenRequests;
  readonly #failures: FailureNotes;
  readonly #quarantine: Quarantine;
  /** Settled here, not yet in the database, and readable. */
  readonly #pending = new LinkedList<Settling>();
  readonly #onEnded = (settling: Settling, end: Ended): void => {
    const { row, tickets, place } = settling;
    place?.remove();
    this.#failures.forget(row.uuid);
    // A quarantined row stays in the journal until the quarantine has stored it: it is money that an
    // operator must decide about.
    if (end.how === 'committed') for (const ticket of tickets) this.#parts.journal.release(ticket);
    else if (settling.isAcknowledged) this.#keepRefused(settling, end);
  };

  constructor(parts: SettlementsParts) {
    this.#parts = parts;
    this.#open = new OpenRequests(parts.journal);
    this.#failures = new FailureNotes(parts.journal, parts.clock);
    this.#quarantine = new Quarantine(parts);
    this.#settlers = new Settlers({
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
   * Journals an admitted request. When the journal rejects it, the database must take the
   * settlement; throws `Unbillable` when that is away as well.
   */
  open(record: OpenRecord): Opened {
    try {
      return this.#open.add(record);
    } catch (error) {
      if (this.#settlers.isFailingFor(record.accountId))
        throw new Unbillable('neither the journal nor the database takes requests', { cause: error });
      return { record, tickets: [], place: null };
    }
  }

  /**
   * Journals again what must stay: requests in flight whose old records keep much of the journal
   * (`OpenRequests`), and failures that it rejected (`FailureNotes`). Stores what the quarantine
   * could not store. Returns the number of requests.
   */
  renew(bytes = renewAfterBytes): Promise<number> {
    this.#failures.rewrite();
    void this.#quarantine.storeAgain();
    return this.#open.renew(bytes);
  }

  /**
   * Settles a request; resolves when that is durable. Rejects with `Unbillable`; then nothing was
   * or will be charged.
   */
  async settle(opened: Opened, row: SettlementRow): Promise<void> {
    const journaled = this.#journal(row);
    const opening = this.#open.end(opened);
    const settling = this.#push(row, journaled === null ? [...opening] : opening.concat(journaled));
    if (this.#parts.ack === 'journal' && journaled !== null) {
      try {
        await this.#parts.journal.durable(journaled);
        this.#acknowledge(settling);
        return;
      } catch (error) {
        this.#parts.log.error('journal_failed', { generation: row.uuid, detail: describeError(error) });
      }
    }
    await this.#committedInTime(settling);
  }

  /** The record of a generation that is settled but not yet in the database. */
  find(uuid: string): SettlementRow | undefined {
    return this.unsettled().find((row) => row.uuid === uuid);
  }

  /** Settlements that are not yet in the database, the oldest first. */
  unsettled(): IteratorObject<SettlementRow> {
    return this.#pending[Symbol.iterator]().map(({ row }) => row);
  }

  /** How many they are. */
  get backlog(): number {
    return this.#settlers.backlog;
  }

  /**
   * Settlements that the database refuses, and refuses to put into its quarantine: only the journal
   * has them.
   */
  get unstored(): number {
    return this.#quarantine.unstored;
  }

  /**
   * Settles what an earlier process left in the journal, before the server accepts requests: finals
   * as they are; an admitted request without one is a failed request at zero cost. Returns the
   * number of each. With `skipsAway` it does not wait for one of several servers that is away: its
   * accounts are not read until they are settled.
   */
  async recover({ skipsAway = false } = {}): Promise<{ readonly finals: number; readonly orphans: number }> {
    const { journal } = this.#parts;
    const { settled, orphans, unknown } = readOrphanedRecords(journal.replay());
    for (const ticket of unknown) journal.release(ticket);
    const storing: Promise<void>[] = [];
    const settle = (row: SettlementRow, tickets: readonly Ticket[]): void =>
      this.#push(row, [...tickets], true).whenEnded(({ how, reason }) => {
        if (how === 'quarantined') storing.push(this.#quarantine.add(row, reason, tickets));
      });
    await this.#parts.database.place();
    const nowMs = this.#parts.clock.now();
    const failed = orphans.map(({ record, tickets }) => ({ row: orphanFailure(record, nowMs), tickets }));
    const dated = settled.map(({ row, tickets }) => ({ row: settledByNow(row, nowMs), tickets }));
    const left = [...dated, ...failed];
    const checks = await checkRecovered(
      this.#parts.database,
      left.map(({ row }) => row),
    );
    for (const { row, tickets } of left) {
      const unknownKey = checks.unknownKeys.get(row.uuid);
      if (checks.quarantined.has(row.uuid)) for (const ticket of tickets) journal.release(ticket);
      else if (unknownKey === undefined) settle(row, tickets);
      else storing.push(this.#setAside(row, unknownKey, tickets));
    }
    if (skipsAway) await this.#settlers.drainedWhereReached();
    else await this.#settlers.drained();
    await Promise.all(storing);
    return { finals: settled.length, orphans: orphans.length };
  }

  /** Resolves when everything settled so far is in the database. */
  drained(): Promise<void> {
    return this.#settlers.drained();
  }

  /**
   * Resolves when everything settled until now is in the database, refused settlements in its
   * quarantine; it does not wait for later settlements. Rejects when the quarantine cannot be
   * written.
   */
  async caughtUp(): Promise<void> {
    await this.#settlers.caughtUp();
    await this.#quarantine.stored();
  }

  /** Stops; what the database has not taken stays in the journal for the next start. */
  async close(): Promise<void> {
    this.#settlers.stop();
    await this.#failures.close();
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
      return this.#parts.journal.append(finalType, ...finalParts(row));
    } catch (error) {
      this.#parts.log.error('journal_failed', { generation: row.uuid, detail: describeError(error) });
      return null;
    }
  }

  #push(row: SettlementRow, tickets: Ticket[], isLeftover = false): Settling {
    const settling = new Settling(row, tickets, this.#onEnded);
    settling.place = this.#pending.add(settling);
    this.#settlers.push(row, settling, isLeftover);
    return settling;
  }

  /** The client may see the complete response from now on. */
  #acknowledge(settling: Settling): void {
    settling.isAcknowledged = true;
    if (settling.end?.how === 'quarantined') this.#keepRefused(settling, settling.end);
  }

  #keepRefused({ row, tickets }: Settling, { reason }: Ended): void {
    this.#parts.onQuarantined(row);
    void this.#quarantine.add(row, reason, tickets);
  }

  /**
   * Waits for the database for a while, then replaces the settlement by a record of the failure.
   */
  async #committedInTime(settling: Settling): Promise<void> {
    const outcome = new Promise<Ended>((resolve) => settling.whenEnded(resolve));
    this.#settlers.hasten(settling.row.accountId);
    for (let maxWaitMs = maxDatabaseWaitMs; ; maxWaitMs = maxCommitWaitMs) {
      const first = await within(this.#parts.clock, maxWaitMs, outcome, null);
      if (first?.how === 'committed') return;
      if (first?.how === 'quarantined') {
        this.#recordFailure(settling);
        throw new Unbillable('the database refuses the settlement');
      }
      // A row that is being committed, or whose COMMIT got no response, is waited for: either
      // outcome is possible.
      if (this.#giveUp(settling)) {
        void outcome.then(({ how, reason }) => {
          if (how === 'quarantined') void this.#quarantine.add(settling.row, reason, settling.tickets);
        });
        throw new Unbillable('neither the journal nor the database took the settlement');
      }
    }
  }

  /**
   * Replaces a settlement by the record of a failure; false when it is being committed, or may have
   * been.
   */
  #giveUp(settling: Settling): boolean {
    const failed = failureOf(settling.row);
    if (!this.#settlers.replace(failed.uuid, failed)) return false;
    settling.row = failed;
    this.#failures.add(failed, settling.tickets);
    return true;
  }

  /**
   * Replaces a settlement that the database refused by the record of a failure: otherwise the
   * journal would bill it later.
   */
  #recordFailure({ row, tickets }: Settling): void {
    const failed = failureOf(row);
    this.#failures.add(failed, tickets);
    this.#push(failed, tickets).whenEnded(({ how, reason }) => {
      if (how === 'quarantined') void this.#quarantine.add(failed, reason, tickets);
    });
  }
}

/** The record of a request whose settlement failed. */
function failureOf(row: SettlementRow): SettlementRow {
  return { ...row, status: 500, errorType: 'server', cost: 0n };
}

/** How a settlement ended, with the reason when the database refused it. */
export interface Ended {
  readonly how: SettlementOutcome;
  readonly reason: string;
}

/**
 * A settlement on its way to the database. Thousands wait there at the same time, each longer than
 * the collector's young generation lasts, so it is one object and has no promise of its own.
 */
export class Settling implements SettlementListener {
  /** Replaced by the record of a failure when it is given up. */
  row: SettlementRow;
  /** Its records in the journal, which are released when it is committed. */
  readonly tickets: Ticket[];
  /** Whether a client may have seen the complete response: then its money must move. */
  isAcknowledged = false;
  /** Where it is among those that are not in the database. */
  place: ListPlace<Settling> | null = null;
  /** Null until it has ended. */
  end: Ended | null = null;
  readonly #onEnded: (settling: Settling, end: Ended) => void;
  #task: ((end: Ended) => void) | null = null;

  /** `onEnded` is called first when it has ended. */
  constructor(row: SettlementRow, tickets: Ticket[], onEnded: (settling: Settling, end: Ended) => void) {
    this.row = row;
    this.tickets = tickets;
    this.#onEnded = onEnded;
  }

  ended(how: SettlementOutcome, reason: string): void {
    const end = { how, reason };
    this.end = end;
    this.#onEnded(this, end);
    this.#task?.(end);
  }

  /** Calls one task when it has ended, or at once if it has. */
  whenEnded(task: (end: Ended) => void): void {
    if (this.end === null) this.#task = task;
    else task(this.end);
  }
}
