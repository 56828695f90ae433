import { type Krw, zeroKrw } from '../money/krw.ts';
import type { CreditLeases } from '../nodes/credit-leases.ts';
import type { ReservationOrder, ReservationQueues } from '../nodes/reservation-queue.ts';
import type { SpendSubject } from '../nodes/reservation-request.ts';
import type { Account } from './account.ts';
import type { Key } from './key.ts';
import type { SpendLimits } from './spend-limits.ts';

/** What reservations are made of. */
export interface ReservationParts {
  readonly spendLimits: SpendLimits;
  readonly queues: Pick<ReservationQueues, 'enter' | 'wake'>;
  readonly leases: Pick<CreditLeases, 'isAnyWanted' | 'released'>;
}

/** How a reservation waits while the estimates in flight leave no room for it. */
export interface ReservationWait {
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
  readonly maxWaitMs: number;
}

/**
 * The reservation of one request on its account and key: the most that the request is estimated to
 * cost, counted from `reserve` to `end` (spec:money/6.6). A later request waits in the queue while
 * the reservations leave no room for it, so whatever the concurrency, one request at most overruns
 * the floor. From its construction to `end` it pins account and key in memory.
 *
 * It is itself the order that waits in the queue of its account: the queue and the leases read it,
 * and call `count` and `uncount`.
 */
export class Reservation implements ReservationOrder {
  readonly account: Account;
  readonly key: Key;
  /** The estimate; zero before `reserve`. */
  amount: Krw = zeroKrw;
  readonly #parts: ReservationParts;
  #wait: ReservationWait | null = null;
  #counted: Krw = zeroKrw;
  #ended = false;

  constructor(account: Account, key: Key, parts: ReservationParts) {
    this.account = account;
    this.key = key;
    this.#parts = parts;
    account.pin();
    key.pin();
  }

  /**
   * Reserves the amount. Undefined: at once. Otherwise it waits in the queue: resolves when it is
   * reserved, rejects with the request's refusal, the reason of the signal, or `408 timeout`.
   */
  reserve(amount: Krw, wait: ReservationWait): Promise<void> | undefined {
    this.amount = amount;
    this.#wait = wait;
    return this.#parts.queues.enter(this);
  }

  /** Ends the reservation, which may make room for another; any further call does nothing. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.uncount();
    const { spendLimits, queues, leases } = this.#parts;
    queues.wake(this.account.id);
    if (leases.isAnyWanted)
      for (const subject of spendLimits.of(this.account, this.key)) void leases.released(subject);
    this.account.unpin();
    this.key.unpin();
  }

  get accountId(): number {
    return this.account.id;
  }

  get signal(): AbortSignal {
    return this.#waiting.signal;
  }

  get maxWaitMs(): number {
    return this.#waiting.maxWaitMs;
  }

  /** Of the moment: the key may be given a limit, or lose it, while the request waits. */
  get subjects(): readonly SpendSubject[] {
    return this.#parts.spendLimits.of(this.account, this.key);
  }

  get isKnown(): boolean {
    return this.#parts.spendLimits.isKnown(this.account, this.key);
  }

  refusal(): Error | null {
    return this.#parts.spendLimits.refusalOfQueued(this.account, this.key);
  }

  /** Counts the amount, in the turn in which the request is admitted. */
  count(): void {
    this.#counted = this.amount;
    this.account.reserve(this.amount);
    this.key.reserve(this.amount);
  }

  uncount(): void {
    this.account.release(this.#counted);
    this.key.release(this.#counted);
    this.#counted = zeroKrw;
  }

  get #waiting(): ReservationWait {
    if (this.#wait === null) throw new Error('nothing was reserved yet');
    return this.#wait;
  }
}
