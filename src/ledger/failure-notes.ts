import type { Journal, Ticket } from '../journal/journal.ts';
import { encodeFinal, finalType } from './journal-records.ts';
import type { SettlementRow } from './settlement-sql.ts';

/** A failure that the journal must come to have. */
interface Note {
  readonly failed: SettlementRow;
  /** What stands for the request in the journal. */
  readonly tickets: Ticket[];
  /** The last attempt, which is under way or was called lost: it may be found at a replay all the same. */
  last: Ticket | null;
  isBeingWritten: boolean;
}

/**
 * The failures that took the place of settlements which nobody could make durable. The journal may have kept such a settlement
 * although it called it lost, and would bill it at the next start; of two settlements of one request, replay believes the later. So
 * its failure is journaled too, and again until the journal has it or the database does.
 */
export class FailureNotes {
  readonly #journal: Journal;
  readonly #notes = new Map<string, Note>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Takes a failure, with the tickets that are released once it is in the database. */
  add(failed: SettlementRow, tickets: Ticket[]): void {
    const note: Note = { failed, tickets, last: null, isBeingWritten: false };
    this.#notes.set(failed.uuid, note);
    this.#write(note);
  }

  /** The database has the failure of this request, or never will. */
  forget(uuid: string): void {
    this.#notes.delete(uuid);
  }

  /** Journals what the journal has refused before. */
  rewrite(): void {
    for (const note of this.#notes.values()) if (!note.isBeingWritten) this.#write(note);
  }

  #write(note: Note): void {
    const { failed, tickets } = note;
    let ticket: Ticket;
    try {
      ticket = this.#journal.append(finalType, encodeFinal(failed));
    } catch {
      // The journal has said so itself, when it came to that.
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
