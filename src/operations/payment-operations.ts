import { randomUUID } from 'node:crypto';
import { isClosed } from '../accounts/accounts-sql.ts';
import type { Config } from '../config/config.ts';
import type { Actor } from '../identity/audit.ts';
import {
  countOpenPayments,
  findPaymentOrder,
  insertPaymentOrder,
  type PaymentOrder,
  takeDuePayments,
} from '../ledger/payment-orders-sql.ts';
import { lockRequestsOf } from '../ledger/topup-requests-sql.ts';
import type { Krw } from '../money/krw.ts';
import type { Clock } from '../time/clock.ts';
import { type AuditContext, recordAfter } from './audited.ts';
import { type PaymentProvider, PaymentProviderAway, PaymentRefused } from './payment-provider.ts';
import {
  applyPayment,
  changeOrder,
  failOrder,
  type PaymentContext,
  type PaymentFailure,
  type PaymentOutcome,
} from './payment-settlement.ts';
import { TossPayments } from './toss-payments.ts';

/** Who acts where the owner pays, or the provider reports. */
const paymentActor: Actor = { kind: 'cli', name: 'payments' };

/** The maximum of unpaid orders of an account. */
export const maxOpenPayments = 20;
/** The provider ends an unpaid payment after 30 minutes. */
const openForMs = 3_600_000;
const dueAtOnce = 50;
/** After so many orders without a response the rest waits for the next look. */
const maxAway = 3;

/** The result of an order. */
export type PaymentStart =
  | Exclude<PaymentOutcome, { readonly kind: 'done' }>
  | { readonly kind: 'started'; readonly order: PaymentOrder; readonly checkoutUrl: string }
  | { readonly kind: 'too_many' };

/**
 * Payments by card. The grant and the deduction of each cancellation are made once, in any order and
 * however often they are reported (spec:money/8).
 */
export function paymentOperations(context: PaymentContext) {
  const { database, clock } = context;
  return {
    /** Orders a payment, which is paid at `checkoutUrl`; the browser returns to `returnUrl`. */
    startPayment: (order: PaymentWish): Promise<PaymentStart> => start(context, order),

    /** The browser returned: collects the money of an order of this account, and grants it. */
    completePayment: (returned: ReturnedPayment): Promise<PaymentOutcome> => complete(context, returned),

    /** Reads the payment of an order at the provider, and grants or deducts what is missing here. */
    settlePayment: (orderId: string): Promise<PaymentOutcome> =>
      withProvider(context, (provider) => settle(context, provider, orderId)),

    /** Returns a payment to the customer, in whole or in part, and deducts it. */
    cancelPayment: (wish: PaymentCancellation): Promise<PaymentOutcome> => cancel(context, wish),

    /**
     * Settles the orders that nobody looked at lately: what a crash, a lost webhook or a closed
     * browser left. Throws when one cannot be settled, after the others were.
     */
    async settleDue(): Promise<void> {
      if (context.payments == null) return;
      const failed: string[] = [];
      let away = 0;
      for (const order of await takeDuePayments(database, clock.now(), dueAtOnce)) {
        const fault = await settleOrFail(context, order).catch((error: unknown) => String(error));
        if (fault !== null) failed.push(`${order.orderId}: ${fault}`);
        if (fault === 'away') away += 1;
        if (away === maxAway) break;
      }
      if (failed.length > 0) throw new Error(`payments that cannot be settled: ${failed.join(', ')}`);
    },
  };
}

/** Payments by card as the dashboard and the webhook use them. */
export type Payments = ReturnType<typeof paymentOperations> &
  Pick<PaymentProvider, 'amounts' | 'orderOfWebhook'>;

/** Those of the configuration; null: there are none. */
export function openPayments(config: Config, parts: Omit<AuditContext, 'actor'>): Payments | null {
  const payments = openPaymentProvider(config, parts.clock);
  if (payments === null) return null;
  return {
    ...paymentOperations({ ...parts, actor: paymentActor, payments }),
    amounts: payments.amounts,
    orderOfWebhook: (body) => payments.orderOfWebhook(body),
  };
}

/** What an account owner wants to pay. */
interface PaymentWish {
  readonly accountId: number;
  readonly amount: Krw;
  readonly returnUrl: string;
}

/** What the provider's page returned to the browser, which may have changed it. */
interface ReturnedPayment {
  readonly accountId: number;
  readonly orderId: string;
  readonly paymentKey: string;
  readonly amount: Krw;
}

interface PaymentCancellation {
  readonly orderId: string;
  /** Null: all that is left. */
  readonly amount: Krw | null;
  readonly reason: string;
  readonly idempotencyKey: string;
}

/** The configured provider; null: there is none. */
export function openPaymentProvider({ payments }: Config, clock: Clock): PaymentProvider | null {
  return payments === null ? null : new TossPayments(payments, clock);
}

async function withProvider<T>(
  { payments }: PaymentContext,
  act: (provider: PaymentProvider) => Promise<T>,
): Promise<T | PaymentFailure> {
  if (payments == null) return { kind: 'refused', code: 'NOT_CONFIGURED' };
  try {
    return await act(payments);
  } catch (error) {
    if (error instanceof PaymentRefused) return { kind: 'refused', code: error.code };
    if (error instanceof PaymentProviderAway) return { kind: 'away' };
    throw error;
  }
}

async function start(
  context: PaymentContext,
  { accountId, amount, returnUrl }: PaymentWish,
): Promise<PaymentStart> {
  const { database, clock } = context;
  const orderId = `pay_${randomUUID().replaceAll('-', '')}`;
  const made = await database.transaction(async (sql) => {
    // The lock bounds the number of orders, however many arrive at once.
    await lockRequestsOf(sql, accountId);
    if (await isClosed(sql, accountId)) return 'closed';
    if ((await countOpenPayments(sql, accountId)) >= maxOpenPayments) return 'too_many';
    const order = { accountId, orderId, amountMicro: amount, createdAtMs: clock.now() };
    await insertPaymentOrder(sql, order);
    return 'made';
  });
  if (made !== 'made') return { kind: made };
  const created = await withProvider(context, async (provider) => ({
    kind: 'created' as const,
    ...(await provider.create({ orderId, amount, returnUrl })),
  }));
  if (created.kind !== 'created') {
    // Without an address the order cannot be paid.
    await failOrder(context, orderId, created.kind === 'refused' ? created.code : 'NOT_CREATED');
    return created;
  }
  const order = await changeOrder(context, orderId, (one) => ({ ...one, paymentKey: created.id }));
  return order === null
    ? { kind: 'not_found' }
    : { kind: 'started', order, checkoutUrl: created.checkoutUrl };
}

async function complete(context: PaymentContext, returned: ReturnedPayment): Promise<PaymentOutcome> {
  const { database } = context;
  const order = await findPaymentOrder(database, returned.orderId);
  if (order === null || order.accountId !== returned.accountId) return { kind: 'not_found' };
  if (order.amountMicro !== returned.amount || order.paymentKey !== returned.paymentKey)
    return { kind: 'differs' };
  if (order.state !== 'open') return { kind: 'done', order };
  // Nothing was collected yet.
  if (await isClosed(database, order.accountId)) return { kind: 'closed' };
  const { orderId, paymentKey: id } = returned;
  return withProvider(context, async (provider) => {
    try {
      return await applyPayment(context, await provider.confirm({ id, orderId, amount: returned.amount }));
    } catch (error) {
      if (!(error instanceof PaymentRefused)) throw error;
      // Also what another request has confirmed meanwhile is refused.
      const settled = await settle(context, provider, orderId);
      if (settled.kind === 'done' && (settled.order.state === 'open' || settled.order.state === 'failed'))
        throw error;
      return settled;
    }
  });
}

async function settle(
  context: PaymentContext,
  provider: PaymentProvider,
  orderId: string,
): Promise<PaymentOutcome> {
  const order = await findPaymentOrder(context.database, orderId);
  if (order === null) return { kind: 'not_found' };
  const payment = await provider.find(orderId);
  return payment === null ? { kind: 'done', order } : applyPayment(context, payment);
}

/** Settles an order, or fails one that is open for too long; returns why it could not, or null. */
async function settleOrFail(context: PaymentContext, order: PaymentOrder): Promise<string | null> {
  const { orderId, createdAtMs } = order;
  const outcome = await withProvider(context, (provider) => settle(context, provider, orderId));
  if (outcome.kind !== 'done') return outcome.kind;
  if (outcome.order.state === 'open' && createdAtMs < context.clock.now() - openForMs)
    await failOrder(context, orderId, 'EXPIRED');
  return null;
}

async function cancel(context: PaymentContext, wish: PaymentCancellation): Promise<PaymentOutcome> {
  const { orderId, amount, reason, idempotencyKey: key } = wish;
  const order = await findPaymentOrder(context.database, orderId);
  const id = order?.paymentKey ?? null;
  if (order === null || id === null) return { kind: 'not_found' };
  return withProvider(context, async (provider) => {
    // First: the provider may report it before it responds.
    await recordAfter(context, {
      act: 'payment.cancel',
      accountId: order.accountId,
      subject: orderId,
      reason,
      after: { amount_micro: amount ?? order.amountMicro - order.canceledMicro },
    });
    return applyPayment(context, await provider.cancel({ id, amount, reason, key }));
  });
}
