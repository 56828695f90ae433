import type { ListPlace } from '../memory/linked-list.ts';
import type { Ticket } from './journal/journal.ts';
import type { SettlementRow } from './settlement-sql.ts';
import type { SettlementListener, SettlementOutcome } from './settler.ts';

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
