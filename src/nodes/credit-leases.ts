import { recordChange } from '../store/changes.ts';
import type { Database } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';
import type { Clock } from '../time/clock.ts';
import {
  claimsOfOthers,
  dropAllShares,
  dropShares,
  lockShares,
  type ShareKind,
  type ShareRow,
  writeShares,
  writeTickets,
} from './credit-leases-sql.ts';
import type { NodeRegistry } from './node-registry.ts';

/** A share that nothing was spent of for so long goes back. */
const idleMs = 3_000;
/** A node that waits for a share repeats its request more often than this; later a release concerns nobody. */
const wantedForMs = 1_000;

/** Something that several nodes spend at once: the credit of an account, or what is left below a key's limit. */
export interface Spender {
  readonly kind: ShareKind;
  readonly id: number;
  /** What this node may still take of it: charged here and not committed, and the holds of its requests. Micro-won. */
  readonly exposure: bigint;
  /** The holds alone: 0 when this node has no request in flight that spends of it. */
  readonly held: bigint;
  /** What memory says is left of it, this node's exposure not deducted. */
  readonly left: bigint;
  /**
   * Reads it again and returns what is left of it, this node's exposure not deducted; memory follows. It is run on the ordered
   * line, under the subject's lock.
   */
  readonly readLeft: (sql: Sql) => Promise<bigint>;
}

/** A request that asks to be counted. */
export interface Demand {
  /** The account first, then the key if it has a limit. */
  readonly spenders: readonly Spender[];
  /** Its estimate, micro-won. */
  readonly amount: bigint;
  /** Whether memory has all that was spent of the spenders, while no other node spends. */
  readonly isKnown: boolean;
  /** Why it may not be admitted any more, by settled figures; null when it may. */
  readonly refusal: () => Error | null;
  /** Counts it: from then on it is part of every spender's exposure. Called at most once, when it is admitted. */
  readonly place: () => void;
}

/** A demand that waits in its node's line. */
export interface QueuedDemand extends Demand {
  /** When it was put in line, by this node's monotonic clock. */
  readonly arrivedMs: number;
  /** It is in the line no more, admitted or not. */
  readonly hasLeft: boolean;
  /** What it was last found to wait for; null before it is looked at. */
  waitsFor: Spender | null;
  /** The first request behind it in the line that waits for the spender, or may. */
  readonly next: (spender: Spender) => QueuedDemand | null;
}

/** What became of a demand. */
export type Covered =
  | { readonly kind: 'placed' }
  | { readonly kind: 'refused'; readonly error: Error }
  /** The estimates in flight leave no room for it: it waits until enough of them have settled. */
  | {
      readonly kind: 'blocked';
      readonly by: Spender;
      /** It is the oldest that waits, and other nodes have shares, which may be more than what they have in flight. */
      readonly isShared: boolean;
    };

/** What shares are made of. */
export interface SpendSharesParts {
  readonly database: Database;
  readonly clock: Clock;
  /** Who else serves. */
  readonly nodes: Pick<NodeRegistry, 'id' | 'isAlone' | 'count' | 'acquaintance' | 'isSeen' | 'beat'>;
  /** Whether what is known of the other nodes is current. */
  readonly isCurrent: () => boolean;
}

interface Share {
  readonly spender: Spender;
  amount: bigint;
  /**
   * Whether it is part of what was left when it was granted. What a request that was admitted alone is estimated to cost beyond that
   * is a share too; once it has ended and cost less, nothing is spent of the rest without asking.
   */
  isSpendable: boolean;
  usedMs: number;
}

/** What is left of a spender beside the shares of other nodes, as the database has it. */
interface Left {
  readonly spender: Spender;
  readonly left: bigint;
  readonly others: bigint;
  /** The oldest ticket of the other nodes, by the database's clock; null when none of them waits. */
  readonly othersWaitSinceMs: number | null;
}

/** This node's place among the nodes that wait for a spender: that of the first request in its line that waits for it. */
interface Ticket {
  readonly spender: Spender;
  readonly holder: QueuedDemand;
}

/** Another node waits for a share. */
interface Plea {
  /** Until when that is to be believed. */
  readonly untilMs: number;
  /** Whether a request that ended has been answer enough. */
  isAnswered: boolean;
}

/** More than anyone spends in a moment, and small enough that the shares of a thousand nodes add up to a bigint of the database. */
const largestShare = 1_000_000_000_000_000n;

const placed: Covered = { kind: 'placed' };

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
export class SpendShares {
  readonly #parts: SpendSharesParts;
  readonly #shares = new Map<string, Share>();
  /** Whatever the database may have as tickets of this node. Changed in turns of the ordered line. */
  readonly #tickets = new Map<string, Ticket>();
  /** Since when requests wait, by the database's clock. It is found once, so that the order of two requests never changes. */
  readonly #waitsSinceMs = new WeakMap<QueuedDemand, number>();
  /** What this node's monotonic clock is behind the database's, as of the last question. */
  #toDatabaseMs = 0;
  /** What other nodes wait for. */
  readonly #wanted = new Map<string, Plea>();
  #beating: Promise<void> | null = null;

  constructor(parts: SpendSharesParts) {
    this.#parts = parts;
  }

  /** The node whose shares a settlement spends; null while it is alone and has none. */
  get spendingNode(): number | null {
    return this.#parts.nodes.isAlone ? null : this.#parts.nodes.id;
  }

  /** Whether this node alone spends, and knows that it does: nobody need be asked. */
  get #isSole(): boolean {
    const { nodes, isCurrent } = this.#parts;
    return nodes.isAlone && nodes.acquaintance === null && isCurrent();
  }

  /**
   * Admits a demand whose refusal is null, or says what blocks it, without asking anyone; null when only the database knows. A node
   * that is alone knows by itself, beside others a share knows as far as it goes.
   */
  coverAtOnce(demand: Demand): Covered | null {
    if (this.#isSole && demand.isKnown) {
      const by = blockerOf(demand, demand.spenders.map(aloneWith), 0);
      if (by !== undefined) return { kind: 'blocked', by: by.spender, isShared: false };
    } else if (this.#parts.nodes.acquaintance !== null || !this.#isCovered(demand)) return null;
    demand.place();
    return placed;
  }

  /** Asks the database. Rejects when it is away. */
  async cover(demand: QueuedDemand): Promise<Covered> {
    const { database, nodes } = this.#parts;
    for (;;) {
      await nodes.acquaintance;
      if (!nodes.isSeen) await this.#beat();
      await nodes.acquaintance;
      const covered = await database.line.run((sql) => this.#ask(sql, demand));
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
  async plead({ kind, id }: Spender): Promise<void> {
    await this.#parts.database.transaction((sql) => recordChange(sql, `share-of-${kind}`, id));
  }

  /** A node waits for a share of it. Until it has been admitted, nothing is taken out of the share here without asking. */
  noteWanted({ kind, id }: Pick<Spender, 'kind' | 'id'>): void {
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
  async released(spender: Spender): Promise<void> {
    const name = nameOf(spender.kind, spender.id);
    const plea = this.#wanted.get(name);
    if (plea === undefined || plea.isAnswered) return;
    if (!this.#isWanted(name)) this.#wanted.delete(name);
    else plea.isAnswered = true;
    if (!plea.isAnswered || !this.#shares.has(name)) return;
    try {
      await this.yieldTo([spender]);
      // The subject's own topic wakes those who wait and asks nobody to yield again.
      await this.#parts.database.transaction((sql) => recordChange(sql, spender.kind, spender.id));
    } catch {
      // Whoever waits asks again.
    }
  }

  /** What a settlement has spent leaves the shares, as it left them in the database. */
  spent(kind: ShareKind, subject: number, amount: bigint): void {
    const share = this.#shares.get(nameOf(kind, subject));
    if (share !== undefined) share.amount = share.amount > amount ? share.amount - amount : 0n;
  }

  /** This node is alone no more: everything that it may still spend becomes its share, and nothing else. */
  async publish(spenders: Iterable<Spender>): Promise<void> {
    this.#shares.clear();
    await this.#parts.database.line.run(async (sql) => {
      // Whoever asked earlier has been given a share since then, and that goes too.
      this.#shares.clear();
      const { id } = this.#parts.nodes;
      const exposed = [...spenders]
        .filter(({ exposure }) => exposure > 0n)
        .map((spender) => ({ spender, amount: spender.exposure }));
      await sql.query('BEGIN');
      await dropAllShares(sql, id);
      // Whoever waits is given a ticket again when it asks.
      this.#tickets.clear();
      if (exposed.length > 0) await writeShares(sql, id, exposed.map(rowOf));
      await sql.query('COMMIT');
      for (const { spender, amount } of exposed) this.#put(spender, amount, false);
    });
  }

  /** Gives back what nothing was spent of lately, but for what is in flight. Rejects when the database is away. */
  async giveBackIdle(): Promise<void> {
    const idle = (): readonly Spender[] =>
      [...this.#shares.values()]
        .filter(({ usedMs }) => this.#parts.clock.monotonic() - usedMs > idleMs)
        .map(({ spender }) => spender);
    if (idle().length > 0) await this.#parts.database.line.run((sql) => this.#trim(sql, idle()));
    // Tickets that could not be withdrawn when their requests left.
    if (this.#ended().length > 0) await this.#parts.database.line.run((sql) => this.#passOn(sql));
  }

  /** A request has left its line: its tickets pass to those behind it, or are withdrawn. Never rejects. */
  async departed(demand: QueuedDemand): Promise<void> {
    if (!this.#ended().some(({ holder }) => holder === demand)) return;
    try {
      await this.#parts.database.line.run((sql) => this.#passOn(sql));
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
    const next = ended.map(({ spender, holder }) => ({ spender, holder: holder.next(spender) }));
    await sql.query('BEGIN');
    await this.#writeTickets(sql, next);
    // Those behind it on other nodes may be the oldest now.
    for (const { spender } of next) await recordChange(sql, spender.kind, spender.id);
    await sql.query('COMMIT');
    this.#keepTickets(next);
  }

  async #writeTickets(sql: Sql, tickets: readonly TicketChange[]): Promise<void> {
    const rows = tickets.map(({ spender: { kind, id }, holder }) => ({
      kind,
      subject: id,
      waitsSinceMs: holder === null ? null : this.#noteArrival(holder),
    }));
    await writeTickets(sql, this.#parts.nodes.id, rows);
  }

  #keepTickets(tickets: readonly TicketChange[]): void {
    for (const { spender, holder } of tickets) {
      const name = nameOf(spender.kind, spender.id);
      if (holder === null) this.#tickets.delete(name);
      else this.#tickets.set(name, { spender, holder });
      // The row of a ticket goes back with the idle shares.
      if (!this.#shares.has(name)) this.#put(spender, 0n);
      // It left while its ticket was written.
      if (holder?.hasLeft === true) void this.departed(holder);
    }
  }

  /**
   * Gives back what is not in flight of these: they changed, or another node has need of it. What is in flight of a key that had no
   * limit until now becomes a share. Rejects when the database is away.
   */
  async yieldTo(spenders: readonly Spender[]): Promise<void> {
    if (spenders.length === 0) return;
    await this.#parts.database.line.run(async (sql) => {
      if (this.#parts.nodes.isAlone) return;
      const concerned = ({ kind, id, exposure }: Spender): boolean =>
        exposure > 0n || this.#shares.has(nameOf(kind, id));
      await this.#trim(sql, spenders.filter(concerned));
    });
  }

  /** Makes shares what is in flight, in a turn of the line, so that nobody is given one between the look at it and its end. */
  async #trim(sql: Sql, spenders: readonly Spender[]): Promise<void> {
    const next = spenders.map((spender) => ({ spender, amount: spender.exposure }));
    const raised = next.filter(({ spender, amount }) => amount > this.#least(spender, amount));
    for (const { spender, amount } of next) this.#put(spender, this.#least(spender, amount));
    const rows = next.map(rowOf);
    const isKept = ({ kind, subject, amount }: ShareRow): boolean =>
      amount > 0n || this.#tickets.has(nameOf(kind, subject));
    const kept = rows.filter(isKept);
    const gone = rows.filter((row) => !isKept(row));
    if (kept.length > 0) await writeShares(sql, this.#parts.nodes.id, kept);
    if (gone.length > 0) await dropShares(sql, this.#parts.nodes.id, gone);
    // The others may have been given shares that did not reckon with this.
    for (const { spender } of raised) await recordChange(sql, `share-of-${spender.kind}`, spender.id);
    for (const { spender, amount } of next) {
      if (isKept(rowOf({ spender, amount }))) this.#put(spender, amount, false);
      else this.#shares.delete(nameOf(spender.kind, spender.id));
    }
  }

  /** A node that was stopped for a while may have been taken for lost, and its shares with it: whoever is not current asks. */
  #isCovered({ spenders, amount }: Demand): boolean {
    if (!this.#parts.isCurrent() || !this.#parts.nodes.isSeen) return false;
    const nowMs = this.#parts.clock.monotonic();
    for (const { kind, id, exposure } of spenders) {
      const name = nameOf(kind, id);
      const share = this.#shares.get(name);
      if (share === undefined || !share.isSpendable || exposure + amount > share.amount) return false;
      if (this.#isWanted(name)) return false;
      share.usedMs = nowMs;
    }
    return true;
  }

  /**
   * One turn of the ordered line: the rows contain exactly the settlements that are no longer part of our exposure. Null when the
   * others may have taken this node for lost meanwhile: what it may spend already is published before it asks again.
   */
  async #ask(sql: Sql, demand: QueuedDemand): Promise<Covered | null> {
    const { nodes } = this.#parts;
    if (nodes.acquaintance !== null || !nodes.isSeen) return null;
    const early = demand.refusal();
    if (early !== null) return { kind: 'refused', error: early };
    if (this.#isCovered(demand)) {
      demand.place();
      return placed;
    }
    await sql.query('BEGIN');
    const lefts: Left[] = [];
    for (const spender of demand.spenders) {
      await lockShares(sql, spender.kind, spender.id);
      const left = await spender.readLeft(sql);
      const askedMs = this.#parts.clock.monotonic();
      const others = await claimsOfOthers(sql, nodes.id, spender.kind, spender.id);
      this.#toDatabaseMs = others.nowMs - askedMs;
      const { amount, waitsSinceMs } = others;
      lefts.push({ spender, left: left - amount, others: amount, othersWaitSinceMs: waitsSinceMs });
    }
    const waitsSinceMs = this.#noteArrival(demand);
    // No wait from here to where the request is placed: what is compared is what is counted.
    const isLost = nodes.acquaintance !== null || !nodes.isSeen;
    const error = demand.refusal();
    const by = blockerOf(demand, lefts, waitsSinceMs);
    const contended = lefts.filter(({ othersWaitSinceMs }) => othersWaitSinceMs !== null);
    for (const { spender, othersWaitSinceMs } of lefts) {
      if (othersWaitSinceMs !== null) this.noteWanted(spender);
      // Whoever pleaded has been admitted, or has left.
      else this.#wanted.delete(nameOf(spender.kind, spender.id));
    }
    if (isLost || error !== null) {
      await sql.query('ROLLBACK');
      return isLost || error === null ? null : { kind: 'refused', error };
    }
    const tickets = this.#ticketsAfter(demand, by?.spender ?? null);
    if (by !== undefined) {
      await this.#queue(sql, tickets);
      return { kind: 'blocked', by: by.spender, isShared: by.others > 0n && isOldest(by, waitsSinceMs) };
    }
    demand.place();
    const next = lefts.map((one) => ({ spender: one.spender, left: one.left, amount: this.#shareOf(one) }));
    for (const { spender, amount } of next) this.#put(spender, this.#least(spender, amount));
    try {
      await writeShares(sql, this.#parts.nodes.id, next.map(rowOf));
      if (tickets.length > 0) await this.#writeTickets(sql, tickets);
      // Whoever waits behind it on another node may be the oldest now.
      for (const { spender } of tickets.length > 0 ? contended : [])
        await recordChange(sql, spender.kind, spender.id);
      await sql.query('COMMIT');
    } catch (error) {
      // Whether the database has the new shares or the old ones nobody knows: nothing is spent of either without asking.
      for (const { spender } of next) this.#put(spender, 0n);
      throw error;
    }
    for (const { spender, amount, left } of next) this.#put(spender, amount, amount <= left);
    this.#keepTickets(tickets);
    return placed;
  }

  /** Finds since when a request waits, by the database's clock. */
  #noteArrival(demand: QueuedDemand): number {
    const known = this.#waitsSinceMs.get(demand);
    if (known !== undefined) return known;
    const waitsSinceMs = Math.floor(demand.arrivedMs + this.#toDatabaseMs);
    this.#waitsSinceMs.set(demand, waitsSinceMs);
    return waitsSinceMs;
  }

  /** Which tickets change when a demand is blocked by a spender, or is placed: those that it holds pass to the ones behind it. */
  #ticketsAfter(demand: QueuedDemand, by: Spender | null): readonly TicketChange[] {
    demand.waitsFor = by;
    const changes: TicketChange[] = [];
    for (const spender of demand.spenders) {
      const holder = this.#tickets.get(nameOf(spender.kind, spender.id))?.holder;
      if (by !== null && by.kind === spender.kind) {
        if (holder !== demand) changes.push({ spender, holder: demand });
      } else if (holder === demand || holder?.hasLeft === true) {
        changes.push({ spender, holder: demand.next(spender) });
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
  #shareOf({ spender: { exposure }, left, othersWaitSinceMs }: Left): bigint {
    const free = othersWaitSinceMs === null ? left - exposure : 0n;
    const more = free > 0n ? free / (2n * BigInt(this.#parts.nodes.count)) : 0n;
    return exposure + (more < largestShare ? more : largestShare);
  }

  /** Until the new share is committed only what is part of both may be spent. */
  #least({ kind, id }: Spender, amount: bigint): bigint {
    const before = this.#shares.get(nameOf(kind, id))?.amount ?? 0n;
    return before < amount ? before : amount;
  }

  #put(spender: Spender, amount: bigint, isSpendable?: boolean): void {
    const usedMs = this.#parts.clock.monotonic();
    const name = nameOf(spender.kind, spender.id);
    const before = this.#shares.get(name);
    this.#shares.set(name, {
      spender,
      amount,
      isSpendable: isSpendable ?? before?.isSpendable ?? false,
      usedMs,
    });
  }
}

/** Which request holds a ticket from now on; null: the ticket is withdrawn. */
interface TicketChange {
  readonly spender: Spender;
  readonly holder: QueuedDemand | null;
}

/**
 * The spender that leaves no room for a demand beside the estimates in flight. The key comes first: who waits for its key must not
 * keep the account's other keys waiting.
 */
function blockerOf({ amount }: Demand, lefts: readonly Left[], waitsSinceMs: number): Left | undefined {
  return lefts.findLast((one) => {
    const { spender, left, others } = one;
    const fits = left - spender.exposure >= amount;
    const isIdle = spender.held === 0n && others === 0n;
    return !isOldest(one, waitsSinceMs) || (!fits && !isIdle);
  });
}

/** Whether no other node waits that has waited longer. */
function isOldest({ othersWaitSinceMs }: Left, waitsSinceMs: number): boolean {
  return othersWaitSinceMs === null || othersWaitSinceMs >= waitsSinceMs;
}

function aloneWith(spender: Spender): Left {
  return { spender, left: spender.left, others: 0n, othersWaitSinceMs: null };
}

function rowOf({ spender, amount }: { readonly spender: Spender; readonly amount: bigint }): ShareRow {
  return { kind: spender.kind, subject: spender.id, amount };
}

function nameOf(kind: ShareKind, subject: number): string {
  return `${kind}/${subject}`;
}
