import { z } from 'zod';
import { findAccount } from '../../accounts/accounts-sql.ts';
import { accountStandings, standingOfAccount } from '../../accounts/search-sql.ts';
import { isoOf } from '../../time/clock.ts';
import type { DashboardContext } from '../context.ts';
import { pageRoute } from '../page-route.ts';
import { instant, micro } from '../shapes.ts';
import { usagePartsOf, usagePartsShape } from '../usage-parts.ts';

const accountShape = z.strictObject({
  id: z.int(),
  name: z.string(),
  email: z.string().nullable(),
  created_at: instant,
  standing: z
    .enum(accountStandings)
    .describe(
      'Without credit while the balance is zero or less: derived, lifted by a top-up. By an operator: lifted by an operator only',
    ),
  balance_micro: micro.describe('`total_credits_micro - total_usage_micro`; the same as `GET /credits`'),
  total_credits_micro: micro,
  total_usage_micro: micro,
  ...usagePartsShape,
  floor_micro: micro.describe(
    'The lowest balance that requests at the same time may cause; negative or zero',
  ),
  payment_amounts_micro: z.array(micro).describe('The amounts that can be paid by card; empty: none'),
  as_of: instant,
});

/**
 * `GET /dashboard/api/account`: the money of the account, as `GET /credits` states it at the same
 * instant.
 */
export function accountPages({ reads, accounts, clock, debtFloor, payments }: DashboardContext) {
  return [
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/account',
      summary: 'The account, its balance and its status',
      response: accountShape,
      handle: async ({ session: { accountId } }) => {
        const row = await findAccount(reads, accountId);
        const account = await accounts.current(accountId);
        if (row === null || account === null) throw new Error('a session has an account');
        return {
          id: row.accountId,
          name: row.name,
          email: row.email,
          created_at: isoOf(row.createdAtMs),
          standing: standingOfAccount({
            ...row,
            credits: account.totalCredits,
            usage: account.totalUsage,
          }),
          balance_micro: String(account.balance),
          total_credits_micro: String(account.totalCredits),
          total_usage_micro: String(account.totalUsage),
          ...(await usagePartsOf(reads, accountId, account.totalUsage)),
          floor_micro: String(-debtFloor()),
          payment_amounts_micro: (payments?.amounts ?? []).map(String),
          as_of: isoOf(clock.now()),
        };
      },
    }),
  ];
}
