import { type Krw, krwOfMicro } from '../money/krw.ts';
import type { BalanceRow } from './accounts-sql.ts';

/**
 * One account's money as this process knows it: what the database has committed, plus what this
 * process has charged and not yet seen committed, plus what requests in flight may still cost
 * (spec:money/6.6). All amounts are micro-won.
 */
export class Account {
  readonly id: number;
  #credits: bigint;
  #usage: bigint;
  #version: bigint;
  /** Charged here, durable in the journal, not yet in `#usage`. */
  #pending = 0n;
  /** The estimated cost of the requests in flight. */
  #reserved = 0n;
  /** How many requests use this object. */
  #users = 0;
  /** The monotonic instant at which it was read. */
  readAtMs: number;
  isUsed = true;
  /** It changed and could not be read again: it must be read before its next use. */
  isDoubtful = false;

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

  /** Everything deducted or expired (spec:api/10.1), pending charges included. */
  get totalUsage(): Krw {
    return krwOfMicro(this.#usage + this.#pending);
  }

  /** `totalCredits - totalUsage`, always. */
  get balance(): Krw {
    return krwOfMicro(this.#credits - this.#usage - this.#pending);
  }

  /** The estimated cost of this process's requests in flight. */
  get reserved(): Krw {
    return krwOfMicro(this.#reserved);
  }

  /** The balance as the database has it, without this process's pending charges. */
  get committedBalance(): Krw {
    return krwOfMicro(this.#credits - this.#usage);
  }

  /**
   * What this process may still take of the committed balance: pending charges and reservations.
   */
  get outstanding(): Krw {
    return krwOfMicro(this.#pending + this.#reserved);
  }

  /**
   * Whether the account has no credit: derived, so that a top-up needs no event to lift it
   * (spec:money/6.1).
   */
  get hasNoCredit(): boolean {
    return this.#credits - this.#usage - this.#pending <= 0n;
  }

  /**
   * Whether this object has uncommitted state, which another object for the same account would
   * lack.
   */
  get isPinned(): boolean {
    return this.#users > 0 || this.#pending !== 0n || this.#reserved !== 0n;
  }

  /** Prevents this object from being evicted until `unpin` was called as often. */
  pin(): void {
    this.#users += 1;
  }

  unpin(): void {
    this.#users -= 1;
  }

  /** Counts a request in flight; every reservation ends with `release` of the same amount. */
  reserve(amount: Krw): void {
    this.#reserved += amount;
  }

  release(amount: Krw): void {
    this.#reserved -= amount;
  }

  /** Deducts at once in memory; the database follows. */
  charge(cost: Krw): void {
    this.#pending += cost;
  }

  /** Removes a charge that could not be made durable, or that the database already has. */
  uncharge(cost: Krw): void {
    this.#pending -= cost;
  }

  /** Updates the object from the database, unless it has a newer version. */
  update(row: BalanceRow): void {
    if (row.version < this.#version) return;
    this.#credits = row.credits;
    this.#usage = row.usage;
    this.#version = row.version;
  }
}
