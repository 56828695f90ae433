import { generationIdOf } from '../ids/generation-id.ts';
import {
  type Adjustment,
  adjustCredit,
  type CorrectionOutcome,
  type Refund,
  refundGeneration,
} from '../ledger/corrections.ts';
import { type Grant, type GrantOutcome, grantCredit } from '../ledger/credit.ts';
import { findCost } from '../ledger/lots-sql.ts';
import { type Krw, krwOfMicro } from '../money/krw.ts';
import type { Sql } from '../store/sql.ts';
import { periodAt } from '../time/period.ts';
import { balanceOfAccount, grantedSince } from './audit-sql.ts';
import { audited } from './audited.ts';
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

/** Grants and corrects credit. */
export function creditOperations(context: OperationsContext) {
  const { clock } = context;
  return {
    /** `above_limit`: the role of the actor permits less in a day. */
    grantCredit: (grant: Grant): Promise<GrantOutcome | AboveLimit> => grantWithin(context, grant),

    refundGeneration: (refund: Refund): Promise<CorrectionOutcome> =>
      refundGeneration(
        audited<CorrectionOutcome>(context, async (outcome, _before, sql) => {
          if (outcome.kind !== 'done') return null;
          const accountId = (await findCost(sql, refund.generation))?.accountId ?? null;
          const subject = generationIdOf(refund.generation);
          return moneyAct(sql, {
            act: 'credit.refund',
            accountId,
            subject,
            ...outcome,
            reason: refund.reason,
          });
        }),
        refund,
        clock.now(),
      ),

    adjustCredit: (adjustment: Adjustment): Promise<CorrectionOutcome> =>
      adjustCredit(
        audited<CorrectionOutcome>(context, async (outcome, _before, sql) => {
          if (outcome.kind !== 'done') return null;
          const { accountId, reason } = adjustment;
          const subject = `entry ${outcome.entryId}`;
          return moneyAct(sql, { act: 'credit.adjust', accountId, subject, ...outcome, reason });
        }),
        adjustment,
        clock.now(),
      ),
  };
}

async function grantWithin(context: OperationsContext, grant: Grant): Promise<GrantOutcome | AboveLimit> {
  const { actor, clock, supportCreditLimit } = context;
  const nowMs = clock.now();
  const assertWithin = async (sql: Sql): Promise<undefined> => {
    if (actor.kind !== 'operator' || actor.role !== 'support') return;
    const granted = await grantedSince(sql, actor.operatorId, periodAt('daily', nowMs).startMs);
    const left = krwOfMicro(supportCreditLimit > granted ? supportCreditLimit - granted : 0n);
    if (grant.amount > left) throw new GrantAboveLimit(left);
  };
  const recorded = audited<GrantOutcome>(
    context,
    async (outcome, _before, sql) => {
      if (outcome.kind !== 'granted') return null;
      const { accountId, amount, kind, memo } = grant;
      const subject = `entry ${outcome.entryId}`;
      return moneyAct(sql, { act: 'credit.grant', accountId, subject, amount, reason: memo, kind });
    },
    assertWithin,
  );
  try {
    return await grantCredit(recorded, grant, nowMs);
  } catch (error) {
    if (error instanceof GrantAboveLimit) return { kind: 'above_limit', left: error.left };
    throw error;
  }
}

/**
 * An act that moved money, with the balance before and after it. The transaction has locked the
 * balance.
 */
async function moneyAct(
  sql: Sql,
  act: {
    readonly act: string;
    readonly accountId: number | null;
    readonly subject: string;
    readonly amount: Krw;
    readonly reason: string | null;
    readonly kind: string;
  },
) {
  const { accountId, amount, kind, ...rest } = act;
  if (accountId === null) return { ...rest, after: { amount_micro: amount } };
  const balance = await balanceOfAccount(sql, accountId);
  return {
    ...rest,
    accountId,
    before: { balance_micro: balance - amount },
    after: { balance_micro: balance, amount_micro: amount, kind },
  };
}
