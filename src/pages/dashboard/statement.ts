import { z } from 'zod';
import { findAccount } from '../../accounts/accounts-sql.ts';
import { entryKinds } from '../../ledger/ledger-sql.ts';
import { accountStatement, statementAmounts } from '../../operations/month-end.ts';
import { isoOf } from '../../time/clock.ts';
import { isoDay, monthOf, seoulDayAt } from '../../time/period.ts';
import type { DashboardContext } from '../context.ts';
import { pageRoute } from '../page-route.ts';
import { day, instant, micro, month } from '../shapes.ts';

const party = { name: z.string(), business_number: z.string().nullable() };

/** A month of the account on paper: sums, VAT, balances and lines, of one instant (U8). */
export function statementPages({
  reads,
  clock,
  config,
}: Pick<DashboardContext, 'reads' | 'clock' | 'config'>) {
  return [
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/statement',
      summary: 'The statement of a month in Korean time',
      query: z.object({ month }),
      response: z.strictObject({
        first_day: day,
        last_day: day,
        is_over: z.boolean().describe('False: the month goes on, and so do the figures'),
        as_of: instant,
        company: z.strictObject({ ...party, address: z.string().nullable() }).nullable(),
        account: z.strictObject({ id: z.int(), ...party, created_at: instant }),
        vat: z.strictObject({ percent: z.string(), included: z.boolean() }),
        opening_micro: micro,
        closing_micro: micro,
        amounts: z.record(z.enum(statementAmounts), micro),
        lines: z.array(
          z.strictObject({
            day,
            kind: z.enum(entryKinds),
            requests: z.int().nullable().describe('The number of requests of a day of usage'),
            amount_micro: micro,
            balance_micro: micro.describe('After this line'),
          }),
        ),
      }),
      handle: async ({ session: { accountId }, query }) => {
        const account = await findAccount(reads, accountId);
        if (account === null) throw new Error('a session has an account');
        const { company, vat } = config();
        const { startDay, endDay } = monthOf(query.month);
        const read = await accountStatement(reads, { vat }, { accountId, month: query.month });
        return {
          first_day: isoDay(startDay),
          last_day: isoDay(endDay - 1),
          is_over: seoulDayAt(clock.now()) >= endDay,
          as_of: isoOf(clock.now()),
          company: company && {
            name: company.name,
            business_number: hyphened(company.businessNumber),
            address: company.address,
          },
          account: {
            id: accountId,
            name: account.name,
            business_number: hyphened(account.businessNumber),
            created_at: isoOf(account.createdAtMs),
          },
          vat,
          opening_micro: String(read.opening),
          closing_micro: String(read.closing),
          amounts: Object.fromEntries(
            statementAmounts.map((name) => [name, String(read.amounts[name])] as const),
          ) as Record<(typeof statementAmounts)[number], string>,
          lines: read.lines.map((line) => ({
            day: line.day,
            kind: line.kind,
            requests: line.requests,
            amount_micro: String(line.amountMicro),
            balance_micro: String(line.balanceMicro),
          })),
        };
      },
    }),
  ];
}

function hyphened(number: string | null): string | null {
  return number?.replace(/^(...)-?(..)-?/, '$1-$2-') ?? null;
}
