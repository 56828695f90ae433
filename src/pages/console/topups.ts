import { z } from 'zod';
import { findAccounts } from '../../accounts/accounts-sql.ts';
import { pageMessages } from '../../errors/page-messages.ts';
import { PageRefusal } from '../../errors/page-refusal.ts';
import { countPending, type TopupRequest } from '../../ledger/topup-requests-sql.ts';
import { krwToText } from '../../money/krw.ts';
import type { AboveLimit } from '../../operations/credit-limit.ts';
import type { Database } from '../../store/database.ts';
import { integerText } from '../../wire/shapes/query.ts';
import type { ConsoleContext } from '../context.ts';
import { pageRoute } from '../page-route.ts';
import { micro, pageOf, pathId } from '../shapes.ts';
import { line, readTopupPage, shownTopup, topupBodyOf, topupListQuery, topupShape } from '../topup-rows.ts';
import { actorOf } from './operators.ts';

const listedShape = topupShape.extend({
  account_name: z.string(),
  balance_micro: micro.describe('The current balance of the account'),
});

/** Top-ups of all accounts (A8): confirm with one ledger entry, or reject with a reason. */
export function consoleTopupPages({ reads, operations }: ConsoleContext) {
  return [
    pageRoute({
      method: 'GET',
      path: '/console/api/topups',
      summary: 'Top-up requests of all accounts, newest first',
      query: topupListQuery.extend({ account: integerText(1).optional() }),
      response: pageOf(listedShape),
      handle: async ({ query: { account = null, ...query } }) => {
        const { rows, next } = await readTopupPage(reads, account, query);
        return { items: await listed(reads, rows), next };
      },
    }),
    pageRoute({
      method: 'GET',
      path: '/console/api/topups/pending',
      summary: 'How many top-up requests wait for a decision',
      response: z.strictObject({ count: z.int() }),
      handle: async () => ({ count: await countPending(reads, null) }),
    }),
    pageRoute({
      method: 'POST',
      path: '/console/api/topups/{id}/confirm',
      role: 'support',
      summary: 'Confirm a top-up request; repeated confirmations make one ledger entry',
      body: z.object({ bank_reference: line(200).optional() }),
      response: topupShape,
      handle: async ({ session, params, body }) => {
        const outcome = await operations
          .as(actorOf(session))
          .confirmTopup({ id: pathId(params.id), bankReference: body.bank_reference ?? null });
        if (outcome.kind === 'above_limit') throw aboveLimit(outcome);
        return topupBodyOf(outcome);
      },
    }),
    pageRoute({
      method: 'POST',
      path: '/console/api/topups/{id}/reject',
      role: 'support',
      summary: 'Reject a top-up request with a reason, which the owners see',
      body: z.object({ reason: line(500) }),
      response: topupShape,
      handle: async ({ session, params, body }) =>
        topupBodyOf(
          await operations.as(actorOf(session)).rejectTopup({ id: pathId(params.id), reason: body.reason }),
        ),
    }),
  ];
}

/** The refusal of a grant above the limit of the role. */
export function aboveLimit({ left }: AboveLimit): PageRefusal {
  return new PageRefusal('above_limit', pageMessages.aboveLimit(krwToText(left)), {
    extras: { left_micro: String(left) },
  });
}

async function listed(
  reads: Database,
  requests: readonly TopupRequest[],
): Promise<z.input<typeof listedShape>[]> {
  const ids = [...new Set(requests.map(({ accountId }) => accountId))];
  const accounts = new Map((await findAccounts(reads, ids)).map((row) => [row.accountId, row]));
  return requests.map((request) => {
    const account = accounts.get(request.accountId);
    return {
      ...shownTopup(request),
      account_name: account?.name ?? '',
      balance_micro: String(account === undefined ? 0n : account.credits - account.usage),
    };
  });
}
