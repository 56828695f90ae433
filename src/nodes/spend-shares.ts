import { recordChange } from '../store/changes.ts';
import type { Database } from '../store/database.ts';
import {
  dropAllShares,
  dropShares,
  lockShares,
  type ShareKind,
  type ShareRow,
  sharesOfOthers,
  writeShares,
} from '../store/spend-shares.ts';
import type { Sql } from '../store/sql.ts';
import { type Clock, pause } from '../time/clock.ts';
import type { NodeRegistry } from './node-registry.ts';

/** A share that nothing was spent of for so long goes back. */
const idleMs = 3_000;
/** How long the other nodes are given to yield: they are told at once where the database announces, and look four times a second. */
const firstWaitMs = 5;
const longestWaitMs = 320;

/** Something that several nodes spend at once: the credit of an account, or what is left below a key's limit. */
export interface Spender {
  readonly kind: ShareKind;
  readonly id: number;
  /** What this node may still take of it: charged here and not committed, and the holds of its requests. Micro-won. */
  readonly exposure: bigint;
  /**
   * Reads it again and returns what is left of it, this node's exposure not deducted; memory follows. It is run on the ordered
   * line, under the subject's lock.
   */
  readonly readLeft: (sql: Sql) => Promise<bigint>;
  /** Whether a request may be admitted when so much is left beside everybody's holds: the floor is inclusive, a key's limit is not. */
  readonly admits: (free: bigint) => boolean;
}

/** A request that asks to be counted. */
export interface Demand {
  /** In the order of their refusals. */
  readonly spenders: readonly Spender[];
  /** Its estimate, micro-won. */
  readonly amount: bigint;
  /** Counts it: from then on it is part of every spender's exposure. Called at most once, when it is admitted. */
  readonly place: () => void;
}

/** What became of a demand: it was placed, or the spender that has nothing left. */
export type Covered =
  | { readonly kind: 'placed' }
  | {
      readonly kind: 'exhausted';
      readonly by: Spender;
      /** There is something left, but other nodes have it as their shares. */
      readonly isShared: boolean;
      /** What is left beside everybody's holds, which does not admit: micro-won. */
      readonly free: bigint;
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
  usedMs: number;
}

/** More than anyone spends in a moment, and small enough that the shares of a thousand nodes add up to a bigint of the database. */
const largestShare = 1_000_000_000_000_000n;

const placed: Covered = { kind: 'placed' };

/**
 * Keeps several nodes together from spending more than there is (decisions.md A-25). Each node has a share of what is left of an
 * account and spends it without asking; all shares together are never more than what is left, so whatever the concurrency, no
 * two nodes can spend the same won. A share is half of what is free, divided by the nodes: far from the floor one question lasts
 * for thousands of requests. What does not fit the share is asked for in one short transaction. A node that is alone has no
 * shares and asks nobody.
 */
export class SpendShares {
  readonly #parts: SpendSharesParts;
  readonly #shares = new Map<string, Share>();
  readonly #pleas = new Map<string, Promise<void>>();
  #beating: Promise<void> | null = null;

  constructor(parts: SpendSharesParts) {
    this.#parts = parts;
  }

  /** The node whose shares a settlement spends; null while it is alone and has none. */
  get spendingNode(): number | null {
    return this.#parts.nodes.isAlone ? null : this.#parts.nodes.id;
  }

  /** Whether this node alone spends, and knows that it does: nobody need be asked. */
  get isSole(): boolean {
    const { nodes, isCurrent } = this.#parts;
    return nodes.isAlone && nodes.acquaintance === null && isCurrent();
  }

  /** Admits a demand and places it, at once when the shares cover it. Rejects when the database is away. */
  cover(demand: Demand): Covered | Promise<Covered> {
    const { acquaintance } = this.#parts.nodes;
    if (acquaintance !== null) return acquaintance.then(() => this.cover(demand));
    if (!this.#isCovered(demand)) return this.#askUntilSure(demand);
    demand.place();
    return placed;
  }

  /** Asks; where others have a share of what is missing, asks them for it before it is refused. */
  async #askUntilSure(demand: Demand): Promise<Covered> {
    const { database, nodes } = this.#parts;
    for (let waitMs = firstWaitMs; ; ) {
      if (!nodes.isSeen) await this.#beat();
      await nodes.acquaintance;
      const covered = await database.line.run((sql) => this.#ask(sql, demand));
      if (covered === null) continue;
      if (covered.kind !== 'exhausted' || !covered.isShared || waitMs > longestWaitMs) return covered;
      await this.#plead(covered.by, waitMs);
      waitMs *= 2;
    }
  }

  /** All who wait to be seen again share one look. */
  #beat(): Promise<void> {
    this.#beating ??= this.#parts.nodes.beat().finally(() => {
      this.#beating = null;
    });
    return this.#beating;
  }

  /** Asks the other nodes to yield and gives them a moment; who asks for the same meanwhile waits along. */
  #plead({ kind, id }: Spender, waitMs: number): Promise<void> {
    const { clock, database } = this.#parts;
    const name = nameOf(kind, id);
    const running = this.#pleas.get(name);
    if (running !== undefined) return running;
    const plea = database
      .transaction((sql) => recordChange(sql, `share-of-${kind}`, id))
      .then(() => pause(clock, waitMs, new AbortController().signal))
      .finally(() => this.#pleas.delete(name));
    this.#pleas.set(name, plea);
    return plea;
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
      if (exposed.length > 0) await writeShares(sql, id, exposed.map(rowOf));
      await sql.query('COMMIT');
      for (const { spender, amount } of exposed) this.#put(spender, amount);
    });
  }

  /** Gives back what nothing was spent of lately, but for what is in flight. Rejects when the database is away. */
  async giveBackIdle(): Promise<void> {
    const idle = (): readonly Spender[] =>
      [...this.#shares.values()]
        .filter(({ usedMs }) => this.#parts.clock.monotonic() - usedMs > idleMs)
        .map(({ spender }) => spender);
    if (idle().length > 0) await this.#parts.database.line.run((sql) => this.#trim(sql, idle()));
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
    const kept = rows.filter(({ amount }) => amount > 0n);
    const gone = rows.filter(({ amount }) => amount === 0n);
    if (kept.length > 0) await writeShares(sql, this.#parts.nodes.id, kept);
    if (gone.length > 0) await dropShares(sql, this.#parts.nodes.id, gone);
    // The others may have been given shares that did not reckon with this.
    for (const { spender } of raised) await recordChange(sql, `share-of-${spender.kind}`, spender.id);
    for (const { spender, amount } of next) {
      if (amount > 0n) this.#put(spender, amount);
      else this.#shares.delete(nameOf(spender.kind, spender.id));
    }
  }

  /** A node that was stopped for a while may have been taken for lost, and its shares with it: whoever is not current asks. */
  #isCovered({ spenders, amount }: Demand): boolean {
    if (!this.#parts.isCurrent() || !this.#parts.nodes.isSeen) return false;
    const nowMs = this.#parts.clock.monotonic();
    for (const { kind, id, exposure } of spenders) {
      const share = this.#shares.get(nameOf(kind, id));
      if (share === undefined || exposure + amount > share.amount) return false;
      share.usedMs = nowMs;
    }
    return true;
  }

  /**
   * One turn of the ordered line: the rows contain exactly the settlements that are no longer part of our exposure. Null when the
   * others may have taken this node for lost meanwhile: what it may spend already is published before it asks again.
   */
  async #ask(sql: Sql, demand: Demand): Promise<Covered | null> {
    const { nodes } = this.#parts;
    if (nodes.acquaintance !== null || !nodes.isSeen) return null;
    if (this.#isCovered(demand)) {
      demand.place();
      return placed;
    }
    await sql.query('BEGIN');
    const lefts: { spender: Spender; left: bigint; others: bigint }[] = [];
    for (const spender of demand.spenders) {
      await lockShares(sql, spender.kind, spender.id);
      const left = await spender.readLeft(sql);
      const others = await sharesOfOthers(sql, this.#parts.nodes.id, spender.kind, spender.id);
      lefts.push({ spender, left: left - others, others });
    }
    // No wait from here to where the request is placed: what is compared is what is counted.
    if (nodes.acquaintance !== null || !nodes.isSeen) {
      await sql.query('ROLLBACK');
      return null;
    }
    const exhausted = lefts.find(({ spender, left }) => !spender.admits(left - spender.exposure));
    if (exhausted !== undefined) {
      await sql.query('ROLLBACK');
      const { spender, left, others } = exhausted;
      const free = left - spender.exposure;
      return { kind: 'exhausted', by: spender, isShared: spender.admits(free + others), free };
    }
    demand.place();
    const next = lefts.map(({ spender, left }) => ({ spender, amount: this.#shareOf(spender, left) }));
    for (const { spender, amount } of next) this.#put(spender, this.#least(spender, amount));
    try {
      await writeShares(sql, this.#parts.nodes.id, next.map(rowOf));
      await sql.query('COMMIT');
    } catch (error) {
      // Whether the database has the new shares or the old ones nobody knows: nothing is spent of either without asking.
      for (const { spender } of next) this.#put(spender, 0n);
      throw error;
    }
    for (const { spender, amount } of next) this.#put(spender, amount);
    return placed;
  }

  /** Everything that the node may spend already, and a part of what is free beside it. `left` counts the others' shares out. */
  #shareOf({ exposure }: Spender, left: bigint): bigint {
    const free = left - exposure;
    const more = free > 0n ? free / (2n * BigInt(this.#parts.nodes.count)) : 0n;
    return exposure + (more < largestShare ? more : largestShare);
  }

  /** Until the new share is committed only what is part of both may be spent. */
  #least({ kind, id }: Spender, amount: bigint): bigint {
    const before = this.#shares.get(nameOf(kind, id))?.amount ?? 0n;
    return before < amount ? before : amount;
  }

  #put(spender: Spender, amount: bigint): void {
    const usedMs = this.#parts.clock.monotonic();
    this.#shares.set(nameOf(spender.kind, spender.id), { spender, amount, usedMs });
  }
}

function rowOf({ spender, amount }: { readonly spender: Spender; readonly amount: bigint }): ShareRow {
  return { kind: spender.kind, subject: spender.id, amount };
}

function nameOf(kind: ShareKind, subject: number): string {
  return `${kind}/${subject}`;
}
