import { nodeLostMs } from '../../src/nodes/nodes-sql.ts';
import { limitResets, periodAt } from '../../src/time/period.ts';
import type { SimGateway } from './gateway.ts';
import type { Tables } from './model/tables.ts';
import type { Store } from './model/transactions.ts';
import type { Link } from './network.ts';
import type { SimProcess } from './process.ts';

/** A life of a gateway, as far as truth is concerned. */
export interface Life {
  readonly process: SimProcess;
  readonly link: Link;
  gateway: SimGateway | null;
}

/** What is spent by several nodes at once. */
export type Subject = `account ${number}` | `key ${number}`;

/** No knowledge is older than this: a node that could not poll for a second admits nothing. */
const knownWithinMs = 1_500;

/**
 * What the nodes may still spend of accounts and keys, and what of that is excused because one of
 * them died or was lost.
 */
export class Claims {
  readonly #store: Store;
  readonly #lives: () => readonly Life[];
  readonly #floor: bigint;
  /**
   * Settlements that are committed without their process having read the response, by process and
   * generation.
   */
  readonly #unread = new Map<SimProcess, Map<string, Tables['generation']>>();
  readonly #settled = new Map<string, Tables['generation']>();
  /** What may be spent beyond a floor or limit, and since when. */
  readonly #excused = new Map<Subject, { amount: bigint; atMs: number }>();
  readonly #excusedOf = new WeakMap<SimProcess, Map<Subject, bigint>>();

  constructor(parts: {
    readonly store: Store;
    readonly lives: () => readonly Life[];
    readonly floor: bigint;
  }) {
    this.#store = parts.store;
    this.#lives = parts.lives;
    this.#floor = parts.floor;
  }

  /**
   * What is left by the ledger, down to the floor or up to the limit; null when it is not limited,
   * or limited by the day, which no one but a node knows around midnight.
   */
  leftOf(subject: Subject): bigint | null {
    const { tables } = this.#store;
    const [kind, id = ''] = subject.split(' ');
    if (kind === 'account') {
      const row = tables.account_balance.get(id);
      return row === undefined ? null : row.credits - row.usage + this.#floor;
    }
    const row = tables.api_key.get(id);
    const reset = limitResets[row?.limit_reset ?? 0] ?? 'never';
    if (row?.limit_micro == null || reset === 'daily') return null;
    const { startMs, endMs } = periodAt(reset, this.#store.now());
    let left = row.limit_micro;
    for (const { key_id, day, cost, returned } of tables.key_usage_day.values()) {
      const dayMs = Date.parse(`${day}T00:00:00+09:00`);
      if (key_id === row.id && dayMs >= startMs && dayMs < endMs) left -= cost - returned;
    }
    return left;
  }

  /** What is charged and not committed, or reserved, over all live processes. */
  takenOf(subject: Subject): bigint {
    let taken = 0n;
    for (const life of this.#lives()) if (life.process.isAlive) taken += this.#outstandingOf(life, subject);
    return taken;
  }

  /** What is in flight, by its estimates, over all that live. */
  heldOf(subject: Subject): bigint {
    let held = 0n;
    for (const life of this.#lives())
      if (life.process.isAlive)
        held +=
          (outstandingOf(life, 'all').get(subject) ?? 0n) -
          (outstandingOf(life, 'pending').get(subject) ?? 0n);
    return held;
  }

  /** What the live nodes may spend without a query, by the database. */
  sharedOf(subject: Subject): bigint {
    let shared = 0n;
    const [kind, id] = subject.split(' ');
    const { spend_share: shares, gateway_node: nodes } = this.#store.tables;
    for (const row of shares.values()) {
      // What a node writes after it was declared lost, before it reads so, is not counted by any
      // node.
      if (!nodes.has(String(row.node_id))) continue;
      if (row.kind === (kind === 'account' ? 1 : 2) && row.subject === Number(id)) shared += row.amount;
    }
    return shared;
  }

  excusedOf(subject: Subject): bigint {
    return this.#excused.get(subject)?.amount ?? 0n;
  }

  excuse(subject: Subject, amount: bigint, nowMs: number): void {
    if (amount > 0n) this.#excused.set(subject, { amount: this.excusedOf(subject) + amount, atMs: nowMs });
  }

  /** What a settlement has taken is in the ledger before its process reads the response. */
  onSettled(process: SimProcess, rows: readonly Tables['generation'][]): void {
    const unread = this.#unread.get(process) ?? new Map<string, Tables['generation']>();
    this.#unread.set(process, unread);
    for (const row of rows) this.#settled.set(row.id, row);
    if (process.isAlive) for (const row of rows) unread.set(row.id, row);
  }

  /**
   * A batch was found settled, since its first response was lost: its cost is for a moment part of
   * the ledger and, once more, of what its node counts as spent, of its key until that is read
   * again and of its lease until that is written again. It cannot be spent.
   */
  onRepeated(batch: readonly string[], nowMs: number): void {
    for (const id of batch) {
      const row = this.#settled.get(id);
      if (row === undefined) continue;
      this.excuse(`account ${row.account_id}`, row.cost, nowMs);
      this.excuse(`key ${row.key_id}`, row.cost, nowMs);
    }
  }

  /**
   * What is committed without a response, over all live processes: still part of their leases, when
   * they are written meanwhile.
   */
  unreadOf(subject: Subject): bigint {
    let unread = 0n;
    for (const { process } of this.#lives()) unread += this.#unreadBy(process, subject);
    return unread;
  }

  onNotified(process: SimProcess, batch: readonly string[]): void {
    for (const id of batch) this.#unread.get(process)?.delete(id);
  }

  /**
   * A process is about to die: what it charged and had not committed is charged when its journal is
   * replayed.
   */
  onDeath(life: Life, nowMs: number): void {
    for (const [subject, amount] of outstandingOf(life, 'pending')) this.excuse(subject, amount, nowMs);
    this.#unread.delete(life.process);
  }

  /**
   * The leases of a node that was declared lost are not counted by the others
   * (src/nodes/README.md).
   */
  noteLost(nowMs: number): void {
    for (const life of this.#lives()) {
      if (life.gateway === null || !life.process.isAlive || !this.#isLost(life, nowMs)) continue;
      const already = this.#excusedOf.get(life.process) ?? new Map<Subject, bigint>();
      this.#excusedOf.set(life.process, already);
      for (const [subject, amount] of outstandingOf(life, 'all')) {
        const before = already.get(subject) ?? 0n;
        if (amount <= before) continue;
        this.excuse(subject, amount - before, nowMs);
        already.set(subject, amount);
      }
    }
  }

  /**
   * Ends an excuse once it explains nothing more: all nodes serve and know each other, and
   * everything they may spend, each by its lease, exists.
   */
  endExcuse(subject: Subject, nowMs: number): void {
    const excused = this.#excused.get(subject);
    if (excused === undefined || nowMs - excused.atMs < knownWithinMs) return;
    const lives = this.#lives();
    const left = this.leftOf(subject);
    const isAlone = lives.length === 1;
    const areLeased = isAlone || this.areLeased(subject, 0n);
    const claimed = isAlone ? this.takenOf(subject) : this.sharedOf(subject);
    if (!areLeased || !this.areAcquainted(nowMs) || left === null || claimed > left) return;
    this.#excused.delete(subject);
    for (const { process } of lives) this.#excusedOf.get(process)?.delete(subject);
  }

  /** Whether every node serves, and reckons with every other. */
  areAcquainted(nowMs: number): boolean {
    const lives = this.#lives();
    return lives.every((life) => {
      const nodes = life.gateway?.accounting.nodes;
      if (nodes === undefined || !life.process.isAlive || this.#isLost(life, nowMs)) return false;
      return nodes.count === lives.length && nodes.untilSeen === null;
    });
  }

  /** Whether what every node may spend already is part of its share, but for so much. */
  areLeased(subject: Subject, but: bigint): boolean {
    const [kind, id = ''] = subject.split(' ');
    return this.#lives().every((life) => {
      const key = `${kind === 'account' ? 1 : 2}/${id}/${life.gateway?.accounting.nodes.id}`;
      const share = this.#store.tables.spend_share.get(key)?.amount ?? 0n;
      return this.#outstandingOf(life, subject) <= share + but;
    });
  }

  #isLost({ gateway }: Life, nowMs: number): boolean {
    const node = this.#store.tables.gateway_node.get(String(gateway?.accounting.nodes.id));
    return node === undefined || nowMs - node.seen_at >= nodeLostMs - 100;
  }

  #outstandingOf(life: Life, subject: Subject): bigint {
    return (outstandingOf(life, 'all').get(subject) ?? 0n) - this.#unreadBy(life.process, subject);
  }

  #unreadBy(process: SimProcess, subject: Subject): bigint {
    let unread = 0n;
    for (const row of this.#unread.get(process)?.values() ?? [])
      if (subject === `account ${row.account_id}` || subject === `key ${row.key_id}`) unread += row.cost;
    return unread;
  }
}

function outstandingOf({ gateway }: Life, part: 'all' | 'pending'): ReadonlyMap<Subject, bigint> {
  const sums = new Map<Subject, bigint>();
  if (gateway === null) return sums;
  for (const account of gateway.accounting.accounts.all()) {
    sums.set(`account ${account.id}`, account.outstanding - (part === 'all' ? 0n : account.reserved));
  }
  for (const key of gateway.accounting.keys.all())
    sums.set(`key ${key.row.id}`, key.outstanding - (part === 'all' ? 0n : key.reserved));
  return sums;
}
