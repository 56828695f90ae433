import type { Account } from './accounts/account.ts';
import type { AccountBook } from './accounts/account-book.ts';
import type { Admissions } from './inference/inference.ts';
import type { Key } from './keys/key.ts';
import type { KeyRing } from './keys/key-ring.ts';
import { type Krw, zeroKrw } from './money/krw.ts';
import type { SpendLines } from './nodes/spend-lines.ts';
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
   * Credit down to the floor. A share outlives the requests it was asked for, so it goes by the number: an account that is forgotten has nothing in flight, and may be another object afterwards.
   */
  account(id: number): Spender {
    const { accounts, debtFloor } = this.#parts;
    return {
      kind: 'account',
      id,
      get exposure() {
        return accounts.peek(id)?.exposure ?? zeroKrw;
      },
      get held() {
        return accounts.peek(id)?.held ?? zeroKrw;
      },
      get left() {
        return (accounts.peek(id)?.committedBalance ?? 0n) + debtFloor();
      },
      readLeft: async (sql) => (await accounts.readIn(sql, id)).committedBalance + debtFloor(),
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
      get held() {
        return keys.peekId(id)?.held ?? zeroKrw;
      },
      get left() {
        const key = keys.peekId(id);
        if (key === undefined || key.limit === null) return unlimited;
        // A charge on its way that belongs to another period is no part of the usage of this one.
        return key.limit - key.usageAt(seoulDayAt(clock.now())) + key.exposure - key.held;
      },
      readLeft: async (sql) => {
        const key = await keys.readIn(sql, id);
        return key.limit === null ? unlimited : key.limit - key.committedUsageAt(seoulDayAt(clock.now()));
      },
    };
  }
}

/** What admissions are made of. */
export interface AdmissionsParts {
  readonly funds: Funds;
  readonly shares: SpendShares;
  readonly lines: SpendLines;
}

/** Where requests are admitted: at once while there is room for their estimates, otherwise after those in front of them in line. */
export function admissionsOf({ funds, shares, lines }: AdmissionsParts): Admissions {
  return {
    enter({ account, key, ...request }) {
      return lines.enter({
        ...request,
        accountId: account.id,
        // The key may be given a limit, or lose it, while the request waits.
        get spenders() {
          return funds.of(account, key);
        },
        get isKnown() {
          return funds.isKnown(account, key);
        },
      });
    },
    released(account, key) {
      lines.wake(account.id);
      if (shares.isAnyWanted) for (const spender of funds.of(account, key)) void shares.released(spender);
    },
  };
}
