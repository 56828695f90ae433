import type { Journal, Ticket } from '../journal/journal.ts';
import { encodeOpen, type OpenRecord, openType } from './journal-records.ts';

/** A request that was admitted: it ends in exactly one settlement. */
export interface Opened {
  readonly record: OpenRecord;
  /** What stands for it in the journal: nothing when the journal took nothing, two while it is written anew. */
  readonly tickets: Ticket[];
}

/**
 * The requests in flight as the journal has them. One live record keeps its whole segment, so that a call of an hour would keep
 * what hundreds of thousands of others wrote since: its record is written anew from time to time.
 */
export class OpenRequests {
  readonly #journal: Journal;
  /** The longest written first. */
  readonly #open = new Set<Opened>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Journals an admitted request; throws `JournalUnavailable`. */
  add(record: OpenRecord): Opened {
    const opened = { record, tickets: [this.#journal.append(openType, encodeOpen(record))] };
    this.#open.add(opened);
    return opened;
  }

  /** Ends a request: its tickets are the caller's to release from now on. */
  end(opened: Opened): readonly Ticket[] {
    this.#open.delete(opened);
    return opened.tickets;
  }

  /**
   * Writes anew every record behind which at least `bytes` were begun, and lets go of the old one once the new one is on the
   * disk. Returns how many; rejects with `JournalUnavailable` when there is no room: then they stay where they are.
   */
  async renew(bytes: number): Promise<number> {
    let renewed = 0;
    for (const opened of this.#open) {
      const [old] = opened.tickets;
      if (old === undefined) continue;
      if (this.#journal.bytesSince(old) < bytes) break;
      const fresh = this.#journal.append(openType, encodeOpen(opened.record));
      opened.tickets.push(fresh);
      this.#open.delete(opened);
      this.#open.add(opened);
      await this.#journal.durable(fresh);
      renewed += 1;
      // Whoever ended it meanwhile has both tickets.
      if (!this.#open.has(opened)) continue;
      opened.tickets.shift();
      this.#journal.release(old);
    }
    return renewed;
  }
}
