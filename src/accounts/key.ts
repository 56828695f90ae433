import { type Krw, krwOfMicro } from '../money/krw.ts';
import { seoulDayAt } from '../time/period.ts';
import type { KeyRow } from './keys-sql.ts';
import { addDebit, rollTo, type Spend, spendOf } from './spend.ts';

/**
 * One API key as this process knows it: its row, its spend in the database, what this process has
 * charged and not yet seen committed, and what its requests in flight may still cost.
 */
export class Key {
  #row: KeyRow;
  #committed: Spend;
  /** The last day with known spend: nothing was spent after it. */
  #lastDay: number;
  /**
   * Charged here and not yet committed, by Seoul day. Nearly always one day; an empty map would be
   * a quarter of the key's memory.
   */
  #pending: Map<number, bigint> | null = null;
  #reserved = 0n;
  /** How many requests use this object. */
  #users = 0;
  /** The monotonic instant at which its spend was read. */
  readAtMs: number;
  isUsed = true;
  /** It changed and could not be read again: it must be read before its next use. */
  isDoubtful = false;

  constructor(row: KeyRow, committed: Spend, readAtMs: number) {
    this.#row = row;
    this.#committed = committed;
    this.#lastDay = committed.day;
    this.readAtMs = readAtMs;
  }

  get row(): KeyRow {
    return this.#row;
  }

  /**
   * Whether this process knows what was spent in the periods that contain the Seoul day. After the
   * civil clock was set back, and until it reaches its former value, only the database does.
   */
  isCurrentFor(day: number): boolean {
    const { day: known } = this.#committed;
    return day === known || (day > known && known === this.#lastDay);
  }

  /** The spend in the periods that contain the Seoul day, pending charges included. */
  spendAt(day: number): Spend {
    let spend = day > this.#committed.day ? rollTo(this.#committed, day) : this.#committed;
    if (this.#pending === null) return spend;
    for (const [pendingDay, amount] of this.#pending) spend = addDebit(spend, pendingDay, amount);
    return spend;
  }

  /** `spendAt` of the Seoul day of an instant. */
  spendOn(atMs: number): Spend {
    return this.spendAt(seoulDayAt(atMs));
  }

  /** Spend in the current limit period, all time when the limit never resets (spec:api/5.8). */
  usageAt(day: number): Krw {
    return krwOfMicro(spendOf(this.spendAt(day), this.#row.limitReset));
  }

  /** The estimated cost of the key's requests in flight in this process. */
  get reserved(): Krw {
    return krwOfMicro(this.#reserved);
  }

  /** Spend in the current limit period as the database has it, without what this process adds. */
  committedUsageAt(day: number): Krw {
    const spend = day > this.#committed.day ? rollTo(this.#committed, day) : this.#committed;
    return krwOfMicro(spendOf(spend, this.#row.limitReset));
  }

  /**
   * What this process may still add to the committed usage: pending charges, of whatever day, and
   * reservations.
   */
  get outstanding(): Krw {
    let outstanding = this.#reserved;
    if (this.#pending !== null) for (const amount of this.#pending.values()) outstanding += amount;
    return krwOfMicro(outstanding);
  }

  /** The spend limit; null when there is none. */
  get limit(): Krw | null {
    return this.#row.limitMicro === null ? null : krwOfMicro(this.#row.limitMicro);
  }

  /**
   * Whether this object has uncommitted state, which another object for the same key would lack.
   */
  get isPinned(): boolean {
    return this.#users > 0 || this.#pending !== null || this.#reserved !== 0n;
  }

  /** Prevents this object from being evicted until `unpin` was called as often. */
  pin(): void {
    this.#users += 1;
  }

  unpin(): void {
    this.#users -= 1;
  }

  /** Prevents this object from being evicted until the work is done. */
  async withPin<T>(work: Promise<T>): Promise<T> {
    this.pin();
    try {
      return await work;
    } finally {
      this.unpin();
    }
  }

  reserve(amount: Krw): void {
    this.#reserved += amount;
  }

  release(amount: Krw): void {
    this.#reserved -= amount;
  }

  /** Counts a debit of the Seoul day at once in memory; the database follows. */
  charge(day: number, cost: Krw): void {
    this.#addPending(day, cost);
  }

  /** Removes a charge: it could not be made durable, or the database has it by now. */
  uncharge(day: number, cost: Krw): void {
    this.#addPending(day, -cost);
  }

  /** A charge has been committed: it moves from pending to committed. */
  committed(day: number, cost: Krw): void {
    this.uncharge(day, cost);
    this.#committed = addDebit(this.#committed, day, cost);
    this.#lastDay = Math.max(this.#lastDay, day);
  }

  /** Updates the object from the database. */
  update(row: KeyRow, committed: Spend, readAtMs: number): void {
    this.#row = row;
    this.#committed = committed;
    this.#lastDay = Math.max(this.#lastDay, committed.day);
    this.readAtMs = readAtMs;
  }

  #addPending(day: number, amount: bigint): void {
    if (amount === 0n) return;
    const pending = this.#pending ?? new Map<number, bigint>();
    const sum = (pending.get(day) ?? 0n) + amount;
    if (sum === 0n) pending.delete(day);
    else pending.set(day, sum);
    this.#pending = pending.size === 0 ? null : pending;
  }
}
