import type { Account } from './accounts/account.ts';
import type { AccountBook } from './accounts/account-book.ts';
import type { InferenceParts } from './inference/inference.ts';
import type { Key } from './keys/key.ts';
import type { KeyRing } from './keys/key-ring.ts';
import { type Krw, zeroKrw } from './money/krw.ts';
import type { Spender, SpendShares } from './nodes/spend-shares.ts';
import type { Clock } from './time/clock.ts';
import { seoulDayAt } from './time/period.ts';

/** What the accounts and keys of this process are to the other nodes. */
export interface FundsParts {
  readonly accounts: AccountBook;
  readonly keys: KeyRing;
  readonly clock: Clock;
  /** Positive; of the moment. */
  readonly debtFloor: () => Krw;
}

/** More than any limit leaves: a key without a limit is bounded by its account alone. */
const unlimited = 10n ** 24n;

/** Ties the rooms that know accounts and keys to the one that shares them out. */
export class Funds {
  readonly #parts: FundsParts;

  constructor(parts: FundsParts) {
    this.#parts = parts;
  }

  /** What a request of this key spends of, in the order of its refusals. */
  of(account: Account, key: Key): readonly Spender[] {
    const ofAccount = this.account(account.id);
    return key.limit === null ? [ofAccount] : [ofAccount, this.key(key.row.id)];
  }

  /** Whether memory has all that was spent of what this key spends of, while nobody else spends. */
  isKnown(account: Account, key: Key): boolean {
    return this.#parts.accounts.isKnown(account.id) && this.#parts.keys.isKnown(key.row.id);
  }

  /** Everything that this process may be spending of. */
  *all(): Iterable<Spender> {
    for (const { id } of this.#parts.accounts.all()) yield this.account(id);
    for (const key of this.#parts.keys.all()) if (key.limit !== null) yield this.key(key.row.id);
  }

  /**
   * Credit down to the floor; a balance exactly there is still admitted (decisions.md A-02). A share outlives the requests it was
   * asked for, so it goes by the number: an account that is forgotten has nothing in flight, and may be another object afterwards.
   */
  account(id: number): Spender {
    const { accounts, debtFloor } = this.#parts;
    return {
      kind: 'account',
      id,
      get exposure() {
        return accounts.peek(id)?.exposure ?? zeroKrw;
      },
      readLeft: async (sql) => (await accounts.readIn(sql, id)).committedBalance + debtFloor(),
      admits: (free) => free >= 0n,
    };
  }

  /** What is left below a key's limit in its period; usage at the limit is refused (service.md §8). */
  key(id: number): Spender {
    const { keys, clock } = this.#parts;
    return {
      kind: 'key',
      id,
      get exposure() {
        return keys.peekId(id)?.exposure ?? zeroKrw;
      },
      readLeft: async (sql) => {
        const key = await keys.readIn(sql, id);
        return key.limit === null ? unlimited : key.limit - key.committedUsageAt(seoulDayAt(clock.now()));
      },
      admits: (free) => free > 0n,
    };
  }
}

/**
 * How a request is counted: at once while one node serves and knows what the others had spent before, otherwise when its node's
 * shares cover it.
 */
export function placeWith(shares: SpendShares, funds: Funds): InferenceParts['place'] {
  return ({ account, key, amount }, count) => {
    if (!shares.isSole || !funds.isKnown(account, key)) {
      const demand = {
        // The key may be given a limit while the request waits.
        get spenders() {
          return funds.of(account, key);
        },
        amount,
        place: count,
      };
      return shares.cover(demand);
    }
    count();
    return undefined;
  };
}
