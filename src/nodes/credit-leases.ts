import { recordChange } from '../store/changes.ts';
import type { Database } from '../store/database.ts';
import { begin, commit, rollback, type Sql } from '../store/sql.ts';
import type { Clock } from '../time/clock.ts';
import { type CreditLeaseKind, leasesOfOthers, lockLeases, writeLeases } from './credit-leases-sql.ts';
import { blockerAlone, blockerOf, leaseOf, type Remaining } from './lease-decisions.ts';
import { LeaseRelease, rowOf } from './lease-release.ts';
import { LeaseTable } from './lease-table.ts';
import type { NodeRegistry } from './node-registry.ts';
import { ReleaseRequests } from './release-requests.ts';
import type { ReservationRequest, ReservationResult, SpendSubject } from './reservation-request.ts';

/** What `CreditLeases` needs. */
export interface CreditLeasesParts {
  readonly database: Database;
  readonly clock: Clock;
  /** Who else serves. */
  readonly nodes: Pick<NodeRegistry, 'id' | 'isAlone' | 'count' | 'untilSeen' | 'isSeen' | 'beat'>;
  /** Whether this node's view of the other nodes is current. */
  readonly isCurrent: () => boolean;
}

const admitted: ReservationResult = { kind: 'admitted' };

/**
 * Prevents several nodes together from spending more than there is (spec:money/6.11). Each node has
 * a lease of part of an account's remaining credit and spends it without a query. All leases
 * together are never more than the remainder, so no two nodes can spend the same won, whatever the
 * concurrency. A lease is half of what is free, divided by the nodes: far from the floor one query
 * lasts for thousands of requests. A request that exceeds the lease takes one short transaction. A
 * node that is alone has no leases and makes no query.
 *
 * A request is admitted when its estimate fits into the remainder beside all estimates in flight,
 * or when nothing else is in flight on any node: so the overspend of all nodes together is that of
 * one request.
 *
 * While a node waits for credit, the others lease only what they have in flight.
 */
export class CreditLeases {
  readonly #parts: CreditLeasesParts;
  readonly #leases: LeaseTable;
  readonly #wanted: ReleaseRequests;
  readonly #release: LeaseRelease;
  #beating: Promise<void> | null = null;

  constructor(parts: CreditLeasesParts) {
    this.#parts = parts;
    this.#leases = new LeaseTable(parts.clock);
    this.#wanted = new ReleaseRequests(parts.clock);
    this.#release = new LeaseRelease({
      ...parts,
      leases: this.#leases,
      wanted: this.#wanted,
    });
  }

  /** The node whose leases a settlement spends; null while it is alone and has none. */
  get spendingNode(): number | null {
    return this.#parts.nodes.isAlone ? null : this.#parts.nodes.id;
  }

  /** Whether this node knows that no other node spends. */
  get #isSole(): boolean {
    const { nodes, isCurrent } = this.#parts;
    return nodes.isAlone && nodes.untilSeen === null && isCurrent();
  }

  /**
   * Admits a request whose refusal is null, or returns what blocks it, without a query; null when
   * only the database knows. A node that is alone knows by itself; beside others it knows as far as
   * its leases go.
   */
  reserveNow(request: ReservationRequest): ReservationResult | null {
    if (this.#isSole && request.isKnown) {
      const by = blockerAlone(request);
      if (by !== undefined) return { kind: 'blocked', by, isShared: false };
    } else if (this.#parts.nodes.untilSeen !== null || !this.#isCovered(request)) return null;
    request.count();
    return admitted;
  }

  /**
   * Reserves by the database; when a connection is lost, again for as long as a read. Rejects when
   * the database is away.
   */
  async reserve(request: ReservationRequest): Promise<ReservationResult> {
    for (;;) {
      const result = await this.#parts.database.withRetries(() => this.#tryToReserve(request));
      if (result !== null) return result;
    }
  }

  /** Null: to be tried again at once. */
  async #tryToReserve(request: ReservationRequest): Promise<ReservationResult | null> {
    const { database, nodes } = this.#parts;
    await nodes.untilSeen;
    if (!nodes.isSeen) await this.#beat();
    await nodes.untilSeen;
    const connection = database.placement.orderedFor(request.subjects[0]?.accountId ?? 0);
    if (this.#release.isBehind(connection)) await this.#release.publishRest(connection);
    return connection.run((sql) => this.#query(sql, request));
  }

  /** All requests that wait for the node to be seen again share one beat. */
  #beat(): Promise<void> {
    this.#beating ??= this.#parts.nodes.beat().finally(() => {
      this.#beating = null;
    });
    return this.#beating;
  }

  /**
   * Requests that the other nodes release what they have of it and do not use. Rejects when the
   * database is away.
   */
  async requestRelease({ kind, id }: SpendSubject): Promise<void> {
    await this.#parts.database.transaction((sql) => recordChange(sql, `share-of-${kind}`, id));
  }

  /** Another node waits for credit of it: this node leases no more than it has in flight. */
  noteWanted(subject: Pick<SpendSubject, 'kind' | 'id'>): void {
    this.#wanted.add(subject);
  }

  /** Whether another node waits for anything: only then `released` has something to do. */
  get isAnyWanted(): boolean {
    return !this.#wanted.isEmpty;
  }

  /**
   * A request that spent of it has ended. When another node waits for that, the credit is released
   * at once. Never rejects.
   */
  released(subject: SpendSubject): Promise<void> {
    return this.#release.released(subject);
  }

  /** Takes what a settlement has spent out of the leases in memory, as in the database. */
  spent(kind: CreditLeaseKind, subject: number, amount: bigint): void {
    this.#leases.spent(kind, subject, amount);
  }

  /**
   * This node is alone no more: its outstanding credit becomes its leases, and nothing else does.
   */
  publish(subjects: () => Iterable<SpendSubject>): Promise<void> {
    return this.#release.publish(subjects);
  }

  /**
   * Releases leases that nothing was spent of lately, down to what is in flight. Rejects when the
   * database is away.
   */
  releaseIdle(): Promise<void> {
    return this.#release.releaseIdle();
  }

  /** A subject that this node has a lease of; undefined when it has none. */
  leased(subject: Pick<SpendSubject, 'kind' | 'id'>): SpendSubject | undefined {
    return this.#leases.subjectOf(subject);
  }

  /**
   * Releases what is not in flight of these: they changed, or another node needs it. What is in
   * flight with a key that had no limit until now becomes a lease. Rejects when the database is
   * away.
   */
  releaseExcess(subjects: readonly SpendSubject[]): Promise<void> {
    return this.#release.releaseExcess(subjects);
  }

  /**
   * A node that was stopped for a while may have been considered lost, and its leases with it:
   * unless it is current, it must query.
   */
  #isCovered(request: ReservationRequest): boolean {
    if (!this.#parts.isCurrent() || !this.#parts.nodes.isSeen) return false;
    return this.#leases.covers(request);
  }

  /**
   * One turn of the account's connection: the rows contain exactly the settlements that are no longer
   * part of our outstanding credit. Null when the others may have considered this node lost
   * meanwhile: then its outstanding credit is published before the next attempt.
   */
  async #query(sql: Sql, request: ReservationRequest): Promise<ReservationResult | null> {
    const { nodes } = this.#parts;
    if (nodes.untilSeen !== null || !nodes.isSeen) return null;
    const refusal = request.refusal();
    if (refusal !== null) return { kind: 'refused', error: refusal };
    if (this.#isCovered(request)) {
      request.count();
      return admitted;
    }
    await begin(sql);
    const remainders = await this.#readRemainders(sql, request);
    // No await from here to the reservation: what is compared is what is counted.
    const isLost = nodes.untilSeen !== null || !nodes.isSeen;
    const error = request.refusal();
    const by = blockerOf(request, remainders);
    if (isLost || error !== null || by !== undefined) {
      await rollback(sql);
      if (isLost) return null;
      if (error !== null) return { kind: 'refused', error };
      if (by !== undefined) return { kind: 'blocked', by: by.subject, isShared: by.others > 0n };
    }
    request.count();
    try {
      await this.#grant(sql, remainders);
    } catch (error) {
      request.uncount();
      throw error;
    }
    return admitted;
  }

  async #readRemainders(sql: Sql, { subjects }: ReservationRequest): Promise<readonly Remaining[]> {
    const remainders: Remaining[] = [];
    for (const subject of subjects) {
      const of = { kind: subject.kind, accountId: subject.accountId, subject: subject.id };
      await lockLeases(sql, of);
      const left = await subject.readRemaining(sql);
      const others = await leasesOfOthers(sql, this.#parts.nodes.id, of);
      remainders.push({ subject, left: left - others, others });
    }
    return remainders;
  }

  /**
   * Ends the transaction of a request that is admitted: leases credit for it and for later ones.
   */
  async #grant(sql: Sql, remainders: readonly Remaining[]): Promise<void> {
    const { nodes } = this.#parts;
    const next = remainders.map((one) => ({
      subject: one.subject,
      left: one.left,
      amount: leaseOf(one, nodes.count, this.#wanted.has(one.subject)),
    }));
    for (const { subject, amount } of next) this.#leases.put(subject, this.#leases.lowerOf(subject, amount));
    try {
      await writeLeases(sql, nodes.id, next.map(rowOf));
      await commit(sql);
    } catch (error) {
      // Unknown whether the database has the new leases or the old ones: neither is spent without a
      // query.
      for (const { subject } of next) this.#leases.put(subject, 0n);
      throw error;
    }
    for (const { subject, amount, left } of next) this.#leases.put(subject, amount, amount <= left);
  }
}
