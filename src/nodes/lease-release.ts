import { recordChange } from '../store/changes.ts';
import type { Database } from '../store/database.ts';
import { begin, commit, type Sql } from '../store/sql.ts';
import { type CreditLeaseRow, dropAllLeases, dropLeases, writeLeases } from './credit-leases-sql.ts';
import type { LeaseTable } from './lease-table.ts';
import type { NodeRegistry } from './node-registry.ts';
import type { ReleaseRequests } from './release-requests.ts';
import type { SpendSubject } from './reservation-request.ts';
import type { TicketWriter } from './ticket-writer.ts';
import type { Tickets } from './tickets.ts';

/** A lease before it is written. */
export interface NextLease {
  readonly subject: SpendSubject;
  readonly amount: bigint;
}

/** What the release of leases needs; leases and tickets are those that `CreditLeases` grants. */
export interface LeaseReleaseParts {
  readonly database: Database;
  readonly nodes: Pick<NodeRegistry, 'id' | 'isAlone'>;
  readonly leases: LeaseTable;
  readonly tickets: Tickets;
  readonly ticketWriter: TicketWriter;
  /** The subjects of which other nodes wait for credit. */
  readonly wanted: ReleaseRequests;
}

/** Releases what this node has leased and does not use, so that other nodes can spend it. */
export class LeaseRelease {
  readonly #parts: LeaseReleaseParts;

  constructor(parts: LeaseReleaseParts) {
    this.#parts = parts;
  }

  /**
   * A request that spent of it has ended. When another node waits for that, the credit is released
   * at once. Never rejects.
   */
  async released(subject: SpendSubject): Promise<void> {
    if (!this.#parts.wanted.take(subject) || !this.#parts.leases.has(subject)) return;
    try {
      await this.releaseExcess([subject]);
      // The subject's own topic wakes the requests that wait and does not request another release.
      await this.#parts.database.transaction((sql) => recordChange(sql, subject.kind, subject.id));
    } catch {
      // The node that waits repeats its request.
    }
  }

  /**
   * This node is alone no more: its outstanding credit becomes its leases, and nothing else does.
   */
  async publish(subjects: Iterable<SpendSubject>): Promise<void> {
    this.#parts.leases.clear();
    await this.#parts.database.serial.run(async (sql) => {
      // A request that was queued earlier may have got a lease since then; that goes too.
      this.#parts.leases.clear();
      const { id } = this.#parts.nodes;
      const exposed = [...subjects]
        .filter(({ outstanding }) => outstanding > 0n)
        .map((subject) => ({ subject, amount: subject.outstanding }));
      await begin(sql);
      await dropAllLeases(sql, id);
      // A request that waits gets a ticket again at its next query.
      this.#parts.tickets.clear();
      if (exposed.length > 0) await writeLeases(sql, id, exposed.map(rowOf));
      await commit(sql);
      for (const { subject, amount } of exposed) this.#parts.leases.put(subject, amount, false);
    });
  }

  /**
   * Releases leases that nothing was spent of lately, down to what is in flight. Rejects when the
   * database is away.
   */
  async releaseIdle(): Promise<void> {
    const { serial } = this.#parts.database;
    if (this.#parts.leases.idle().length > 0)
      await serial.run((sql) => this.#trim(sql, this.#parts.leases.idle()));
    // Tickets that could not be withdrawn when their requests left.
    if (this.#parts.tickets.ended().length > 0)
      await serial.run((sql) => this.#parts.ticketWriter.passOn(sql));
  }

  /**
   * Releases what is not in flight of these: they changed, or another node needs it. What is in
   * flight with a key that had no limit until now becomes a lease. Rejects when the database is
   * away.
   */
  async releaseExcess(subjects: readonly SpendSubject[]): Promise<void> {
    if (subjects.length === 0) return;
    await this.#parts.database.serial.run(async (sql) => {
      if (this.#parts.nodes.isAlone) return;
      const concerned = subjects.filter(
        (subject) => subject.outstanding > 0n || this.#parts.leases.has(subject),
      );
      await this.#trim(sql, concerned);
    });
  }

  /**
   * Sets leases to what is in flight, in a turn of the serial connection, so that no lease is
   * granted in between.
   */
  async #trim(sql: Sql, subjects: readonly SpendSubject[]): Promise<void> {
    const next = subjects.map((subject) => ({ subject, amount: subject.outstanding }));
    const raised = next.filter(({ subject, amount }) => amount > this.#parts.leases.lowerOf(subject, amount));
    for (const { subject, amount } of next)
      this.#parts.leases.put(subject, this.#parts.leases.lowerOf(subject, amount));
    const rows = next.map(rowOf);
    const isKept = ({ kind, subject: id, amount }: CreditLeaseRow): boolean =>
      amount > 0n || this.#parts.tickets.has({ kind, id });
    const kept = rows.filter(isKept);
    const dropped = rows.filter((row) => !isKept(row));
    if (kept.length > 0) await writeLeases(sql, this.#parts.nodes.id, kept);
    if (dropped.length > 0) await dropLeases(sql, this.#parts.nodes.id, dropped);
    // The others may have got leases that did not count this.
    for (const { subject } of raised) await recordChange(sql, `share-of-${subject.kind}`, subject.id);
    for (const { subject, amount } of next) {
      if (isKept(rowOf({ subject, amount }))) this.#parts.leases.put(subject, amount, false);
      else this.#parts.leases.delete(subject);
    }
  }
}

/** The row of a lease. */
export function rowOf({ subject, amount }: NextLease): CreditLeaseRow {
  return { kind: subject.kind, subject: subject.id, accountId: subject.accountId, amount };
}
