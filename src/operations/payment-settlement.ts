import { recordAct } from '../identity/audit-sql.ts';
import { adjustWithin } from '../ledger/corrections.ts';
import { grantWithin } from '../ledger/credit.ts';
import { lockPaymentOrder, type PaymentOrder, updatePaymentOrder } from '../ledger/payment-orders-sql.ts';
import { krwOfMicro } from '../money/krw.ts';
import type { Sql } from '../store/sql.ts';
import type { AuditContext } from './audited.ts';
import { moneyAct } from './credit-operations.ts';
import { exactly } from './exactly.ts';
import type { Payment, PaymentProvider } from './payment-provider.ts';

/**
 * The result of a payment. `refused`: the provider said no. `away`: what the provider did is not known,
 * and `settleDue` finds out. `differs`: the provider states another amount or payment than the order;
 * nothing is granted. `closed`: the account is.
 */
export type PaymentOutcome =
  | { readonly kind: 'done'; readonly order: PaymentOrder }
  | { readonly kind: 'not_found' | 'closed' | 'differs' }
  | PaymentFailure;
/** What may come of a request to the provider. */
export type PaymentFailure = { readonly kind: 'refused'; readonly code: string } | { readonly kind: 'away' };

/** Who acts, and the provider. */
export interface PaymentContext extends AuditContext {
  /** Null or absent: no provider is configured. */
  readonly payments?: PaymentProvider | null;
}

/**
 * Makes the ledger and the order what the provider states: one transaction, which changes nothing the
 * second time. A statement that is older than what is known takes nothing back.
 */
export function applyPayment(context: PaymentContext, payment: Payment): Promise<PaymentOutcome> {
  return exactly(() =>
    context.database.transaction(async (sql): Promise<PaymentOutcome> => {
      const order = await lockPaymentOrder(sql, payment.orderId);
      if (order === null) return { kind: 'not_found' };
      const isSame = order.amountMicro === payment.amount && payment.currency === 'KRW';
      if (!isSame || (order.paymentKey ?? payment.id) !== payment.id) return { kind: 'differs' };
      if (payment.state === 'paid') return grant(context, sql, order, payment);
      if (payment.state === 'open' || order.state !== 'open') return { kind: 'done', order };
      const failed = { ...order, state: 'failed', failure: payment.failure } as const;
      return { kind: 'done', order: await updatePaymentOrder(sql, failed) };
    }),
  );
}

async function grant(
  context: PaymentContext,
  sql: Sql,
  order: PaymentOrder,
  payment: Payment,
): Promise<PaymentOutcome> {
  const { orderId, accountId, amountMicro } = order;
  const nowMs = context.clock.now();
  const canceled = payment.cancellations.reduce((sum, { amount }) => sum + amount, 0n);
  const granted = await grantWithin(
    sql,
    {
      accountId,
      kind: 'topup',
      amount: payment.amount,
      expiresAtMs: null,
      idempotencyKey: `payment:${payment.id}`,
      memo: orderId,
    },
    nowMs,
  );
  const paid = { ...order, paymentKey: payment.id, paidAtMs: order.paidAtMs ?? nowMs, failure: null };
  if (!('entryId' in granted)) {
    if (granted.kind === 'conflict') return { kind: 'differs' };
    // It was never granted, so nothing is deducted once all of it was returned.
    if (canceled < amountMicro) return { kind: 'closed' };
    const returned = { ...paid, state: 'canceled', canceledMicro: amountMicro } as const;
    return { kind: 'done', order: await updatePaymentOrder(sql, returned) };
  }
  const moved = { accountId, subject: orderId, reason: null };
  if (granted.kind === 'granted')
    await record(context, sql, { ...moved, act: 'payment.paid', amount: payment.amount, kind: 'topup' });
  for (const { id, amount: returned } of payment.cancellations) {
    const amount = krwOfMicro(-returned);
    const key = `payment-cancel:${id}`;
    const deduction = { accountId, amount, reason: orderId, idempotencyKey: key };
    const { kind } = await adjustWithin(sql, deduction, nowMs);
    if (kind === 'done')
      await record(context, sql, { ...moved, act: 'payment.canceled', amount, kind: 'adjustment' });
    else if (kind !== 'repeated') throw new Error(`payment ${orderId}: cannot deduct ${key}: ${kind}`);
  }
  const canceledMicro = canceled > order.canceledMicro ? canceled : order.canceledMicro;
  const state = canceledMicro === amountMicro ? 'canceled' : 'paid';
  const settled = { ...paid, state, canceledMicro, entryId: granted.entryId } as const;
  return { kind: 'done', order: await updatePaymentOrder(sql, settled) };
}

async function record(
  { actor, clock }: PaymentContext,
  sql: Sql,
  act: Parameters<typeof moneyAct>[1],
): Promise<void> {
  await recordAct(sql, actor, await moneyAct(sql, act), clock.now());
}

/** Ends an order that is open, with the code of the reason. */
export function failOrder(
  context: PaymentContext,
  orderId: string,
  failure: string,
): Promise<PaymentOrder | null> {
  return changeOrder(context, orderId, (order) =>
    order.state === 'open' ? { ...order, state: 'failed', failure } : order,
  );
}

/** Changes an order under its lock; null when there is none. */
export function changeOrder(
  { database }: PaymentContext,
  orderId: string,
  changed: (order: PaymentOrder) => PaymentOrder,
): Promise<PaymentOrder | null> {
  return database.transaction(async (sql) => {
    const order = await lockPaymentOrder(sql, orderId);
    return order === null ? null : updatePaymentOrder(sql, changed(order));
  });
}
