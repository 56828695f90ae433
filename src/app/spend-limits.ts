import type { Account } from '../accounts/account.ts';
import type { AccountCache } from '../accounts/account-cache.ts';
import type { Admission, Admissions } from '../inference/inference.ts';
import type { Key } from '../keys/key.ts';
import type { KeyCache } from '../keys/key-cache.ts';
import type { Krw } from '../money/krw.ts';
import type { CreditLeases, SpendSubject } from '../nodes/credit-leases.ts';
import type { ReservationOrder, ReservationQueues } from '../nodes/reservation-queue.ts';
import type { Sql } from '../store/sql.ts';
import type { Clock } from '../time/clock.ts';
import { seoulDayAt } from '../time/period.ts';

/** What the accounts and keys of this process are to the other nodes. */
export interface SpendLimitsParts {
  readonly accounts: AccountCache;
  readonly keys: KeyCache;
  readonly clock: Clock;
  /** Positive; of the moment. */
  readonly debtFloor: () => Krw;
}

/** More than any limit leaves: a key without a limit is bounded by its account alone. */
const unlimited = 10n ** 24n;

/** Ties the rooms that know accounts and keys to the one that shares them out. */
export class SpendLimits {
  readonly #parts: SpendLimitsParts;

  constructor(parts: SpendLimitsParts) {
    this.#parts = parts;
  }

  /** What a request of this key spends of, in the order of its refusals. */
  of(account: Account, key: Key): readonly SpendSubject[] {
    const ofAccount = this.account(account.id);
    return key.limit === null ? [ofAccount] : [ofAccount, this.key(key.row.id)];
  }

  /** Whether memory has all that was spent of what this key spends of, while nobody else spends. */
  isKnown(account: Account, key: Key): boolean {
    return this.#parts.accounts.isKnown(account.id) && this.#parts.keys.isKnown(key.row.id);
  }

  /** Everything that this process may be spending of. */
  *all(): Iterable<SpendSubject> {
    for (const { id } of this.#parts.accounts.all()) yield this.account(id);
    for (const key of this.#parts.keys.all()) if (key.limit !== null) yield this.key(key.row.id);
  }

  /** The credit of an account. */
  account(id: number): SpendSubject {
    return new AccountCredit(id, this.#parts);
  }

  /** What is left below the limit of a key. */
  key(id: number): SpendSubject {
    return new KeyAllowance(id, this.#parts);
  }
}

/**
 * Credit down to the floor. A share outlives the requests it was asked for, so it goes by the number: an account that is forgotten has
 * nothing in flight, and may be another object afterwards.
 */
class AccountCredit implements SpendSubject {
  readonly kind = 'account';
  readonly id: number;
  readonly #parts: SpendLimitsParts;

  constructor(id: number, parts: SpendLimitsParts) {
    this.id = id;
    this.#parts = parts;
  }

  get outstanding(): bigint {
    return this.#parts.accounts.getCached(this.id)?.outstanding ?? 0n;
  }

  get reserved(): bigint {
    return this.#parts.accounts.getCached(this.id)?.reserved ?? 0n;
  }

  get left(): bigint {
    const { accounts, debtFloor } = this.#parts;
    return (accounts.getCached(this.id)?.committedBalance ?? 0n) + debtFloor();
  }

  async readRemaining(sql: Sql): Promise<bigint> {
    const { accounts, debtFloor } = this.#parts;
    return (await accounts.readIn(sql, this.id)).committedBalance + debtFloor();
  }
}

/** What is left below a key's limit in its period; usage at the limit is refused (spec:money/6.3). By the number, likewise. */
class KeyAllowance implements SpendSubject {
  readonly kind = 'key';
  readonly id: number;
  readonly #parts: SpendLimitsParts;

  constructor(id: number, parts: SpendLimitsParts) {
    this.id = id;
    this.#parts = parts;
  }

  get outstanding(): bigint {
    return this.#parts.keys.getCachedById(this.id)?.outstanding ?? 0n;
  }

  get reserved(): bigint {
    return this.#parts.keys.getCachedById(this.id)?.reserved ?? 0n;
  }

  get left(): bigint {
    const key = this.#parts.keys.getCachedById(this.id);
    if (key === undefined || key.limit === null) return unlimited;
    // A charge on its way that belongs to another period is no part of the usage of this one.
    return key.limit - key.usageAt(this.#today()) + key.outstanding - key.reserved;
  }

  async readRemaining(sql: Sql): Promise<bigint> {
    const key = await this.#parts.keys.readIn(sql, this.id);
    return key.limit === null ? unlimited : key.limit - key.committedUsageAt(this.#today());
  }

  #today(): number {
    return seoulDayAt(this.#parts.clock.now());
  }
}

/** A request as the lines see it. */
class LimitedRequest implements ReservationOrder {
  readonly #request: Admission;
  readonly #spendLimits: SpendLimits;

  constructor(request: Admission, spendLimits: SpendLimits) {
    this.#request = request;
    this.#spendLimits = spendLimits;
  }

  get accountId(): number {
    return this.#request.account.id;
  }

  get amount(): bigint {
    return this.#request.amount;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  get maxWaitMs(): number {
    return this.#request.maxWaitMs;
  }

  /** As they are now: the key may be given a limit, or lose it, while the request waits. */
  get subjects(): readonly SpendSubject[] {
    return this.#spendLimits.of(this.#request.account, this.#request.key);
  }

  get isKnown(): boolean {
    return this.#spendLimits.isKnown(this.#request.account, this.#request.key);
  }

  refusal(): Error | null {
    return this.#request.refusal();
  }

  reserve(): void {
    this.#request.reserve();
  }
}

/** What admissions are made of. */
export interface AdmissionsParts {
  readonly spendLimits: SpendLimits;
  readonly leases: CreditLeases;
  readonly lines: ReservationQueues;
}

/** Where requests are admitted: at once while there is room for their estimates, otherwise after those in front of them in line. */
export function admissionsOf({ spendLimits, leases, lines }: AdmissionsParts): Admissions {
  return {
    enter: (request) => lines.enter(new LimitedRequest(request, spendLimits)),
    released(account, key) {
      lines.wake(account.id);
      if (leases.isAnyWanted)
        for (const subject of spendLimits.of(account, key)) void leases.released(subject);
    },
  };
}
