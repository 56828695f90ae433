import { column, nullable, number, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';

/**
 * The states of an order. `paid`: its credit is granted, and perhaps a part of it was canceled.
 * `canceled`: all of it was.
 */
export const paymentStates = ['open', 'paid', 'canceled', 'failed'] as const;
export type PaymentState = (typeof paymentStates)[number];

const orders = recordOf({
  id: number('id'),
  accountId: number('account_id'),
  /** What the provider knows it by; nobody can guess it. */
  orderId: column<string>('order_id'),
  amountMicro: column<bigint>('amount'),
  canceledMicro: column<bigint>('canceled'),
  state: column<PaymentState>('state'),
  /** The provider's id of the payment; null until it is created there. */
  paymentKey: column<string | null>('payment_key'),
  createdAtMs: column<number>('created_at'),
  paidAtMs: column<number | null>('paid_at'),
  entryId: nullable(number('entry_id')),
  /** The provider's code for why it failed. */
  failure: column<string | null>('failure'),
});

/** An order of an account owner to pay by card. */
export type PaymentOrder = RowOf<typeof orders>;

export async function insertPaymentOrder(
  sql: Sql,
  order: Pick<PaymentOrder, 'accountId' | 'orderId' | 'amountMicro' | 'createdAtMs'>,
): Promise<PaymentOrder> {
  const made = await orders.first(
    sql,
    `INSERT INTO payment_order (account_id, order_id, amount, created_at, looked_at)
     VALUES ($1, $2, $3, to_timestamp($4::float8 / 1000), to_timestamp($4::float8 / 1000)) RETURNING ${orders.columns}`,
    [order.accountId, order.orderId, order.amountMicro, order.createdAtMs],
  );
  return made as PaymentOrder;
}

export async function countOpenPayments(sql: Sql, accountId: number): Promise<number> {
  const [row] = await sql.query<{ count: bigint }>(
    "SELECT count(*) AS count FROM payment_order WHERE account_id = $1 AND state = 'open'",
    [accountId],
  );
  return Number(row?.count ?? 0n);
}

export function findPaymentOrder(sql: Sql, orderId: string): Promise<PaymentOrder | null> {
  return orders.first(sql, `SELECT ${orders.columns} FROM payment_order WHERE order_id = $1`, [orderId]);
}

/** An order, locked until the transaction ends; null when there is none. */
export function lockPaymentOrder(sql: Sql, orderId: string): Promise<PaymentOrder | null> {
  return orders.first(sql, `SELECT ${orders.columns} FROM payment_order WHERE order_id = $1 FOR UPDATE`, [
    orderId,
  ]);
}

/** Writes what may change of an order. */
export async function updatePaymentOrder(sql: Sql, order: PaymentOrder): Promise<PaymentOrder> {
  const updated = await orders.first(
    sql,
    `UPDATE payment_order SET canceled = $2, state = $3, payment_key = $4, paid_at = to_timestamp($5::float8 / 1000), entry_id = $6, failure = $7
     WHERE order_id = $1 RETURNING ${orders.columns}`,
    [
      order.orderId,
      order.canceledMicro,
      order.state,
      order.paymentKey,
      order.paidAtMs,
      order.entryId,
      order.failure,
    ],
  );
  return updated as PaymentOrder;
}

/** The newest orders with an id below `beforeId`, of one account or all. */
export function listPaymentOrders(
  sql: Sql,
  page: {
    readonly accountId: number | null;
    readonly beforeId: number | null;
    readonly limit: number;
  },
): Promise<readonly PaymentOrder[]> {
  return orders.all(
    sql,
    `SELECT ${orders.columns} FROM payment_order WHERE ($1::bigint IS NULL OR account_id = $1)
       AND ($2::bigint IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
    [page.accountId, page.beforeId, page.limit],
  );
}

/**
 * Up to `limit` orders that nobody looked at for a minute if they are open, or for a day if they were
 * paid within a month; nobody else gets them until then.
 */
export function takeDuePayments(sql: Sql, nowMs: number, limit: number): Promise<readonly PaymentOrder[]> {
  return orders.all(
    sql,
    `UPDATE payment_order SET looked_at = to_timestamp($1::float8 / 1000) WHERE id IN (
       SELECT id FROM payment_order
       WHERE state IN ('open', 'paid') AND looked_at <= to_timestamp($1::float8 / 1000) - interval '1 minute' AND (
         state = 'open' OR (looked_at <= to_timestamp($1::float8 / 1000) - interval '1 day'
                            AND paid_at > to_timestamp($1::float8 / 1000) - interval '30 days'))
       ORDER BY state, looked_at LIMIT $2 FOR UPDATE SKIP LOCKED)
     RETURNING ${orders.columns}`,
    [nowMs, limit],
  );
}
