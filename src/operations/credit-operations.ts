import {
  type Adjustment,
  adjustCredit,
  type CorrectionOutcome,
  type Refund,
  refundGeneration,
} from '../ledger/corrections.ts';
import { type Grant, type GrantOutcome, grantCredit } from '../ledger/credit.ts';
import { findCost } from '../ledger/lots-sql.ts';
import type { Krw } from '../money/krw.ts';
import type { Sql } from '../store/sql.ts';
import { generationIdOf } from '../wire/ids/generation-id.ts';
import { balanceOfAccount } from './audit-sql.ts';
import { audited } from './audited.ts';
import { type AboveLimit, assertWithin, limited, readRemaining } from './credit-limit.ts';
import { exactly } from './exactly.ts';
import type { OperationsContext } from './operations-context.ts';

/** Grants and corrects credit. */
export function creditOperations(context: OperationsContext) {
  const { clock } = context;
  return {
    /** `above_limit`: the role of the actor permits less in a day. */
    grantCredit: (grant: Grant): Promise<GrantOutcome | AboveLimit> =>
      keyed(grant, () => grantWithin(context, grant)),

    refundGeneration: (refund: Refund): Promise<CorrectionOutcome> =>
      keyed(refund, () =>
        refundGeneration(
          audited<CorrectionOutcome>(context, async (outcome, _before, sql) => {
            if (outcome.kind !== 'done') return null;
            const { generation, reason } = refund;
            const accountId = (await findCost(sql, generation))?.accountId ?? null;
            const subject = generationIdOf(generation);
            const kind = refund.toKeyLimit === true ? 'to_key_limit' : outcome.kind;
            return moneyAct(sql, { act: 'credit.refund', accountId, subject, ...outcome, reason, kind });
          }),
          refund,
          clock.now(),
        ),
      ),

    adjustCredit: (adjustment: Adjustment): Promise<CorrectionOutcome> =>
      keyed(adjustment, () =>
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
      ),
  };
}

/** Without an idempotency key an act of an unknown outcome must not be repeated. */
function keyed<T>(act: { readonly idempotencyKey: string | null }, make: () => Promise<T>): Promise<T> {
  return act.idempotencyKey === null ? make() : exactly(make);
}

function grantWithin(context: OperationsContext, grant: Grant): Promise<GrantOutcome | AboveLimit> {
  const { accountId, amount, kind, memo } = grant;
  const recorded = audited<GrantOutcome, Krw | null>(
    context,
    async (outcome, left, sql) => {
      if (outcome.kind !== 'granted') return null;
      assertWithin(amount, left);
      const subject = `entry ${outcome.entryId}`;
      return moneyAct(sql, { act: 'credit.grant', accountId, subject, amount, reason: memo, kind });
    },
    (sql) => readRemaining(context, sql),
  );
  return limited(grantCredit(recorded, grant, context.clock.now()));
}

/**
 * An act that moved money, with the balance before and after it. The transaction has locked the
 * balance.
 */
export async function moneyAct(
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
