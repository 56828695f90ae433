import { z } from 'zod';
import type { Config } from '../config/config.ts';
import { type HttpResponse, request } from '../http/client/request.ts';
import { type Krw, krwFromNumber, krwToNumber } from '../money/krw.ts';
import type { Clock } from '../time/clock.ts';
import {
  type Payment,
  type PaymentProvider,
  PaymentProviderAway,
  PaymentRefused,
} from './payment-provider.ts';

/** A card issuer may take half a minute. */
const timeoutMs = 40_000;
const connectTimeoutMs = 5_000;
const maxBytes = 1_048_576;
const maxCancelReason = 200;

const won = z.number().int().nonnegative();
const paymentBody = z.object({
  paymentKey: z.string().min(1).max(200),
  orderId: z.string(),
  status: z.string(),
  currency: z.string(),
  totalAmount: won,
  approvedAt: z.string().nullish(),
  failure: z.object({ code: z.string() }).nullish(),
  checkout: z.object({ url: z.url() }).nullish(),
  cancels: z
    .array(
      z.object({
        transactionKey: z.string().min(1).max(64),
        cancelAmount: won,
        cancelStatus: z.string().nullish(),
      }),
    )
    .nullish(),
});
const errorBody = z.object({ code: z.string().regex(/^\w{1,100}$/) });
const orderId = z.string().regex(/^[\w-]{6,64}$/);
const webhookBody = z.object({ data: z.object({ orderId }) });

/**
 * Toss Payments, core API v1. The payment is created here and paid on the provider's own page, so no
 * script of it runs on ours.
 */
export class TossPayments implements PaymentProvider {
  readonly amounts: readonly Krw[];
  readonly #baseUrl: string;
  readonly #authorization: string;
  readonly #clock: Clock;

  constructor({ baseUrl, secretKey, amounts }: NonNullable<Config['payments']>, clock: Clock) {
    this.amounts = amounts.map((amount) => wonOf(amount));
    this.#baseUrl = baseUrl;
    this.#authorization = `Basic ${Buffer.from(`${secretKey.reveal()}:`).toString('base64')}`;
    this.#clock = clock;
  }

  async create({ orderId, amount, returnUrl }: Parameters<PaymentProvider['create']>[0]) {
    const created = await this.#payment('/v1/payments', {
      key: orderId,
      body: {
        method: 'CARD',
        amount: krwToNumber(amount),
        orderId,
        orderName: `크레딧 ${krwToNumber(amount).toLocaleString('ko-KR')}원`,
        successUrl: returnUrl,
        failUrl: returnUrl,
      },
    });
    const checkoutUrl = created.checkout?.url;
    // The browser is sent there.
    if (checkoutUrl === undefined || new URL(checkoutUrl).protocol !== new URL(this.#baseUrl).protocol)
      throw new PaymentProviderAway(new Error('the payment has no checkout address'));
    return { id: created.paymentKey, checkoutUrl };
  }

  async confirm({ id, orderId, amount }: Parameters<PaymentProvider['confirm']>[0]): Promise<Payment> {
    // Without an idempotency key: an error is repeated under one, and a payment is confirmed once anyway.
    const body = { paymentKey: id, orderId, amount: krwToNumber(amount) };
    return read(await this.#payment('/v1/payments/confirm', { body }));
  }

  async find(orderId: string): Promise<Payment | null> {
    try {
      return read(await this.#payment(`/v1/payments/orders/${encodeURIComponent(orderId)}`));
    } catch (error) {
      if (error instanceof PaymentRefused && error.code === 'NOT_FOUND_PAYMENT') return null;
      throw error;
    }
  }

  async cancel({ id, amount, reason, key }: Parameters<PaymentProvider['cancel']>[0]): Promise<Payment> {
    const body = {
      cancelReason: reason.slice(0, maxCancelReason),
      ...(amount === null ? {} : { cancelAmount: krwToNumber(amount) }),
    };
    return read(await this.#payment(`/v1/payments/${encodeURIComponent(id)}/cancel`, { body, key }));
  }

  orderOfWebhook(body: unknown): string | null {
    return webhookBody.safeParse(body).data?.data.orderId ?? null;
  }

  /** Sends a request; with a body a POST. */
  async #payment(
    path: string,
    { body, key }: { readonly body?: object; readonly key?: string } = {},
  ): Promise<z.output<typeof paymentBody>> {
    const response = await this.#send(path, body, key);
    const parsed = await response.json().catch((error: unknown) => {
      throw new PaymentProviderAway(error);
    });
    if (response.status === 200) {
      const payment = paymentBody.safeParse(parsed);
      if (payment.success) return payment.data;
      throw new PaymentProviderAway(payment.error);
    }
    const refused = errorBody.safeParse(parsed);
    if (refused.success && response.status < 500 && response.status !== 429)
      throw new PaymentRefused(refused.data.code);
    throw new PaymentProviderAway(
      new Error(`status ${response.status} ${refused.success ? refused.data.code : ''}`),
    );
  }

  async #send(path: string, body: object | undefined, key: string | undefined): Promise<HttpResponse> {
    try {
      return await request(`${this.#baseUrl}${path}`, {
        clock: this.#clock,
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          Authorization: this.#authorization,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...(key === undefined ? {} : { 'Idempotency-Key': key }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        timeoutMs,
        connectTimeoutMs,
        maxBytes,
      });
    } catch (error) {
      throw new PaymentProviderAway(error);
    }
  }
}

function read(payment: z.output<typeof paymentBody>): Payment {
  const cancels = payment.cancels ?? [];
  return {
    id: payment.paymentKey,
    orderId: payment.orderId,
    amount: wonOf(payment.totalAmount),
    currency: payment.currency,
    state: stateOf(payment.status, payment.approvedAt ?? null),
    failure: payment.failure?.code ?? payment.status,
    cancellations: cancels
      .filter(({ cancelStatus }) => (cancelStatus ?? 'DONE') === 'DONE')
      .map(({ transactionKey, cancelAmount }) => ({ id: transactionKey, amount: wonOf(cancelAmount) })),
  };
}

function stateOf(status: string, approvedAt: string | null): Payment['state'] {
  if (status === 'DONE' || status === 'PARTIAL_CANCELED') return 'paid';
  if (status === 'CANCELED') return approvedAt === null ? 'failed' : 'paid';
  return status === 'ABORTED' || status === 'EXPIRED' ? 'failed' : 'open';
}

function wonOf(won: number): Krw {
  const amount = krwFromNumber(won);
  if (amount === null) throw new PaymentProviderAway(new Error('an amount beyond all bounds'));
  return amount;
}
