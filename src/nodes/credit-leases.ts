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

/** A share that nothing was spent of for so long goes back. */
const idleMs = 3_000;
/** A node that waits for a share repeats its request more often than this; later a release concerns nobody. */
const wantedForMs = 1_000;

/** Something that several nodes spend at once: the credit of an account, or what is left below a key's limit. */
export interface SpendSubject {
  readonly kind: CreditLeaseKind;
  readonly id: number;
  /** What this node may still take of it: charged here and not committed, and the holds of its requests. Micro-won. */
  readonly outstanding: bigint;
  /** The holds alone: 0 when this node has no request in flight that spends of it. */
  readonly held: bigint;
  /** What memory says is left of it, this node's exposure not deducted. */
  readonly left: bigint;
  /**
   * Reads it again and returns what is left of it, this node's exposure not deducted; memory follows. It is run on the ordered
   * line, under the subject's lock.
   */
  readonly readRemaining: (sql: Sql) => Promise<bigint>;
}

/** A request that asks to be counted. */
export interface ReservationRequest {
  /** The account first, then the key if it has a limit. */
  readonly subjects: readonly SpendSubject[];
  /** Its estimate, micro-won. */
  readonly amount: bigint;
  /** Whether memory has all that was spent of the subjects, while no other node spends. */
  readonly isKnown: boolean;
  /** Why it may not be admitted any more, by settled figures; null when it may. */
  readonly refusal: () => Error | null;
  /** Counts it: from then on it is part of every subject's exposure. Called at most once, when it is admitted. */
  readonly reserve: () => void;
}

/** A demand that waits in its node's line. */
export interface QueuedReservation extends ReservationRequest {
  /** When it was put in line, by this node's monotonic clock. */
  readonly arrivedMs: number;
  /** It is in the line no more, admitted or not. */
  readonly hasLeft: boolean;
  /** What it was last found to wait for; null before it is looked at. */
  waitsFor: SpendSubject | null;
  /** The first request behind it in the line that waits for the subject, or may. */
  readonly next: (subject: SpendSubject) => QueuedReservation | null;
}

/** What became of a demand. */
export type ReservationResult =
  | { readonly kind: 'placed' }
  | { readonly kind: 'refused'; readonly error: Error }
  /** The estimates in flight leave no room for it: it waits until enough of them have settled. */
  | {
      readonly kind: 'blocked';
      readonly by: SpendSubject;
      /** It is the oldest that waits, and other nodes have shares, which may be more than what they have in flight. */
      readonly isShared: boolean;
    };

/** What shares are made of. */
export interface CreditLeasesParts {
  readonly database: Database;
  readonly clock: Clock;
  /** Who else serves. */
  readonly nodes: Pick<NodeRegistry, 'id' | 'isAlone' | 'count' | 'untilSeen' | 'isSeen' | 'beat'>;
  /** Whether what is known of the other nodes is current. */
  readonly isCurrent: () => boolean;
}

interface CreditLease {
  readonly subject: SpendSubject;
  amount: bigint;
  /**
   * Whether it is part of what was left when it was granted. What a request that was admitted alone is estimated to cost beyond that
   * is a share too; once it has ended and cost less, nothing is spent of the rest without asking.
   */
  isSpendable: boolean;
  usedMs: number;
}

/** What is left of a subject beside the shares of other nodes, as the database has it. */
interface Remaining {
  readonly subject: SpendSubject;
  readonly left: bigint;
  readonly others: bigint;
  /** The oldest ticket of the other nodes, by the database's clock; null when none of them waits. */
  readonly othersWaitSinceMs: number | null;
}

/** This node's place among the nodes that wait for a subject: that of the first request in its line that waits for it. */
interface Ticket {
  readonly subject: SpendSubject;
  readonly holder: QueuedReservation;
}

/** Another node waits for a share. */
interface ReleaseRequest {
  /** Until when that is to be believed. */
  readonly untilMs: number;
  /** Whether a request that ended has been answer enough. */
  isAnswered: boolean;
}

/** More than anyone spends in a moment, and small enough that the shares of a thousand nodes add up to a bigint of the database. */
const maxLease = 1_000_000_000_000_000n;

const placed: ReservationResult = { kind: 'placed' };

/**
 * Keeps several nodes together from spending more than there is (spec:money/6.11). Each node has a share of what is left of an
 * account and spends it without asking; all shares together are never more than what is left, so whatever the concurrency, no
 * two nodes can spend the same won. A share is half of what is free, divided by the nodes: far from the floor one question lasts
 * for thousands of requests. What does not fit the share is asked for in one short transaction. A node that is alone has no
 * shares and asks nobody.
 *
 * A request is admitted when its estimate fits into what is left beside all estimates in flight, or when nothing else is in flight on
 * any node: so the overspend of all nodes together is that of one request.
 *
 * The first request that waits at a node gives it a ticket: the time since when it waits. A node is given room only while no other
 * node has an older ticket.
 */
export class CreditLeases {
  readonly #parts: CreditLeasesParts;
  readonly #leases = new Map<string, CreditLease>();
  /** Whatever the database may have as tickets of this node. Changed in turns of the ordered line. */
  readonly #tickets = new Map<string, Ticket>();
  /** Since when requests wait, by the database's clock. It is found once, so that the order of two requests never changes. */
  readonly #waitsSinceMs = new WeakMap<QueuedReservation, number>();
  /** What this node's monotonic clock is behind the database's, as of the last question. */
  #toDatabaseMs = 0;
  /** What other nodes wait for. */
  readonly #wanted = new Map<string, ReleaseRequest>();
  #beating: Promise<void> | null = null;

  constructor(parts: CreditLeasesParts) {
    this.#parts = parts;
  }

  /** The node whose shares a settlement spends; null while it is alone and has none. */
  get spendingNode(): number | null {
    return this.#parts.nodes.isAlone ? null : this.#parts.nodes.id;
  }

  /** Whether this node alone spends, and knows that it does: nobody need be asked. */
  get #isSole(): boolean {
    const { nodes, isCurrent } = this.#parts;
    return nodes.isAlone && nodes.untilSeen === null && isCurrent();
  }

  /**
   * Admits a demand whose refusal is null, or says what blocks it, without asking anyone; null when only the database knows. A node
   * that is alone knows by itself, beside others a share knows as far as it goes.
   */
  reserveNow(request: ReservationRequest): ReservationResult | null {
    if (this.#isSole && request.isKnown) {
      const by = blockerOf(request, request.subjects.map(aloneWith), 0);
      if (by !== undefined) return { kind: 'blocked', by: by.subject, isShared: false };
    } else if (this.#parts.nodes.untilSeen !== null || !this.#isCovered(request)) return null;
    request.reserve();
    return placed;
  }

  /** Asks the database. Rejects when it is away. */
  async reserve(request: QueuedReservation): Promise<ReservationResult> {
    const { database, nodes } = this.#parts;
    for (;;) {
      await nodes.untilSeen;
      if (!nodes.isSeen) await this.#beat();
      await nodes.untilSeen;
      const covered = await database.serial.run((sql) => this.#ask(sql, request));
      if (covered !== null) return covered;
    }
  }

  /** All who wait to be seen again share one look. */
  #beat(): Promise<void> {
    this.#beating ??= this.#parts.nodes.beat().finally(() => {
      this.#beating = null;
    });
    return this.#beating;
  }

  /** Asks the other nodes to yield what they have of it and do not use. Rejects when the database is away. */
  async requestRelease({ kind, id }: SpendSubject): Promise<void> {
    await this.#parts.database.transaction((sql) => recordChange(sql, `share-of-${kind}`, id));
  }

  /** A node waits for a share of it. Until it has been admitted, nothing is taken out of the share here without asking. */
  noteWanted({ kind, id }: Pick<SpendSubject, 'kind' | 'id'>): void {
    const nowMs = this.#parts.clock.monotonic();
    for (const [name, { untilMs }] of this.#wanted) if (untilMs <= nowMs) this.#wanted.delete(name);
    this.#wanted.set(nameOf(kind, id), { untilMs: nowMs + wantedForMs, isAnswered: false });
  }

  #isWanted(name: string): boolean {
    const plea = this.#wanted.get(name);
    return plea !== undefined && plea.untilMs > this.#parts.clock.monotonic();
  }

  /** Whether another node waits for anything: only then `released` has something to do. */
  get isAnyWanted(): boolean {
    return this.#wanted.size > 0;
  }

  /** A request that spent of it has ended. When another node waits for that, it is given at once. Never rejects. */
  async released(subject: SpendSubject): Promise<void> {
    const name = nameOf(subject.kind, subject.id);
    const plea = this.#wanted.get(name);
    if (plea === undefined || plea.isAnswered) return;
    if (!this.#isWanted(name)) this.#wanted.delete(name);
    else plea.isAnswered = true;
    if (!plea.isAnswered || !this.#leases.has(name)) return;
    try {
      await this.releaseExcess([subject]);
      // The subject's own topic wakes those who wait and asks nobody to yield again.
      await this.#parts.database.transaction((sql) => recordChange(sql, subject.kind, subject.id));
    } catch {
      // Whoever waits asks again.
    }
  }

  /** What a settlement has spent leaves the shares, as it left them in the database. */
  spent(kind: CreditLeaseKind, subject: number, amount: bigint): void {
    const lease = this.#leases.get(nameOf(kind, subject));
    if (lease !== undefined) lease.amount = lease.amount > amount ? lease.amount - amount : 0n;
  }

  /** This node is alone no more: everything that it may still spend becomes its share, and nothing else. */
  async publish(subjects: Iterable<SpendSubject>): Promise<void> {
    this.#leases.clear();
    await this.#parts.database.serial.run(async (sql) => {
      // Whoever asked earlier has been given a share since then, and that goes too.
      this.#leases.clear();
      const { id } = this.#parts.nodes;
      const exposed = [...subjects]
        .filter(({ outstanding }) => outstanding > 0n)
        .map((subject) => ({ subject, amount: subject.outstanding }));
      await sql.query('BEGIN');
      await dropAllLeases(sql, id);
      // Whoever waits is given a ticket again when it asks.
      this.#tickets.clear();
      if (exposed.length > 0) await writeLeases(sql, id, exposed.map(rowOf));
      await sql.query('COMMIT');
      for (const { subject, amount } of exposed) this.#put(subject, amount, false);
    });
  }

  /** Gives back what nothing was spent of lately, but for what is in flight. Rejects when the database is away. */
  async releaseIdle(): Promise<void> {
    const idle = (): readonly SpendSubject[] =>
      [...this.#leases.values()]
        .filter(({ usedMs }) => this.#parts.clock.monotonic() - usedMs > idleMs)
        .map(({ subject }) => subject);
    if (idle().length > 0) await this.#parts.database.serial.run((sql) => this.#trim(sql, idle()));
    // Tickets that could not be withdrawn when their requests left.
    if (this.#ended().length > 0) await this.#parts.database.serial.run((sql) => this.#passOn(sql));
  }

  /** A request has left its line: its tickets pass to those behind it, or are withdrawn. Never rejects. */
  async departed(request: QueuedReservation): Promise<void> {
    if (!this.#ended().some(({ holder }) => holder === request)) return;
    try {
      await this.#parts.database.serial.run((sql) => this.#passOn(sql));
    } catch {
      // It is tried again with the idle shares.
    }
  }

  #ended(): readonly Ticket[] {
    return [...this.#tickets.values()].filter(({ holder }) => holder.hasLeft);
  }

  /** Passes on the tickets of those who have left, in a turn of the line. */
  async #passOn(sql: Sql): Promise<void> {
    const ended = this.#ended();
    if (ended.length === 0) return;
    const next = ended.map(({ subject, holder }) => ({ subject, holder: holder.next(subject) }));
    await sql.query('BEGIN');
    await this.#writeTickets(sql, next);
    // Those behind it on other nodes may be the oldest now.
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
      // The row of a ticket goes back with the idle shares.
      if (!this.#leases.has(name)) this.#put(subject, 0n);
      // It left while its ticket was written.
      if (holder?.hasLeft === true) void this.departed(holder);
    }
  }

  /**
   * Gives back what is not in flight of these: they changed, or another node has need of it. What is in flight of a key that had no
   * limit until now becomes a share. Rejects when the database is away.
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

  /** Makes shares what is in flight, in a turn of the line, so that nobody is given one between the look at it and its end. */
  async #trim(sql: Sql, subjects: readonly SpendSubject[]): Promise<void> {
    const next = subjects.map((subject) => ({ subject, amount: subject.outstanding }));
    const raised = next.filter(({ subject, amount }) => amount > this.#least(subject, amount));
    for (const { subject, amount } of next) this.#put(subject, this.#least(subject, amount));
    const rows = next.map(rowOf);
    const isKept = ({ kind, subject, amount }: CreditLeaseRow): boolean =>
      amount > 0n || this.#tickets.has(nameOf(kind, subject));
    const kept = rows.filter(isKept);
    const gone = rows.filter((row) => !isKept(row));
    if (kept.length > 0) await writeLeases(sql, this.#parts.nodes.id, kept);
    if (gone.length > 0) await dropLeases(sql, this.#parts.nodes.id, gone);
    // The others may have been given shares that did not reckon with this.
    for (const { subject } of raised) await recordChange(sql, `share-of-${subject.kind}`, subject.id);
    for (const { subject, amount } of next) {
      if (isKept(rowOf({ subject, amount }))) this.#put(subject, amount, false);
      else this.#leases.delete(nameOf(subject.kind, subject.id));
    }
  }

  /** A node that was stopped for a while may have been taken for lost, and its shares with it: whoever is not current asks. */
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
   * One turn of the ordered line: the rows contain exactly the settlements that are no longer part of our exposure. Null when the
   * others may have taken this node for lost meanwhile: what it may spend already is published before it asks again.
   */
  async #ask(sql: Sql, request: QueuedReservation): Promise<ReservationResult | null> {
    const { nodes } = this.#parts;
    if (nodes.untilSeen !== null || !nodes.isSeen) return null;
    const early = request.refusal();
    if (early !== null) return { kind: 'refused', error: early };
    if (this.#isCovered(request)) {
      request.reserve();
      return placed;
    }
    await sql.query('BEGIN');
    const lefts: Remaining[] = [];
    for (const subject of request.subjects) {
      await lockLeases(sql, subject.kind, subject.id);
      const left = await subject.readRemaining(sql);
      const readAtMs = this.#parts.clock.monotonic();
      const others = await claimsOfOthers(sql, nodes.id, subject.kind, subject.id);
      this.#toDatabaseMs = others.nowMs - readAtMs;
      const { amount, waitsSinceMs } = others;
      lefts.push({ subject, left: left - amount, others: amount, othersWaitSinceMs: waitsSinceMs });
    }
    const waitsSinceMs = this.#noteArrival(request);
    // No wait from here to where the request is placed: what is compared is what is counted.
    const isLost = nodes.untilSeen !== null || !nodes.isSeen;
    const error = request.refusal();
    const by = blockerOf(request, lefts, waitsSinceMs);
    const contended = lefts.filter(({ othersWaitSinceMs }) => othersWaitSinceMs !== null);
    for (const { subject, othersWaitSinceMs } of lefts) {
      if (othersWaitSinceMs !== null) this.noteWanted(subject);
      // Whoever pleaded has been admitted, or has left.
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
    request.reserve();
    const next = lefts.map((one) => ({ subject: one.subject, left: one.left, amount: this.#shareOf(one) }));
    for (const { subject, amount } of next) this.#put(subject, this.#least(subject, amount));
    try {
      await writeLeases(sql, this.#parts.nodes.id, next.map(rowOf));
      if (tickets.length > 0) await this.#writeTickets(sql, tickets);
      // Whoever waits behind it on another node may be the oldest now.
      for (const { subject } of tickets.length > 0 ? contended : [])
        await recordChange(sql, subject.kind, subject.id);
      await sql.query('COMMIT');
    } catch (error) {
      // Whether the database has the new shares or the old ones nobody knows: nothing is spent of either without asking.
      for (const { subject } of next) this.#put(subject, 0n);
      throw error;
    }
    for (const { subject, amount, left } of next) this.#put(subject, amount, amount <= left);
    this.#keepTickets(tickets);
    return placed;
  }

  /** Finds since when a request waits, by the database's clock. */
  #noteArrival(request: QueuedReservation): number {
    const known = this.#waitsSinceMs.get(request);
    if (known !== undefined) return known;
    const waitsSinceMs = Math.floor(request.arrivedMs + this.#toDatabaseMs);
    this.#waitsSinceMs.set(request, waitsSinceMs);
    return waitsSinceMs;
  }

  /** Which tickets change when a demand is blocked by a subject, or is placed: those that it holds pass to the ones behind it. */
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

  /** Ends the transaction of a demand that is blocked. */
  async #queue(sql: Sql, tickets: readonly TicketChange[]): Promise<void> {
    if (tickets.length === 0) {
      await sql.query('ROLLBACK');
      return;
    }
    // Whatever the database may have of these is here, even if the answer to COMMIT is lost.
    this.#keepTickets(tickets.filter(({ holder }) => holder !== null));
    await this.#writeTickets(sql, tickets);
    await sql.query('COMMIT');
    this.#keepTickets(tickets);
  }

  /**
   * Everything that the node may spend already, and a part of what is free beside it: nothing while another node waits. `left` counts
   * the others' shares out.
   */
  #shareOf({ subject: { outstanding }, left, othersWaitSinceMs }: Remaining): bigint {
    const free = othersWaitSinceMs === null ? left - outstanding : 0n;
    const more = free > 0n ? free / (2n * BigInt(this.#parts.nodes.count)) : 0n;
    return outstanding + (more < maxLease ? more : maxLease);
  }

  /** Until the new share is committed only what is part of both may be spent. */
  #least({ kind, id }: SpendSubject, amount: bigint): bigint {
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

/** Which request holds a ticket from now on; null: the ticket is withdrawn. */
interface TicketChange {
  readonly subject: SpendSubject;
  readonly holder: QueuedReservation | null;
}

/**
 * The subject that leaves no room for a demand beside the estimates in flight. The key comes first: who waits for its key must not
 * keep the account's other keys waiting.
 */
function blockerOf(
  { amount }: ReservationRequest,
  lefts: readonly Remaining[],
  waitsSinceMs: number,
): Remaining | undefined {
  return lefts.findLast((one) => {
    const { subject, left, others } = one;
    const fits = left - subject.outstanding >= amount;
    const isIdle = subject.held === 0n && others === 0n;
    return !isOldest(one, waitsSinceMs) || (!fits && !isIdle);
  });
}

/** Whether no other node waits that has waited longer. */
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
