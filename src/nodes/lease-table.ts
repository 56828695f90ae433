import type { Clock } from '../time/clock.ts';
import type { CreditLeaseKind } from './credit-leases-sql.ts';
import type { ReservationRequest, SpendSubject } from './reservation-request.ts';

/** A credit lease of which nothing was spent for this long is released. */
const idleMs = 3_000;

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

/** The credit leases of this node in memory. */
export class LeaseTable {
  readonly #clock: Clock;
  readonly #leases = new Map<string, CreditLease>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  has({ kind, id }: Pick<SpendSubject, 'kind' | 'id'>): boolean {
    return this.#leases.has(subjectName(kind, id));
  }

  /** The subject of a lease; undefined when there is none. */
  subjectOf({ kind, id }: Pick<SpendSubject, 'kind' | 'id'>): SpendSubject | undefined {
    return this.#leases.get(subjectName(kind, id))?.subject;
  }

  /**
   * Sets a lease; without `isSpendable` a lease stays as spendable as it was, and a new one is not.
   */
  put(subject: SpendSubject, amount: bigint, isSpendable?: boolean): void {
    const usedMs = this.#clock.monotonic();
    const name = subjectName(subject.kind, subject.id);
    const before = this.#leases.get(name);
    this.#leases.set(name, {
      subject,
      amount,
      isSpendable: isSpendable ?? before?.isSpendable ?? false,
      usedMs,
    });
  }

  delete({ kind, id }: SpendSubject): void {
    this.#leases.delete(subjectName(kind, id));
  }

  /** Forgets the leases, or those of some accounts. Returns the accounts. */
  clear(isOf: (accountId: number) => boolean = () => true): ReadonlySet<number> {
    const accounts = new Set<number>();
    for (const [name, { subject }] of this.#leases) {
      if (!isOf(subject.accountId)) continue;
      accounts.add(subject.accountId);
      this.#leases.delete(name);
    }
    return accounts;
  }

  /** Until a new lease is committed only what is part of both may be spent. */
  lowerOf({ kind, id }: SpendSubject, amount: bigint): bigint {
    const before = this.#leases.get(subjectName(kind, id))?.amount ?? 0n;
    return before < amount ? before : amount;
  }

  /** Subtracts what a settlement has spent. */
  spent(kind: CreditLeaseKind, subject: number, amount: bigint): void {
    const lease = this.#leases.get(subjectName(kind, subject));
    if (lease !== undefined) lease.amount = lease.amount > amount ? lease.amount - amount : 0n;
  }

  /** The subjects whose leases were not used lately. */
  idle(): readonly SpendSubject[] {
    return [...this.#leases.values()]
      .filter(({ usedMs }) => this.#clock.monotonic() - usedMs > idleMs)
      .map(({ subject }) => subject);
  }

  /** Whether the leases have room for a request. */
  covers({ subjects, amount }: ReservationRequest): boolean {
    const nowMs = this.#clock.monotonic();
    for (const subject of subjects) {
      const lease = this.#leases.get(subjectName(subject.kind, subject.id));
      if (lease === undefined || !lease.isSpendable || subject.outstanding + amount > lease.amount)
        return false;
      lease.usedMs = nowMs;
    }
    return true;
  }
}

/** A text that identifies a subject. */
export function subjectName(kind: CreditLeaseKind, subject: number): string {
  return `${kind}/${subject}`;
}
