import {
  confirmTopup,
  readTopups,
  rejectTopup,
  type TopupDecider,
  type TopupOutcome,
} from '../ledger/topup-requests.ts';
import { type Krw, krwOfMicro } from '../money/krw.ts';
import { audited } from './audited.ts';
import { type AboveLimit, assertWithin, limited, readRemaining } from './credit-limit.ts';
import { moneyAct } from './credit-operations.ts';
import { exactly } from './exactly.ts';
import type { OperationsContext } from './operations-context.ts';

/** Decides on the top-ups that account owners requested. */
export function topupOperations(context: OperationsContext) {
  const { database, clock, actor } = context;
  const decider = (): TopupDecider => ({ name: actor.name, atMs: clock.now() });
  return {
    /** The newest requests of one account or all, in one state or all. */
    readTopups: (page: Parameters<typeof readTopups>[1]) => readTopups(database, page),

    /** One ledger entry, however often it is confirmed; at most the daily limit of the role. */
    confirmTopup: (request: Confirmation): Promise<TopupOutcome | AboveLimit> =>
      exactly(() => limited(confirmTopup(auditedConfirmation(context), request, decider()))),

    rejectTopup: (request: { readonly id: number; readonly reason: string }): Promise<TopupOutcome> =>
      rejectTopup(auditedRejection(context), request, decider()),
  };
}

interface Confirmation {
  readonly id: number;
  /** The reference of the transfer, which confirms no other request. */
  readonly bankReference: string | null;
}

function auditedConfirmation(context: OperationsContext) {
  return audited<TopupOutcome, Krw | null>(
    context,
    async (outcome, left, sql) => {
      if (outcome.kind !== 'done') return null;
      const { id, accountId, amountMicro, bankReference } = outcome.request;
      assertWithin(amountMicro, left);
      return moneyAct(sql, {
        act: 'topup.confirm',
        accountId,
        subject: `top-up ${id}`,
        amount: krwOfMicro(amountMicro),
        reason: bankReference,
        kind: 'topup',
      });
    },
    (sql) => readRemaining(context, sql),
  );
}

function auditedRejection(context: OperationsContext) {
  return audited<TopupOutcome>(context, (outcome) => {
    if (outcome.kind !== 'done') return null;
    const { id, accountId, amountMicro, reason } = outcome.request;
    return {
      act: 'topup.reject',
      accountId,
      subject: `top-up ${id}`,
      reason,
      before: { state: 'pending' },
      after: { state: 'rejected', amount_micro: amountMicro },
    };
  });
}
