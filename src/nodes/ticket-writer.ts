import { recordChange } from '../store/changes.ts';
import type { Database } from '../store/database.ts';
import type { SerialConnection } from '../store/serial-connection.ts';
import { begin, commit, type Sql } from '../store/sql.ts';
import { writeTickets } from './credit-leases-sql.ts';
import type { LeaseTable } from './lease-table.ts';
import type { NodeRegistry } from './node-registry.ts';
import type { QueuedReservation } from './reservation-request.ts';
import type { TicketChange, Tickets } from './tickets.ts';

interface TicketWriterParts {
  readonly database: Database;
  readonly nodes: Pick<NodeRegistry, 'id'>;
}

/** Writes the tickets of this node, in turns of the connection of their accounts. */
export class TicketWriter {
  readonly #parts: TicketWriterParts;
  readonly #tickets: Tickets;
  readonly #leases: LeaseTable;

  constructor(parts: TicketWriterParts, tickets: Tickets, leases: LeaseTable) {
    this.#parts = parts;
    this.#tickets = tickets;
    this.#leases = leases;
  }

  /**
   * A request has left its queue: its tickets pass to the requests behind it, or are withdrawn.
   * Never rejects.
   */
  async departed(request: QueuedReservation): Promise<void> {
    const ended = this.#tickets.ended().find(({ holder }) => holder === request);
    if (ended === undefined) return;
    try {
      await this.passOn(this.#parts.database.orderedFor(ended.subject.accountId));
    } catch {
      // It is retried with the idle leases.
    }
  }

  /** Passes on the tickets of requests that have left, of the accounts of one connection. */
  passOn(connection: SerialConnection): Promise<void> {
    return connection.run((sql) => this.#passOn(sql, connection));
  }

  async #passOn(sql: Sql, connection: SerialConnection): Promise<void> {
    const { database } = this.#parts;
    const ended = this.#tickets
      .ended()
      .filter(({ subject }) => database.orderedFor(subject.accountId) === connection);
    if (ended.length === 0) return;
    const next = ended.map(({ subject, holder }) => ({ subject, holder: holder.next(subject) }));
    await begin(sql);
    await this.write(sql, next);
    // Requests behind it on other nodes may be the oldest now.
    for (const { subject } of next) await recordChange(sql, subject.kind, subject.id);
    await commit(sql);
    this.keep(next);
  }

  /** Writes rows in the transaction of the caller, which calls `keep` when it is committed. */
  async write(sql: Sql, changes: readonly TicketChange[]): Promise<void> {
    await writeTickets(sql, this.#parts.nodes.id, this.#tickets.rowsOf(changes));
  }

  /** Has the tickets in memory that the database has, or may have while `isWritten` is false. */
  keep(changes: readonly TicketChange[], isWritten = true): void {
    for (const change of changes) {
      const { subject, holder } = change;
      this.#tickets.apply(change, isWritten);
      // The row of a ticket is released with the idle leases.
      if (!this.#leases.has(subject)) this.#leases.put(subject, 0n);
      // It left while its ticket was written.
      if (holder?.hasLeft === true) void this.departed(holder);
    }
  }
}
