import { type Krw, krwOfMicro } from '../money/krw.ts';
import type { KeyRow } from '../store/keys.ts';
import { seoulDayAt } from '../time/period.ts';
import { addDebit, rollTo, type Spend, spendOf } from './spend.ts';

/**
 * One API key as this process knows it: its row, what the database has of its spend, what this process has charged and not
 * yet seen committed, and what its requests in flight may still cost.
 */
export class Key {
  #row: KeyRow;
  #committed: Spend;
  /** The last day that anything was known of: after it nothing was spent. */
  #lastDay: number;
  /** Charged here and not yet committed, by Seoul day. Nearly always one day. */
  readonly #pending = new Map<number, bigint>();
  #held = 0n;

  constructor(row: KeyRow, committed: Spend) {
    this.#row = row;
    this.#committed = committed;
    this.#lastDay = committed.day;
  }

  get row(): KeyRow {
    return this.#row;
  }

  /**
   * Whether this process knows what was spent in the periods that contain the Seoul day. After the civil clock was set back, and again
   * when it comes to where it was, only the database does.
   */
  knows(day: number): boolean {
    const { day: known } = this.#committed;
    return day === known || (day > known && known === this.#lastDay);
  }

  /** The spend in the periods that contain the Seoul day, pending charges included. */
  spendAt(day: number): Spend {
    let spend = day > this.#committed.day ? rollTo(this.#committed, day) : this.#committed;
    for (const [pendingDay, amount] of this.#pending) spend = addDebit(spend, pendingDay, amount);
    return spend;
  }

  /** `spendAt` of the Seoul day of an instant. */
  spendOn(atMs: number): Spend {
    return this.spendAt(seoulDayAt(atMs));
  }

  /** Spend in the current limit period, all time when the limit never resets (service.md 2.1). */
  usageAt(day: number): Krw {
    return krwOfMicro(spendOf(this.spendAt(day), this.#row.limitReset));
  }

  /** `usageAt` plus the estimated cost of the key's requests in flight. */
  usageWithHoldsAt(day: number): Krw {
    return krwOfMicro(this.usageAt(day) + this.#held);
  }

  /** Spend in the current limit period as the database has it: nothing of this process's own is counted. */
  committedUsageAt(day: number): Krw {
    const spend = day > this.#committed.day ? rollTo(this.#committed, day) : this.#committed;
    return krwOfMicro(spendOf(spend, this.#row.limitReset));
  }

  /** What this process may still add to the committed usage: charges on their way, of whatever day, and holds. */
  get exposure(): Krw {
    let exposure = this.#held;
    for (const amount of this.#pending.values()) exposure += amount;
    return krwOfMicro(exposure);
  }

  /** The spend limit; null when there is none. */
  get limit(): Krw | null {
    return this.#row.limitMicro === null ? null : krwOfMicro(this.#row.limitMicro);
  }

  hold(amount: Krw): void {
    this.#held += amount;
  }

  release(amount: Krw): void {
    this.#held -= amount;
  }

  /** Counts a debit of the Seoul day at once in memory; the database follows. */
  charge(day: number, cost: Krw): void {
    this.#pending.set(day, (this.#pending.get(day) ?? 0n) + cost);
  }

  /** Takes a charge back: it could not be made durable, or the database has it by now. */
  uncharge(day: number, cost: Krw): void {
    const rest = (this.#pending.get(day) ?? 0n) - cost;
    if (rest === 0n) this.#pending.delete(day);
    else this.#pending.set(day, rest);
  }

  /** A charge has been committed: it moves from pending to committed. */
  committed(day: number, cost: Krw): void {
    this.uncharge(day, cost);
    this.#committed = addDebit(this.#committed, day, cost);
    this.#lastDay = Math.max(this.#lastDay, day);
  }

  /** Takes over what the database has. */
  update(row: KeyRow, committed: Spend): void {
    this.#row = row;
    this.#committed = committed;
    this.#lastDay = Math.max(this.#lastDay, committed.day);
  }
}
