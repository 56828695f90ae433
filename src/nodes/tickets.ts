import type { TicketRow } from './credit-leases-sql.ts';
import { subjectName } from './lease-table.ts';
import type { QueuedReservation, SpendSubject } from './reservation-request.ts';

/**
 * This node's position among the nodes that wait for a subject: that of the first request in its
 * queue that waits for it.
 */
export interface Ticket {
  readonly subject: SpendSubject;
  readonly holder: QueuedReservation;
  /** Whether the database certainly has it; otherwise it may have the one before. */
  readonly isWritten: boolean;
}

/** The request that has a ticket from now on; null: the ticket is withdrawn. */
export interface TicketChange {
  readonly subject: SpendSubject;
  readonly holder: QueuedReservation | null;
}

/**
 * Every ticket of this node that the database may have. Changed in turns of the serial connection.
 */
export class Tickets {
  readonly #tickets = new Map<string, Ticket>();
  /**
   * Since when requests wait, by the database's clock. Computed once, so that the order of two
   * requests never changes.
   */
  readonly #waitsSinceMs = new WeakMap<QueuedReservation, number>();
  /** How far this node's monotonic clock is behind the database's, as of the last query. */
  #toDatabaseMs = 0;

  has({ kind, id }: Pick<SpendSubject, 'kind' | 'id'>): boolean {
    return this.#tickets.has(subjectName(kind, id));
  }

  /** Forgets the tickets of some accounts. */
  clear(isOf: (accountId: number) => boolean): void {
    for (const [name, { subject }] of this.#tickets) if (isOf(subject.accountId)) this.#tickets.delete(name);
  }

  /** Notes what the database's clock showed when this node's monotonic clock showed `readAtMs`. */
  noteDatabaseTime(nowMs: number, readAtMs: number): void {
    this.#toDatabaseMs = nowMs - readAtMs;
  }

  /** Since when a request waits, by the database's clock. */
  waitsSinceMs(request: QueuedReservation): number {
    const known = this.#waitsSinceMs.get(request);
    if (known !== undefined) return known;
    const waitsSinceMs = Math.floor(request.arrivedMs + this.#toDatabaseMs);
    this.#waitsSinceMs.set(request, waitsSinceMs);
    return waitsSinceMs;
  }

  /** The tickets of requests that have left their queue. */
  ended(): readonly Ticket[] {
    return [...this.#tickets.values()].filter(({ holder }) => holder.hasLeft);
  }

  /**
   * The tickets that change when a request is blocked by a subject, or is admitted: those that it
   * has pass to the requests behind it.
   */
  changesAfter(request: QueuedReservation, by: SpendSubject | null): readonly TicketChange[] {
    request.waitsFor = by;
    const changes: TicketChange[] = [];
    for (const subject of request.subjects) {
      const ticket = this.#tickets.get(subjectName(subject.kind, subject.id));
      const holder = ticket?.holder;
      if (by !== null && by.kind === subject.kind) {
        if (holder !== request || ticket?.isWritten === false) changes.push({ subject, holder: request });
      } else if (holder === request || holder?.hasLeft === true) {
        changes.push({ subject, holder: request.next(subject) });
      }
    }
    return changes;
  }

  /** The rows of tickets in the database. */
  rowsOf(changes: readonly TicketChange[]): readonly TicketRow[] {
    return changes.map(({ subject: { kind, id, accountId }, holder }) => ({
      kind,
      subject: id,
      accountId,
      waitsSinceMs: holder === null ? null : this.waitsSinceMs(holder),
    }));
  }

  apply({ subject, holder }: TicketChange, isWritten: boolean): void {
    const name = subjectName(subject.kind, subject.id);
    if (holder === null) this.#tickets.delete(name);
    else this.#tickets.set(name, { subject, holder, isWritten });
  }
}
