import { z } from 'zod';
import { findAccounts } from '../accounts/accounts-sql.ts';
import { refuse } from '../errors/catalogue.ts';
import { messages, requirements } from '../errors/messages.ts';
import { pageMessages } from '../errors/page-messages.ts';
import { PageRefusal } from '../errors/page-refusal.ts';
import { listPaymentOrders, type PaymentOrder, paymentStates } from '../ledger/payment-orders-sql.ts';
import { krwFromNumber, krwToNumber, zeroKrw } from '../money/krw.ts';
import { maxOpenPayments, type PaymentStart } from '../operations/payment-operations.ts';
import type { PaymentOutcome } from '../operations/payment-settlement.ts';
import type { Database } from '../store/database.ts';
import { isoOf, isoOrNull } from '../time/clock.ts';
import { integerText } from '../wire/shapes/query.ts';
import { actorOf } from './console/operators.ts';
import type { ConsoleContext, DashboardContext } from './context.ts';
import { pageOfRows } from './cursor.ts';
import { pageRoute } from './page-route.ts';
import { creditText, instant, micro, pageOf } from './shapes.ts';
import { line } from './topup-rows.ts';

const pageSize = 50;

const paymentShape = z.strictObject({
  order_id: z.string(),
  account_id: z.int(),
  amount_micro: micro,
  canceled_micro: micro.describe('What was returned of it'),
  state: z.enum(paymentStates),
  created_at: instant,
  paid_at: instant.nullable(),
  entry_id: z.int().nullable().describe('The ledger entry of the grant'),
  failure: z.string().nullable().describe("The provider's code for why it failed"),
});
const listQuery = z.object({ cursor: integerText(1).optional() });

/** Payments by card of the session's account (U7). */
export function dashboardPaymentPages({ reads, payments, publicOrigin }: DashboardContext) {
  return [
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/payments',
      summary: 'Payments by card, newest first',
      query: listQuery,
      response: pageOf(paymentShape),
      handle: async ({ session: { accountId }, query }) => {
        const { rows, next } = await readPage(reads, accountId, query.cursor);
        return { items: rows.map(shown), next };
      },
    }),
    pageRoute({
      method: 'POST',
      path: '/dashboard/api/payments',
      summary: 'Order a payment by card, which is paid at the address of the response',
      body: z.object({ amount_micro: creditText }),
      response: z.strictObject({ order_id: z.string(), checkout_url: z.string() }),
      handle: async ({ session: { accountId }, body: { amount_micro: amount } }) => {
        if (payments === null || !payments.amounts.includes(amount))
          throw new PageRefusal('conflict', pageMessages.amountNotOffered);
        const returnUrl = `${publicOrigin}/dashboard/credits`;
        const outcome = await payments.startPayment({ accountId, amount, returnUrl });
        if (outcome.kind !== 'started') throw refusalOf(outcome);
        return { order_id: outcome.order.orderId, checkout_url: outcome.checkoutUrl };
      },
    }),
    pageRoute({
      method: 'POST',
      path: '/dashboard/api/payments/{order}/complete',
      summary: "Collect a payment with what the provider's page returned; it grants the credit once",
      body: z.object({ payment_key: line(200), amount: integerText(1).describe('In won') }),
      response: paymentShape,
      handle: async ({ session: { accountId }, params: { order: orderId }, body }) => {
        if (payments === null) throw refuse('not_found', messages.noSuchPayment());
        const amount = krwFromNumber(body.amount) ?? zeroKrw;
        const returned = { accountId, orderId, paymentKey: body.payment_key, amount };
        return shown(orderOf(await payments.completePayment(returned)));
      },
    }),
  ];
}

const listedShape = paymentShape.extend({ account_name: z.string() });

/** Payments by card of all accounts (A8); an administrator returns one. */
export function consolePaymentPages({ reads, operations }: ConsoleContext) {
  return [
    pageRoute({
      method: 'GET',
      path: '/console/api/payments',
      summary: 'Payments by card of all accounts, newest first',
      query: listQuery.extend({ account: integerText(1).optional() }),
      response: pageOf(listedShape),
      handle: async ({ query: { account = null, cursor } }) => {
        const { rows, next } = await readPage(reads, account, cursor);
        const found = await findAccounts(reads, [...new Set(rows.map(({ accountId }) => accountId))]);
        const names = new Map(found.map(({ accountId, name }) => [accountId, name]));
        const items = rows.map((row) => ({ ...shown(row), account_name: names.get(row.accountId) ?? '' }));
        return { items, next };
      },
    }),
    pageRoute({
      method: 'POST',
      path: '/console/api/payments/{order}/cancel',
      role: 'admin',
      summary: 'Return a payment to the customer through the provider, and deduct it from the credit',
      body: z.object({
        amount_micro: creditText.optional().describe('Whole won; absent: all that is left'),
        reason: line(200),
      }),
      response: paymentShape,
      handle: async ({ session, params: { order: orderId }, body, changeKey: idempotencyKey }) => {
        const { amount_micro: amount = null, reason } = body;
        if (amount !== null && !Number.isInteger(krwToNumber(amount)))
          throw refuse('invalid_request', messages.invalidValue('amount_micro', requirements.documented));
        const wish = { orderId, amount, reason, idempotencyKey };
        return shown(orderOf(await operations.as(actorOf(session)).cancelPayment(wish)));
      },
    }),
  ];
}

async function readPage(reads: Database, accountId: number | null, cursor: number | undefined) {
  const page = { accountId, beforeId: cursor ?? null, limit: pageSize + 1 };
  return pageOfRows(await listPaymentOrders(reads, page), pageSize, ({ id }) => id);
}

function orderOf(outcome: PaymentOutcome): PaymentOrder {
  if (outcome.kind === 'done') return outcome.order;
  throw refusalOf(outcome);
}

function refusalOf(outcome: Exclude<PaymentOutcome | PaymentStart, { kind: 'done' | 'started' }>): Error {
  switch (outcome.kind) {
    case 'not_found':
      return refuse('not_found', messages.noSuchPayment());
    case 'closed':
      return new PageRefusal('conflict', pageMessages.accountClosed);
    case 'too_many':
      return new PageRefusal('conflict', pageMessages.tooManyPayments(maxOpenPayments));
    case 'differs':
      return new PageRefusal('conflict', pageMessages.paymentDiffers);
    case 'refused':
      return new PageRefusal('conflict', pageMessages.paymentRefused(outcome.code));
    case 'away':
      return new PageRefusal('provider_away', pageMessages.paymentAway);
  }
}

function shown(order: PaymentOrder): z.input<typeof paymentShape> {
  return {
    order_id: order.orderId,
    account_id: order.accountId,
    amount_micro: String(order.amountMicro),
    canceled_micro: String(order.canceledMicro),
    state: order.state,
    created_at: isoOf(order.createdAtMs),
    paid_at: isoOrNull(order.paidAtMs),
    entry_id: order.entryId,
    failure: order.failure,
  };
}
