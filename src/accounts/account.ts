import { type Krw, krwOfMicro } from '../money/krw.ts';
import type { BalanceRow } from './accounts-sql.ts';

/**
 * One account's money as this process knows it: what the database has committed, plus what this process has charged and not
 * yet seen committed, plus what requests in flight may still cost (spec:money/6.6). All amounts are micro-won.
 */
export class Account {
  readonly id: number;
  #credits: bigint;
  #usage: bigint;
  #version: bigint;
  /** Charged here, durable in the journal, not yet in `#usage`. */
  #pending = 0n;
  /** The estimated cost of the requests in flight. */
  #held = 0n;
  /** How many have this object in hand. */
  #users = 0;
  /** The monotonic instant at which what is known of it was asked for. */
  readAtMs: number;
  isUsed = true;

  constructor(row: BalanceRow, readAtMs: number) {
    this.id = row.accountId;
    this.readAtMs = readAtMs;
    this.#credits = row.credits;
    this.#usage = row.usage;
    this.#version = row.version;
  }

  /** Everything ever added (spec:api/10.1). */
  get totalCredits(): Krw {
    return krwOfMicro(this.#credits);
  }

  /** Everything deducted or expired (spec:api/10.1), what is still on its way to the database included. */
  get totalUsage(): Krw {
    return krwOfMicro(this.#usage + this.#pending);
  }

  /** `totalCredits - totalUsage`, always. */
  get balance(): Krw {
    return krwOfMicro(this.#credits - this.#usage - this.#pending);
  }

  /** The estimated cost of this process's requests in flight. */
  get held(): Krw {
    return krwOfMicro(this.#held);
  }

  /** The balance as the database has it: nothing of this process's own is deducted. */
  get committedBalance(): Krw {
    return krwOfMicro(this.#credits - this.#usage);
  }

  /** What this process may still take of the committed balance: charges on their way, and holds. */
  get outstanding(): Krw {
    return krwOfMicro(this.#pending + this.#held);
  }

  /** Whether the account stands without credit: derived, so that a top-up releases it with no event to forget (spec:money/6.1). */
  get hasNoCredit(): boolean {
    return this.#credits - this.#usage - this.#pending <= 0n;
  }

  /** Whether anything counts on this very object: another one for the same account would know of none of it. */
  get isPinned(): boolean {
    return this.#users > 0 || this.#pending !== 0n || this.#held !== 0n;
  }

  /** Keeps this object from being forgotten until as many `letGo` follow. */
  pin(): void {
    this.#users += 1;
  }

  unpin(): void {
    this.#users -= 1;
  }

  /** Counts a request in flight; every hold ends with `release` of the same amount. */
  hold(amount: Krw): void {
    this.#held += amount;
  }

  release(amount: Krw): void {
    this.#held -= amount;
  }

  /** Deducts at once in memory; the database follows. */
  charge(cost: Krw): void {
    this.#pending += cost;
  }

  /** Takes a charge back that could not be made durable, or that the database turned out to have already. */
  uncharge(cost: Krw): void {
    this.#pending -= cost;
  }

  /** Takes over what the database has, unless something newer is known. */
  update(row: BalanceRow): void {
    if (row.version < this.#version) return;
    this.#credits = row.credits;
    this.#usage = row.usage;
    this.#version = row.version;
  }
}
