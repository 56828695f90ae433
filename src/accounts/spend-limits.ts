import type { Krw } from '../money/krw.ts';
import type { SpendSubject } from '../nodes/reservation-request.ts';
import type { Sql } from '../store/sql.ts';
import type { Clock } from '../time/clock.ts';
import { seoulDayAt } from '../time/period.ts';
import type { Account } from './account.ts';
import type { AccountCache } from './account-cache.ts';
import { assertFunded, refusalOfQueued, type SpendStanding } from './funding.ts';
import type { Key } from './key.ts';
import type { KeyCache } from './key-cache.ts';

/** What spend limits are read from. */
export interface SpendLimitsParts {
  readonly accounts: AccountCache;
  readonly keys: KeyCache;
  readonly clock: Clock;
  /** The current one, positive. */
  readonly debtFloor: () => Krw;
}

/** More than any limit leaves: only the account bounds a key without a limit. */
const unlimited = 10n ** 24n;

/**
 * What the requests of each account and key may spend, and which of them settled figures refuse.
 */
export class SpendLimits {
  readonly #parts: SpendLimitsParts;

  constructor(parts: SpendLimitsParts) {
    this.#parts = parts;
  }

  /** What a request of this key spends, in the order of its refusals. */
  of(account: Account, key: Key): readonly SpendSubject[] {
    const ofAccount = this.account(account.id);
    return key.limit === null ? [ofAccount] : [ofAccount, this.#key(key)];
  }

  /** Refuses a request of this key with 402 by settled figures. */
  assertFunded(account: Account, key: Key): void {
    assertFunded(this.#standing(account, key));
  }

  /** The refusal of a request of this key that waits in the queue; null when it may be admitted. */
  refusalOfQueued(account: Account, key: Key): Error | null {
    return refusalOfQueued(this.#standing(account, key));
  }

  #standing(account: Account, key: Key): SpendStanding {
    const { clock, debtFloor } = this.#parts;
    return { account, key, debtFloor: debtFloor(), nowMs: clock.now() };
  }

  /** Whether memory has all spend of this account and key, while no other node spends. */
  isKnown(account: Account, key: Key): boolean {
    return this.#parts.accounts.isKnown(account.id) && this.#parts.keys.isKnown(key.row.id);
  }

  /** Everything that this process may be spending. */
  *all(): Iterable<SpendSubject> {
    for (const { id } of this.#parts.accounts.all()) yield this.account(id);
    for (const key of this.#parts.keys.all()) if (key.limit !== null) yield this.#key(key);
  }

  /** The credit of an account. */
  account(id: number): SpendSubject {
    return new AccountCredit(id, id, this.#parts);
  }

  /** The remainder below the limit of a key; undefined when the key is not cached. */
  key(id: number): SpendSubject | undefined {
    const key = this.#parts.keys.getCachedById(id);
    return key === undefined ? undefined : this.#key(key);
  }

  #key({ row }: Key): SpendSubject {
    return new KeyAllowance(row.id, row.accountId, this.#parts);
  }
}

/**
 * An account or a key, identified by its number: a lease outlives the requests it was acquired for,
 * and an object that was evicted has nothing in flight and may be another object afterwards.
 */
abstract class CachedSubject implements SpendSubject {
  readonly id: number;
  readonly accountId: number;
  protected readonly parts: SpendLimitsParts;

  constructor(id: number, accountId: number, parts: SpendLimitsParts) {
    this.id = id;
    this.accountId = accountId;
    this.parts = parts;
  }

  abstract readonly kind: SpendSubject['kind'];
  abstract get left(): bigint;
  abstract readRemaining(sql: Sql): Promise<bigint>;
  protected abstract get cached(): Account | Key | undefined;

  get outstanding(): bigint {
    return this.cached?.outstanding ?? 0n;
  }

  get reserved(): bigint {
    return this.cached?.reserved ?? 0n;
  }
}

/** Credit down to the floor. */
class AccountCredit extends CachedSubject {
  readonly kind = 'account';

  protected get cached(): Account | undefined {
    return this.parts.accounts.getCached(this.id);
  }

  get left(): bigint {
    return (this.cached?.committedBalance ?? 0n) + this.parts.debtFloor();
  }

  async readRemaining(sql: Sql): Promise<bigint> {
    const { accounts, debtFloor } = this.parts;
    return (await accounts.readIn(sql, this.id)).committedBalance + debtFloor();
  }
}

/**
 * What is left below a key's limit in its period; usage at the limit is refused (spec:money/6.3).
 */
class KeyAllowance extends CachedSubject {
  readonly kind = 'key';

  protected get cached(): Key | undefined {
    return this.parts.keys.getCachedById(this.id);
  }

  get left(): bigint {
    const key = this.cached;
    if (key === undefined || key.limit === null) return unlimited;
    // A pending charge of another period is not part of the usage of this one.
    return key.limit - key.usageAt(this.#today()) + key.outstanding - key.reserved;
  }

  async readRemaining(sql: Sql): Promise<bigint> {
    const key = await this.parts.keys.readIn(sql, this);
    return key.limit === null ? unlimited : key.limit - key.committedUsageAt(this.#today());
  }

  #today(): number {
    return seoulDayAt(this.parts.clock.now());
  }
}
