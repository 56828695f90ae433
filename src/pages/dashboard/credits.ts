import { z } from 'zod';
import { entryKinds } from '../../ledger/ledger-sql.ts';
import { listDayBalances } from '../../ledger/lines-sql.ts';
import { spend } from '../../ledger/lots.ts';
import { type GrantedLot, listOpenLots } from '../../ledger/lots-sql.ts';
import { isoOf, isoOrNull } from '../../time/clock.ts';
import { isoDay, seoulDayAt } from '../../time/period.ts';
import type { DashboardContext } from '../context.ts';
import { pageRoute } from '../page-route.ts';
import { day, instant, micro } from '../shapes.ts';
import { spanOf, usageQueryShape } from '../usage-query.ts';

/** More than an account has: a lot is a top-up, a bonus, a refund or an adjustment. */
const maxLots = 5_000;
/** A day each, and the one before. */
const maxDays = 801;

const lotShape = z.strictObject({
  id: z.int(),
  kind: z.enum(entryKinds),
  amount_micro: micro.describe('The amount at the grant'),
  remaining_micro: micro.describe('The remaining amount'),
  granted_at: instant,
  expires_at: instant.nullable().describe('Null: never'),
});

type CreditReads = Pick<DashboardContext, 'reads' | 'clock' | 'balanceOf'>;

/** The lots of credit and the balance over time (U7). */
export function creditPages(parts: CreditReads) {
  return [lotsRow(parts), balanceRow(parts)];
}

function lotsRow({ reads, balanceOf }: CreditReads) {
  return pageRoute({
    method: 'GET',
    path: '/dashboard/api/lots',
    summary: 'The remaining credit by lot, in the order in which it is spent',
    response: z.strictObject({
      items: z.array(lotShape),
      paid_micro: micro.describe('The rest of all lots except bonus credit'),
      bonus_micro: micro.describe('The rest of the bonus credit'),
      debt_micro: micro.describe('Spent beyond all lots; zero or negative'),
      balance_micro: micro.describe('The sum of these three; the same as `GET /credits`'),
    }),
    handle: async ({ session: { accountId } }) => {
      const stored = await listOpenLots(reads, accountId, maxLots);
      const balance = await balanceOf(accountId);
      const { lots, debt } = lotsNow(stored, balance);
      const left = (isBonus: boolean): bigint =>
        sumOf(lots.filter(({ kind }) => (kind === 'bonus') === isBonus));
      return {
        items: lots.map(lotBody),
        paid_micro: String(left(false)),
        bonus_micro: String(left(true)),
        debt_micro: String(debt),
        balance_micro: String(balance),
      };
    },
  });
}

/**
 * The lots as they are now. The stored remainders are charged only when credit is granted or
 * expires; what was spent since is the difference to the balance.
 */
function lotsNow(
  stored: readonly GrantedLot[],
  balance: bigint,
): { readonly lots: readonly GrantedLot[]; readonly debt: bigint } {
  const unspent = sumOf(stored) - balance;
  const { lots: charged, taken } = spend(stored, unspent > 0n ? unspent : 0n);
  const remainders = new Map(charged.map(({ id, remaining }) => [id, remaining]));
  const lots = stored
    .map((lot) => ({ ...lot, remaining: remainders.get(lot.id) ?? lot.remaining }))
    .filter(({ remaining }) => remaining > 0n);
  return { lots, debt: taken - unspent };
}

function sumOf(lots: readonly GrantedLot[]): bigint {
  return lots.reduce((sum, { remaining }) => sum + remaining, 0n);
}

function lotBody(lot: GrantedLot): z.input<typeof lotShape> {
  return {
    id: lot.id,
    kind: lot.kind,
    amount_micro: String(lot.amount),
    remaining_micro: String(lot.remaining),
    granted_at: isoOf(lot.grantedAtMs),
    expires_at: isoOrNull(lot.expiresAtMs),
  };
}

function balanceRow({ reads, balanceOf, clock }: CreditReads) {
  const { range, from, to } = usageQueryShape;
  return pageRoute({
    method: 'GET',
    path: '/dashboard/api/balance',
    summary: 'The balance at the end of each day of a span on which it changed',
    query: z.object({ range, from, to }),
    response: z.strictObject({
      from: instant,
      to: instant,
      opening_micro: micro.describe('The balance before the first day'),
      days: z.array(
        z.strictObject({
          day,
          balance_micro: micro.describe('The balance at the end of the day'),
          granted_micro: micro.describe('Top-ups and bonus credit of the day'),
        }),
      ),
      balance_micro: micro.describe('The current balance; the same as `GET /credits`'),
    }),
    handle: async ({ session: { accountId }, query }) => {
      const span = spanOf(query, clock.now());
      const fromDay = seoulDayAt(span.fromMs);
      const order = { accountId, fromDay, toDay: seoulDayAt(span.toMs - 1) + 1 };
      const found = await listDayBalances(reads, order, maxDays);
      const firstDay = isoDay(fromDay);
      const opening = found.findLast((one) => one.day < firstDay);
      return {
        from: isoOf(span.fromMs),
        to: isoOf(span.toMs),
        opening_micro: String(opening?.balanceMicro ?? 0n),
        days: found
          .filter((one) => one !== opening)
          .map((one) => ({
            day: one.day,
            balance_micro: String(one.balanceMicro),
            granted_micro: String(one.grantedMicro),
          })),
        balance_micro: String(await balanceOf(accountId)),
      };
    },
  });
}
