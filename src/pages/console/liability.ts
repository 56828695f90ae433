import { z } from 'zod';
import { entryKinds } from '../../ledger/ledger-sql.ts';
import {
  creditAges,
  type OutstandingGroup,
  readExpiringLots,
  readIssuedMonths,
  readLiability,
} from '../../ledger/liability-sql.ts';
import { isoOf } from '../../time/clock.ts';
import { integerText } from '../../wire/shapes/query.ts';
import type { ConsoleContext } from '../context.ts';
import { pageOfRows } from '../cursor.ts';
import { pageRoute } from '../page-route.ts';
import { instant, micro, month, pageOf } from '../shapes.ts';

const yearMs = 365 * 86_400_000;
const lotsOfPage = 500;
const splitShape = z.strictObject({
  paid_micro: micro.describe('Top-ups, refunds and adjustments'),
  bonus_micro: micro,
});
const expirySteps = [1, 7, 30] as const;

/** What customers have not spent yet, beside the thresholds of the law (A9). */
export function liabilityPages(parts: ConsoleContext) {
  return [summaryPage(parts), expiringPage(parts)];
}

function summaryPage({ reads, clock, liability }: ConsoleContext) {
  return pageRoute({
    method: 'GET',
    path: '/console/api/liability',
    summary: 'Outstanding credit by age and expiry, the credit issued in a year, and the thresholds',
    response: z.strictObject({
      as_of: instant,
      outstanding: splitShape,
      debt_micro: micro.describe('The sum of negative balances, as a positive number'),
      ages: z.array(splitShape.extend({ days: z.int().nullable().describe('Null: the oldest') })),
      expiring: z.array(
        splitShape.extend({ days: z.int().describe('Total within these days'), lots: z.int() }),
      ),
      issued_since: instant,
      issued: splitShape,
      issued_months: z.array(splitShape.extend({ month })),
      thresholds: z.strictObject({ outstanding_micro: micro, issued_micro: micro }),
    }),
    handle: async () => {
      const nowMs = clock.now();
      const sinceMs = nowMs - yearMs;
      const [{ groups, debt }, months] = await Promise.all([
        readLiability(reads, nowMs),
        readIssuedMonths(reads, sinceMs),
      ]);
      return {
        as_of: isoOf(nowMs),
        outstanding: splitOf(groups),
        debt_micro: String(debt),
        ages: creditAges.map((days) => ({ days, ...splitOf(groups.filter(({ age }) => age === days)) })),
        expiring: expirySteps.map((days) => {
          const within = groups.filter(
            ({ expiresWithin }) => expiresWithin !== null && expiresWithin <= days,
          );
          return { days, lots: within.reduce((sum, { lots }) => sum + lots, 0), ...splitOf(within) };
        }),
        issued_since: isoOf(sinceMs),
        issued: splitOf(months),
        issued_months: [...new Set(months.map((one) => one.month))].map((each) => ({
          month: each,
          ...splitOf(months.filter((one) => one.month === each)),
        })),
        thresholds: {
          outstanding_micro: String(liability.outstandingKrw),
          issued_micro: String(liability.issuedKrw),
        },
      };
    },
  });
}

function expiringPage({ reads, clock }: ConsoleContext) {
  return pageRoute({
    method: 'GET',
    path: '/console/api/liability/expiring',
    summary: 'The credit that expires within 30 days, the earliest first',
    query: z.object({ cursor: integerText(0).optional() }),
    response: pageOf(
      z.strictObject({
        account_id: z.int(),
        account_name: z.string(),
        kind: z.enum(entryKinds),
        amount_micro: micro,
        expires_at: instant,
      }),
    ),
    handle: async ({ query: { cursor = 0 } }) => {
      const place = { offset: cursor, limit: lotsOfPage + 1 };
      const lots = await readExpiringLots(reads, clock.now(), place);
      const { rows, next } = pageOfRows(lots, lotsOfPage, () => cursor + lotsOfPage);
      return {
        items: rows.map((lot) => ({
          account_id: lot.accountId,
          account_name: lot.accountName,
          kind: lot.kind,
          amount_micro: String(lot.amount),
          expires_at: isoOf(lot.expiresAtMs),
        })),
        next,
      };
    },
  });
}

/** What a customer paid for, or was given back, apart from what was given free. */
function splitOf(groups: readonly Pick<OutstandingGroup, 'kind' | 'amount'>[]) {
  const sumOf = (isBonus: boolean): string =>
    String(
      groups
        .filter(({ kind }) => (kind === 'bonus') === isBonus)
        .reduce((sum, { amount }) => sum + amount, 0n),
    );
  return { paid_micro: sumOf(false), bonus_micro: sumOf(true) };
}
