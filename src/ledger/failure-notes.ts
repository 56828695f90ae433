import { type Clock, pause } from '../time/clock.ts';
import type { Journal, Ticket } from './journal/journal.ts';
import { encodeFinal, finalType } from './journal-records.ts';
import type { SettlementRow } from './settlement-sql.ts';

/** A journal whose disk works again accepts records a second later. */
const closeWithinMs = 2_500;
const tryEveryMs = 100;

/** A failure that must get into the journal. */
interface Note {
  readonly failed: SettlementRow;
  /** The records of the request in the journal. */
  readonly tickets: Ticket[];
  /**
   * The last attempt, which is under way or was reported as lost: a replay may find it all the
   * same.
   */
  last: Ticket | null;
  isBeingWritten: boolean;
}

/**
 * The failures that replace settlements which could not be made durable. The journal may have kept
 * such a settlement although it reported it as lost, and would bill it at the next start. Of two
 * settlements of one request, replay takes the later. So the failure is journaled too, and again
 * until the journal or the database has it.
 */
export class FailureNotes {
  readonly #journal: Journal;
  readonly #clock: Clock;
  readonly #notes = new Map<string, Note>();

  constructor(journal: Journal, clock: Clock) {
    this.#journal = journal;
    this.#clock = clock;
  }

  /** Adds a failure, with the tickets that are released once it is in the database. */
  add(failed: SettlementRow, tickets: Ticket[]): void {
    const note: Note = { failed, tickets, last: null, isBeingWritten: false };
    this.#notes.set(failed.uuid, note);
    this.#write(note);
  }

  /** The database has the failure of this request, or never will. */
  forget(uuid: string): void {
    this.#notes.delete(uuid);
  }

  /** Journals the failures that the journal rejected before. */
  rewrite(): void {
    for (const note of this.#notes.values()) if (!note.isBeingWritten) this.#write(note);
  }

  /**
   * Journals what is left, for a moment also while the journal rejects it: afterwards the next start
   * would bill what the client was told has failed.
   */
  async close(): Promise<void> {
    const untilMs = this.#clock.monotonic() + closeWithinMs;
    this.rewrite();
    while (this.#notes.size > 0 && this.#clock.monotonic() < untilMs) {
      await pause(this.#clock, tryEveryMs, new AbortController().signal);
      this.rewrite();
    }
  }

  #write(note: Note): void {
    const { failed, tickets } = note;
    let ticket: Ticket;
    try {
      ticket = this.#journal.append(finalType, encodeFinal(failed));
    } catch {
      // The journal reports this itself.
      return;
    }
    tickets.push(ticket);
    if (note.last !== null) {
      tickets.splice(tickets.indexOf(note.last), 1);
      this.#journal.release(note.last);
    }
    note.last = ticket;
    note.isBeingWritten = true;
    this.#journal.durable(ticket).then(
      () => this.forget(failed.uuid),
      () => {
        note.isBeingWritten = false;
      },
    );
  }
}
