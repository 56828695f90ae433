import { recordChange } from '../store/changes.ts';
import type { Database } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';
import type { Clock } from '../time/clock.ts';
import {
  type CreditLeaseKind,
  type CreditLeaseRow,
  claimsOfOthers,
  dropAllLeases,
  dropLeases,
  lockLeases,
  writeLeases,
  writeTickets,
} from './credit-leases-sql.ts';
import type { NodeRegistry } from './node-registry.ts';

/** A credit lease of which nothing was spent for this long is released. */
const idleMs = 3_000;
/**
 * A node that waits for credit repeats its release request more often than this; an older one has
 * ended.
 */
const wantedForMs = 1_000;

/**
 * Credit that several nodes spend at once: that of an account, or what is left below a key's limit.
 */
export interface SpendSubject {
  readonly kind: CreditLeaseKind;
  readonly id: number;
  /**
   * What this node may still take of it: charges that are not committed, and the reservations of
   * its requests. Micro-won.
   */
  readonly outstanding: bigint;
  /** The reservations alone: 0 when this node has no request in flight that spends of it. */
  readonly reserved: bigint;
  /** The remainder as memory has it, this node's exposure not deducted. */
  readonly left: bigint;
  /**
   * Reads the remainder again, this node's exposure not deducted, and updates memory. Run on the
   * serial connection, under the subject's lock.
   */
  readonly readRemaining: (sql: Sql) => Promise<bigint>;
}

/** A request for a reservation. */
export interface ReservationRequest {
  /** The account first, then the key if it has a limit. */
  readonly subjects: readonly SpendSubject[];
  /** Its estimate, micro-won. */
  readonly amount: bigint;
  /** Whether memory has everything that was spent of the subjects, while no other node spends. */
  readonly isKnown: boolean;
  /** Why settled figures refuse it by now; null when they do not. */
  readonly refusal: () => Error | null;
  /**
   * Counts the amount: from then on it is part of every subject's exposure. Called at most
   * once, when the request is admitted.
   */
  readonly count: () => void;
}

/** A reservation request that waits in its node's queue. */
export interface QueuedReservation extends ReservationRequest {
  /** When it was queued, by this node's monotonic clock. */
  readonly arrivedMs: number;
  /** It has left the queue, admitted or not. */
  readonly hasLeft: boolean;
  /** The subject that it was last found to wait for; null before it is checked. */
  waitsFor: SpendSubject | null;
  /** The first request behind it in the queue that waits for the subject, or may. */
  readonly next: (subject: SpendSubject) => QueuedReservation | null;
}

/** The result of a reservation request. */
export type ReservationResult =
  | { readonly kind: 'admitted' }
  | { readonly kind: 'refused'; readonly error: Error }
  /** The estimates in flight leave no room for it: it waits until enough of them have settled. */
  | {
      readonly kind: 'blocked';
      readonly by: SpendSubject;
      /**
       * It is the oldest that waits, and other nodes have leases, which may exceed what they have
       * in flight.
       */
      readonly isShared: boolean;
    };

/** What `CreditLeases` needs. */
export interface CreditLeasesParts {
  readonly database: Database;
  readonly clock: Clock;
  /** Who else serves. */
  readonly nodes: Pick<NodeRegistry, 'id' | 'isAlone' | 'count' | 'untilSeen' | 'isSeen' | 'beat'>;
  /** Whether this node's view of the other nodes is current. */
  readonly isCurrent: () => boolean;
}

interface CreditLease {
  readonly subject: SpendSubject;
  amount: bigint;
  /**
   * Whether it is part of the remainder at the time of the grant. A request that was admitted alone
   * may have an estimate beyond the remainder, and that is leased too. Once the request has ended
   * and cost less, the rest is not spent without a query.
   */
  isSpendable: boolean;
  usedMs: number;
}

/** The remainder of a subject beside the leases of other nodes, as the database has it. */
interface Remaining {
  readonly subject: SpendSubject;
  readonly left: bigint;
  readonly others: bigint;
  /** The oldest ticket of the other nodes, by the database's clock; null when none of them waits. */
  readonly othersWaitSinceMs: number | null;
}

/**
 * This node's position among the nodes that wait for a subject: that of the first request in its
 * queue that waits for it.
 */
interface Ticket {
  readonly subject: SpendSubject;
  readonly holder: QueuedReservation;
}

/** Another node waits for credit. */
interface ReleaseRequest {
  /** The end of its validity. */
  readonly untilMs: number;
  /** Whether a request that ended has released credit for it. */
  isReleased: boolean;
}

/**
 * More than a node spends in a moment, and small enough that the leases of a thousand nodes add up
 * to a bigint of the database.
 */
const maxLease = 1_000_000_000_000_000n;

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
 * The first request that waits at a node gives it a ticket: the time since when it waits. A node is
 * granted credit only while no other node has an older ticket.
 */
export class CreditLeases {
  readonly #parts: CreditLeasesParts;
  readonly #leases = new Map<string, CreditLease>();
  /**
   * Every ticket of this node that the database may have. Changed in turns of the serial
   * connection.
   */
  readonly #tickets = new Map<string, Ticket>();
  /**
   * Since when requests wait, by the database's clock. Computed once, so that the order of two
   * requests never changes.
   */
  readonly #waitsSinceMs = new WeakMap<QueuedReservation, number>();
  /** How far this node's monotonic clock is behind the database's, as of the last query. */
  #toDatabaseMs = 0;
  /** What other nodes wait for. */
  readonly #wanted = new Map<string, ReleaseRequest>();
  #beating: Promise<void> | null = null;

  constructor(parts: CreditLeasesParts) {
    this.#parts = parts;
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
      const by = blockerOf(request, request.subjects.map(aloneWith), 0);
      if (by !== undefined) return { kind: 'blocked', by: by.subject, isShared: false };
    } else if (this.#parts.nodes.untilSeen !== null || !this.#isCovered(request)) return null;
    request.count();
    return admitted;
  }

  /** Reserves by the database. Rejects when it is away. */
  async reserve(request: QueuedReservation): Promise<ReservationResult> {
    const { database, nodes } = this.#parts;
    for (;;) {
      await nodes.untilSeen;
      if (!nodes.isSeen) await this.#beat();
      await nodes.untilSeen;
      const result = await database.serial.run((sql) => this.#query(sql, request));
      if (result !== null) return result;
    }
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

  /**
   * Another node waits for credit of it. Until that has been admitted, this node spends its lease
   * only by a query.
   */
  noteWanted({ kind, id }: Pick<SpendSubject, 'kind' | 'id'>): void {
    const nowMs = this.#parts.clock.monotonic();
    for (const [name, { untilMs }] of this.#wanted) if (untilMs <= nowMs) this.#wanted.delete(name);
    this.#wanted.set(nameOf(kind, id), { untilMs: nowMs + wantedForMs, isReleased: false });
  }

  #isWanted(name: string): boolean {
    const requested = this.#wanted.get(name);
    return requested !== undefined && requested.untilMs > this.#parts.clock.monotonic();
  }

  /** Whether another node waits for anything: only then `released` has something to do. */
  get isAnyWanted(): boolean {
    return this.#wanted.size > 0;
  }

  /**
   * A request that spent of it has ended. When another node waits for that, the credit is released
   * at once. Never rejects.
   */
  async released(subject: SpendSubject): Promise<void> {
    const name = nameOf(subject.kind, subject.id);
    const requested = this.#wanted.get(name);
    if (requested === undefined || requested.isReleased) return;
    if (!this.#isWanted(name)) this.#wanted.delete(name);
    else requested.isReleased = true;
    if (!requested.isReleased || !this.#leases.has(name)) return;
    try {
      await this.releaseExcess([subject]);
      // The subject's own topic wakes the requests that wait and does not request another release.
      await this.#parts.database.transaction((sql) => recordChange(sql, subject.kind, subject.id));
    } catch {
      // The node that waits repeats its request.
    }
  }

  /** Takes what a settlement has spent out of the leases in memory, as in the database. */
  spent(kind: CreditLeaseKind, subject: number, amount: bigint): void {
    const lease = this.#leases.get(nameOf(kind, subject));
    if (lease !== undefined) lease.amount = lease.amount > amount ? lease.amount - amount : 0n;
  }

  /**
   * This node is alone no more: its outstanding credit becomes its leases, and nothing else does.
   */
  async publish(subjects: Iterable<SpendSubject>): Promise<void> {
    this.#leases.clear();
    await this.#parts.database.serial.run(async (sql) => {
      // A request that was queued earlier may have got a lease since then; that goes too.
      this.#leases.clear();
      const { id } = this.#parts.nodes;
      const exposed = [...subjects]
        .filter(({ outstanding }) => outstanding > 0n)
        .map((subject) => ({ subject, amount: subject.outstanding }));
      await sql.query('BEGIN');
      await dropAllLeases(sql, id);
      // A request that waits gets a ticket again at its next query.
      this.#tickets.clear();
      if (exposed.length > 0) await writeLeases(sql, id, exposed.map(rowOf));
      await sql.query('COMMIT');
      for (const { subject, amount } of exposed) this.#put(subject, amount, false);
    });
  }

  /**
   * Releases leases that nothing was spent of lately, down to what is in flight. Rejects when the
   * database is away.
   */
  async releaseIdle(): Promise<void> {
    const idle = (): readonly SpendSubject[] =>
      [...this.#leases.values()]
        .filter(({ usedMs }) => this.#parts.clock.monotonic() - usedMs > idleMs)
        .map(({ subject }) => subject);
    if (idle().length > 0) await this.#parts.database.serial.run((sql) => this.#trim(sql, idle()));
    // Tickets that could not be withdrawn when their requests left.
    if (this.#ended().length > 0) await this.#parts.database.serial.run((sql) => this.#passOn(sql));
  }

  /**
   * A request has left its queue: its tickets pass to the requests behind it, or are withdrawn.
   * Never rejects.
   */
  async departed(request: QueuedReservation): Promise<void> {
    if (!this.#ended().some(({ holder }) => holder === request)) return;
    try {
      await this.#parts.database.serial.run((sql) => this.#passOn(sql));
    } catch {
      // It is retried with the idle leases.
    }
  }

  #ended(): readonly Ticket[] {
    return [...this.#tickets.values()].filter(({ holder }) => holder.hasLeft);
  }

  /** Passes on the tickets of requests that have left, in a turn of the serial connection. */
  async #passOn(sql: Sql): Promise<void> {
    const ended = this.#ended();
    if (ended.length === 0) return;
    const next = ended.map(({ subject, holder }) => ({ subject, holder: holder.next(subject) }));
    await sql.query('BEGIN');
    await this.#writeTickets(sql, next);
    // Requests behind it on other nodes may be the oldest now.
    for (const { subject } of next) await recordChange(sql, subject.kind, subject.id);
    await sql.query('COMMIT');
    this.#keepTickets(next);
  }

  async #writeTickets(sql: Sql, tickets: readonly TicketChange[]): Promise<void> {
    const rows = tickets.map(({ subject: { kind, id }, holder }) => ({
      kind,
      subject: id,
      waitsSinceMs: holder === null ? null : this.#noteArrival(holder),
    }));
    await writeTickets(sql, this.#parts.nodes.id, rows);
  }

  #keepTickets(tickets: readonly TicketChange[]): void {
    for (const { subject, holder } of tickets) {
      const name = nameOf(subject.kind, subject.id);
      if (holder === null) this.#tickets.delete(name);
      else this.#tickets.set(name, { subject, holder });
      // The row of a ticket is released with the idle leases.
      if (!this.#leases.has(name)) this.#put(subject, 0n);
      // It left while its ticket was written.
      if (holder?.hasLeft === true) void this.departed(holder);
    }
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
      const concerned = ({ kind, id, outstanding }: SpendSubject): boolean =>
        outstanding > 0n || this.#leases.has(nameOf(kind, id));
      await this.#trim(sql, subjects.filter(concerned));
    });
  }

  /**
   * Sets leases to what is in flight, in a turn of the serial connection, so that no lease is
   * granted in between.
   */
  async #trim(sql: Sql, subjects: readonly SpendSubject[]): Promise<void> {
    const next = subjects.map((subject) => ({ subject, amount: subject.outstanding }));
    const raised = next.filter(({ subject, amount }) => amount > this.#lowerOf(subject, amount));
    for (const { subject, amount } of next) this.#put(subject, this.#lowerOf(subject, amount));
    const rows = next.map(rowOf);
    const isKept = ({ kind, subject, amount }: CreditLeaseRow): boolean =>
      amount > 0n || this.#tickets.has(nameOf(kind, subject));
    const kept = rows.filter(isKept);
    const dropped = rows.filter((row) => !isKept(row));
    if (kept.length > 0) await writeLeases(sql, this.#parts.nodes.id, kept);
    if (dropped.length > 0) await dropLeases(sql, this.#parts.nodes.id, dropped);
    // The others may have got leases that did not count this.
    for (const { subject } of raised) await recordChange(sql, `share-of-${subject.kind}`, subject.id);
    for (const { subject, amount } of next) {
      if (isKept(rowOf({ subject, amount }))) this.#put(subject, amount, false);
      else this.#leases.delete(nameOf(subject.kind, subject.id));
    }
  }

  /**
   * A node that was stopped for a while may have been considered lost, and its leases with it:
   * unless it is current, it must query.
   */
  #isCovered({ subjects, amount }: ReservationRequest): boolean {
    if (!this.#parts.isCurrent() || !this.#parts.nodes.isSeen) return false;
    const nowMs = this.#parts.clock.monotonic();
    for (const { kind, id, outstanding } of subjects) {
      const name = nameOf(kind, id);
      const lease = this.#leases.get(name);
      if (lease === undefined || !lease.isSpendable || outstanding + amount > lease.amount) return false;
      if (this.#isWanted(name)) return false;
      lease.usedMs = nowMs;
    }
    return true;
  }

  /**
   * One turn of the serial connection: the rows contain exactly the settlements that are no longer
   * part of our exposure. Null when the others may have considered this node lost meanwhile: then
   * its outstanding credit is published before the next attempt.
   */
  async #query(sql: Sql, request: QueuedReservation): Promise<ReservationResult | null> {
    const { nodes } = this.#parts;
    if (nodes.untilSeen !== null || !nodes.isSeen) return null;
    const refusal = request.refusal();
    if (refusal !== null) return { kind: 'refused', error: refusal };
    if (this.#isCovered(request)) {
      request.count();
      return admitted;
    }
    await sql.query('BEGIN');
    const remainders: Remaining[] = [];
    for (const subject of request.subjects) {
      await lockLeases(sql, subject.kind, subject.id);
      const left = await subject.readRemaining(sql);
      const readAtMs = this.#parts.clock.monotonic();
      const others = await claimsOfOthers(sql, nodes.id, subject.kind, subject.id);
      this.#toDatabaseMs = others.nowMs - readAtMs;
      const { amount, waitsSinceMs } = others;
      remainders.push({ subject, left: left - amount, others: amount, othersWaitSinceMs: waitsSinceMs });
    }
    const waitsSinceMs = this.#noteArrival(request);
    // No await from here to the reservation: what is compared is what is counted.
    const isLost = nodes.untilSeen !== null || !nodes.isSeen;
    const error = request.refusal();
    const by = blockerOf(request, remainders, waitsSinceMs);
    const contended = remainders.filter(({ othersWaitSinceMs }) => othersWaitSinceMs !== null);
    for (const { subject, othersWaitSinceMs } of remainders) {
      if (othersWaitSinceMs !== null) this.noteWanted(subject);
      // The request that waited there has been admitted, or has left.
      else this.#wanted.delete(nameOf(subject.kind, subject.id));
    }
    if (isLost || error !== null) {
      await sql.query('ROLLBACK');
      return isLost || error === null ? null : { kind: 'refused', error };
    }
    const tickets = this.#ticketsAfter(request, by?.subject ?? null);
    if (by !== undefined) {
      await this.#queue(sql, tickets);
      return { kind: 'blocked', by: by.subject, isShared: by.others > 0n && isOldest(by, waitsSinceMs) };
    }
    request.count();
    const next = remainders.map((one) => ({
      subject: one.subject,
      left: one.left,
      amount: this.#leaseOf(one),
    }));
    for (const { subject, amount } of next) this.#put(subject, this.#lowerOf(subject, amount));
    try {
      await writeLeases(sql, this.#parts.nodes.id, next.map(rowOf));
      if (tickets.length > 0) await this.#writeTickets(sql, tickets);
      // A request that waits behind it on another node may be the oldest now.
      for (const { subject } of tickets.length > 0 ? contended : [])
        await recordChange(sql, subject.kind, subject.id);
      await sql.query('COMMIT');
    } catch (error) {
      // Unknown whether the database has the new leases or the old ones: neither is spent without a
      // query.
      for (const { subject } of next) this.#put(subject, 0n);
      throw error;
    }
    for (const { subject, amount, left } of next) this.#put(subject, amount, amount <= left);
    this.#keepTickets(tickets);
    return admitted;
  }

  /** Computes since when a request waits, by the database's clock. */
  #noteArrival(request: QueuedReservation): number {
    const known = this.#waitsSinceMs.get(request);
    if (known !== undefined) return known;
    const waitsSinceMs = Math.floor(request.arrivedMs + this.#toDatabaseMs);
    this.#waitsSinceMs.set(request, waitsSinceMs);
    return waitsSinceMs;
  }

  /**
   * The tickets that change when a request is blocked by a subject, or is admitted: those that it
   * has pass to the requests behind it.
   */
  #ticketsAfter(request: QueuedReservation, by: SpendSubject | null): readonly TicketChange[] {
    request.waitsFor = by;
    const changes: TicketChange[] = [];
    for (const subject of request.subjects) {
      const holder = this.#tickets.get(nameOf(subject.kind, subject.id))?.holder;
      if (by !== null && by.kind === subject.kind) {
        if (holder !== request) changes.push({ subject, holder: request });
      } else if (holder === request || holder?.hasLeft === true) {
        changes.push({ subject, holder: request.next(subject) });
      }
    }
    return changes;
  }

  /** Ends the transaction of a request that is blocked. */
  async #queue(sql: Sql, tickets: readonly TicketChange[]): Promise<void> {
    if (tickets.length === 0) {
      await sql.query('ROLLBACK');
      return;
    }
    // Every ticket that the database may have is in memory, even if the response to COMMIT is lost.
    this.#keepTickets(tickets.filter(({ holder }) => holder !== null));
    await this.#writeTickets(sql, tickets);
    await sql.query('COMMIT');
    this.#keepTickets(tickets);
  }

  /**
   * The node's outstanding credit, and a part of what is free beside it: none while another node
   * waits. `left` excludes the leases of the others.
   */
  #leaseOf({ subject: { outstanding }, left, othersWaitSinceMs }: Remaining): bigint {
    const free = othersWaitSinceMs === null ? left - outstanding : 0n;
    const more = free > 0n ? free / (2n * BigInt(this.#parts.nodes.count)) : 0n;
    return outstanding + (more < maxLease ? more : maxLease);
  }

  /** Until the new lease is committed only what is part of both may be spent. */
  #lowerOf({ kind, id }: SpendSubject, amount: bigint): bigint {
    const before = this.#leases.get(nameOf(kind, id))?.amount ?? 0n;
    return before < amount ? before : amount;
  }

  #put(subject: SpendSubject, amount: bigint, isSpendable?: boolean): void {
    const usedMs = this.#parts.clock.monotonic();
    const name = nameOf(subject.kind, subject.id);
    const before = this.#leases.get(name);
    this.#leases.set(name, {
      subject,
      amount,
      isSpendable: isSpendable ?? before?.isSpendable ?? false,
      usedMs,
    });
  }
}

/** The request that has a ticket from now on; null: the ticket is withdrawn. */
interface TicketChange {
  readonly subject: SpendSubject;
  readonly holder: QueuedReservation | null;
}

/**
 * The subject that leaves no room for a request beside the estimates in flight. The key comes
 * first: a request that waits for its key must not delay the account's other keys.
 */
function blockerOf(
  { amount }: ReservationRequest,
  remainders: readonly Remaining[],
  waitsSinceMs: number,
): Remaining | undefined {
  return remainders.findLast((one) => {
    const { subject, left, others } = one;
    const fits = left - subject.outstanding >= amount;
    const isIdle = subject.reserved === 0n && others === 0n;
    return !isOldest(one, waitsSinceMs) || (!fits && !isIdle);
  });
}

/** Whether no request on another node has waited longer. */
function isOldest({ othersWaitSinceMs }: Remaining, waitsSinceMs: number): boolean {
  return othersWaitSinceMs === null || othersWaitSinceMs >= waitsSinceMs;
}

function aloneWith(subject: SpendSubject): Remaining {
  return { subject, left: subject.left, others: 0n, othersWaitSinceMs: null };
}

function rowOf({
  subject,
  amount,
}: {
  readonly subject: SpendSubject;
  readonly amount: bigint;
}): CreditLeaseRow {
  return { kind: subject.kind, subject: subject.id, amount };
}

function nameOf(kind: CreditLeaseKind, subject: number): string {
  return `${kind}/${subject}`;
}
