import { type Krw, krwOfMicro } from '../money/krw.ts';
import type { Sql } from '../store/sql.ts';
import { periodAt } from '../time/period.ts';
import { grantedSince } from './audit-sql.ts';
import type { OperationsContext } from './operations-context.ts';

/**
 * A grant above what the role of the operator permits in a day; `left` is what it may still grant
 * today.
 */
export interface AboveLimit {
  readonly kind: 'above_limit';
  readonly left: Krw;
}

/** Thrown inside the transaction, so that nothing of it remains. */
class GrantAboveLimit extends Error {
  override readonly name = 'GrantAboveLimit';
  readonly left: Krw;

  constructor(left: Krw) {
    super('the grant is above the limit of the operator');
    this.left = left;
  }
}

/**
 * What the operator may still grant today; null: without a limit. It comes first in a transaction
 * that grants: it locks the operator, so that two grants at once do not both fit.
 */
export async function readRemaining(
  { actor, clock, supportCreditLimit }: OperationsContext,
  sql: Sql,
): Promise<Krw | null> {
  if (actor.kind !== 'operator' || actor.role !== 'support') return null;
  const granted = await grantedSince(sql, actor.operatorId, periodAt('daily', clock.now()).startMs);
  return krwOfMicro(supportCreditLimit > granted ? supportCreditLimit - granted : 0n);
}

/** Ends the transaction when the amount is above what is left. */
export function assertWithin(amount: bigint, left: Krw | null): void {
  if (left !== null && amount > left) throw new GrantAboveLimit(left);
}

/** The outcome of a grant; that it was above the limit is one too. */
export async function limited<T>(grant: Promise<T>): Promise<T | AboveLimit> {
  try {
    return await grant;
  } catch (error) {
    if (error instanceof GrantAboveLimit) return { kind: 'above_limit', left: error.left };
    throw error;
  }
}
