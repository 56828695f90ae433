import { LinkedList, type ListPlace } from '../memory/linked-list.ts';
import type { Journal, Ticket } from './journal/journal.ts';
import { encodeOpen, type OpenRecord, openType } from './journal-records.ts';

/** An admitted request: it ends in exactly one settlement. */
export interface Opened {
  readonly record: OpenRecord;
  /**
   * Its records in the journal: none when the journal rejected it, two while it is written again.
   */
  readonly tickets: Ticket[];
  /** Where it is among the requests in flight; null when it is not one. */
  place: ListPlace<Opened> | null;
}

/**
 * The requests in flight as the journal has them. One live record keeps its whole segment, so a
 * call of an hour would keep what hundreds of thousands of others wrote after it. Its record is
 * therefore written again from time to time.
 */
export class OpenRequests {
  readonly #journal: Journal;
  /** The record that was written first comes first. */
  readonly #open = new LinkedList<Opened>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Journals an admitted request; throws `JournalUnavailable`. */
  add(record: OpenRecord): Opened {
    const ticket = this.#journal.append(openType, encodeOpen(record));
    const opened: Opened = { record, tickets: [ticket], place: null };
    opened.place = this.#open.add(opened);
    return opened;
  }

  /** Ends a request: the caller must release its tickets from now on. */
  end(opened: Opened): readonly Ticket[] {
    opened.place?.remove();
    opened.place = null;
    return opened.tickets;
  }

  /**
   * Writes again every record behind which at least `bytes` were begun, and releases the old one
   * once the new one is durable. Returns how many. Rejects with `JournalUnavailable` when there is
   * no room; then the old records stay.
   */
  async renew(bytes: number): Promise<number> {
    let renewed = 0;
    for (let opened = this.#open.first; opened !== undefined; opened = this.#open.first) {
      const [old] = opened.tickets;
      if (old === undefined || this.#journal.bytesSince(old) < bytes) break;
      const fresh = this.#journal.append(openType, encodeOpen(opened.record));
      opened.tickets.push(fresh);
      opened.place?.remove();
      opened.place = this.#open.add(opened);
      await this.#journal.durable(fresh);
      renewed += 1;
      // The request ended meanwhile, and its end has both tickets.
      if (opened.place === null) continue;
      opened.tickets.shift();
      this.#journal.release(old);
    }
    return renewed;
  }
}
