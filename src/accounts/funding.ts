import { Refusal } from '../errors/catalogue.ts';
import type { Krw } from '../money/krw.ts';
import { seoulDayAt } from '../time/period.ts';
import type { Account } from './account.ts';
import type { Key } from './key.ts';
import { assertMayCall, limitRule, noCredit, refuseFirst } from './rules.ts';

const limitRules = [limitRule];

/** The account and key that pay for a request, and what their figures are compared with. */
export interface SpendStanding {
  readonly account: Account;
  readonly key: Key;
  /** Positive. */
  readonly debtFloor: Krw;
  readonly nowMs: number;
}

/**
 * Refuses a request with 402 by settled figures alone: `insufficient_credits` when the balance is
 * strictly below the floor (spec:money/6.2), `key_limit_exceeded` when the key's spend in its
 * period is at or above its limit (spec:money/6.3). What is in flight never causes a refusal
 * (spec:money/6.4).
 */
export function assertFunded({ account, key, debtFloor, nowMs }: SpendStanding): void {
  if (account.balance < -debtFloor) throw noCredit(account.balance);
  if (key.limit === null) return;
  refuseFirst(limitRules, { row: key.row, spent: key.usageAt(seoulDayAt(nowMs)) });
}

/**
 * The refusal of a request that waits in the queue; null when it may be admitted. It is refused for
 * whatever would refuse a new request now, an account without credit included.
 */
export function refusalOfQueued(standing: SpendStanding): Error | null {
  const { account, key, nowMs } = standing;
  try {
    assertMayCall(key, 'inference', nowMs, () => account.balance);
    assertFunded(standing);
    return null;
  } catch (refusal) {
    if (refusal instanceof Refusal) return refusal;
    throw refusal;
  }
}
