import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const secretKey = 'test_sk_of_the_emulator_0123456789';

/** What a gateway is configured with to pay through this address. */
export function paymentConfig(baseUrl: string) {
  return {
    auth: { public_url: 'https://naru.example' },
    payments: { provider: 'toss', secret_key: secretKey, amounts: [10_000, 50_000], base_url: baseUrl },
  };
}

/**
 * How the next request fails: the connection ends before or after it is carried out, the response waits
 * for `release`, or it is none that is documented.
 */
type Fault = 'lost' | 'lost response' | 'late' | 'status 500' | 'no JSON';

interface Payment {
  readonly paymentKey: string;
  readonly orderId: string;
  readonly totalAmount: number;
  currency: string;
  balanceAmount: number;
  status: string;
  approvedAt: string | null;
  failure: { readonly code: string; readonly message: string } | null;
  cancels:
    | { cancelAmount: number; transactionKey: string; cancelStatus: string; cancelReason: string }[]
    | null;
  [more: string]: unknown;
}

class Refused extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string) {
    super(code);
    this.status = status;
    this.code = code;
  }
}

/**
 * The payments of Toss Payments, by its public documentation (core API 2022-11-16: create, confirm,
 * find, cancel, idempotency keys, the webhook PAYMENT_STATUS_CHANGED).
 */
export class TossEmulator {
  readonly payments = new Map<string, Payment>();
  /** `POST /v1/payments/confirm` and so on, in their order. */
  readonly requests: string[] = [];
  readonly #faults: Fault[] = [];
  #late = Promise.withResolvers<void>();
  readonly #replies = new Map<string, readonly [status: number, body: object]>();
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  static async start(): Promise<TossEmulator> {
    const emulator = new TossEmulator();
    await new Promise<void>((resolve) => emulator.#server.listen(0, '127.0.0.1', resolve));
    return emulator;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** The next requests fail so, one after the other. */
  fail(...faults: readonly Fault[]): void {
    this.#faults.push(...faults);
  }

  /** Sends the late response. */
  release(): void {
    this.#late.resolve();
  }

  /** The customer approves the payment at the checkout page; returns what the browser brings back. */
  approve(checkoutUrl: string): {
    readonly orderId: string;
    readonly payment_key: string;
    readonly amount: string;
  } {
    const payment = [...this.payments.values()].find(({ paymentKey }) => checkoutUrl.includes(paymentKey));
    assert.ok(payment?.status === 'READY', checkoutUrl);
    payment.status = 'IN_PROGRESS';
    return { orderId: payment.orderId, payment_key: payment.paymentKey, amount: String(payment.totalAmount) };
  }

  of(orderId: string): Payment {
    return this.payments.get(orderId) ?? assert.fail(orderId);
  }

  /** Collects the money, as a confirmation does. */
  collect(orderId: string): void {
    Object.assign(this.of(orderId), { status: 'DONE', approvedAt: '2026-11-28T13:00:00+09:00' });
  }

  /** The merchant cancels in the dashboard of the provider. */
  cancel(orderId: string, amount: number | null = null): Payment {
    const payment = this.of(orderId);
    if (payment.status === 'CANCELED') throw new Refused(400, 'ALREADY_CANCELED_PAYMENT');
    if (payment.approvedAt === null) throw new Refused(403, 'NOT_CANCELABLE_PAYMENT');
    const cancelAmount = amount ?? payment.balanceAmount;
    if (cancelAmount > payment.balanceAmount || cancelAmount <= 0)
      throw new Refused(403, 'NOT_CANCELABLE_AMOUNT');
    payment.balanceAmount -= cancelAmount;
    payment.status = payment.balanceAmount === 0 ? 'CANCELED' : 'PARTIAL_CANCELED';
    payment.cancels ??= [];
    payment.cancels.push({
      cancelAmount,
      cancelReason: 'x',
      cancelStatus: 'DONE',
      transactionKey: randomUUID().replaceAll('-', '').toUpperCase(),
    });
    return payment;
  }

  /** The body of the webhook about a payment as it is now. */
  webhook(orderId: string): object {
    const data = structuredClone(this.of(orderId));
    return { eventType: 'PAYMENT_STATUS_CHANGED', createdAt: '2026-11-28T13:00:00.000000', data };
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    this.requests.push(`${request.method} ${request.url}`);
    const fault = this.#faults.shift();
    if (fault === 'lost') return void request.socket.destroy();
    const [status, body] =
      fault === 'status 500'
        ? [
            500,
            { code: 'FAILED_INTERNAL_SYSTEM_PROCESSING', message: '내부 시스템 처리 작업이 실패했습니다.' },
          ]
        : this.#reply(request, text === '' ? {} : JSON.parse(text));
    if (fault === 'lost response') return void request.socket.destroy();
    const written = fault === 'no JSON' ? '<html>' : JSON.stringify(body);
    if (fault === 'late') {
      await this.#late.promise;
      this.#late = Promise.withResolvers();
    }
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(written);
  }

  /** A request with an idempotency key gets the same response again, also an error. */
  #reply(request: IncomingMessage, body: Record<string, unknown>): readonly [status: number, body: object] {
    const key = request.headers['idempotency-key'];
    const name = typeof key === 'string' ? `${request.url} ${key}` : null;
    const earlier = name === null ? undefined : this.#replies.get(name);
    const reply = earlier ?? this.#act(request, body);
    if (name !== null) this.#replies.set(name, reply);
    return reply;
  }

  #act(request: IncomingMessage, body: Record<string, unknown>): readonly [status: number, body: object] {
    try {
      if (request.headers.authorization !== `Basic ${Buffer.from(`${secretKey}:`).toString('base64')}`)
        throw new Refused(401, 'UNAUTHORIZED_KEY');
      return [200, structuredClone(this.#handle(`${request.method} ${request.url}`, body))];
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return [error.status, { code: error.code, message: '거절되었습니다.' }];
    }
  }

  #handle(target: string, body: Record<string, unknown>): Payment {
    if (target === 'POST /v1/payments') return this.#create(body);
    if (target === 'POST /v1/payments/confirm') return this.#confirm(body);
    const [, ofOrder = ''] = /^GET \/v1\/payments\/orders\/(.+)$/.exec(target) ?? [];
    const [, canceled = ''] = /^POST \/v1\/payments\/(.+)\/cancel$/.exec(target) ?? [];
    const found = [...this.payments.values()].find(
      ({ orderId, paymentKey }) => orderId === ofOrder || paymentKey === canceled,
    );
    if (found === undefined) throw new Refused(404, 'NOT_FOUND_PAYMENT');
    if (canceled === '') return found;
    if (typeof body['cancelReason'] !== 'string') throw new Refused(400, 'INVALID_REQUEST');
    return this.cancel(found.orderId, (body['cancelAmount'] as number | undefined) ?? null);
  }

  #create({ method, amount, orderId, orderName, successUrl, failUrl }: Record<string, unknown>): Payment {
    const isValid =
      [method, orderName, successUrl, failUrl].every((one) => typeof one === 'string' && one !== '') &&
      Number.isInteger(amount) &&
      /^[\w-]{6,64}$/.test(String(orderId));
    if (!isValid) throw new Refused(400, 'INVALID_REQUEST');
    if (this.payments.has(String(orderId))) throw new Refused(400, 'DUPLICATED_ORDER_ID');
    const paymentKey = `tviva${randomUUID().replaceAll('-', '')}`;
    const payment: Payment = {
      version: '2022-11-16',
      mId: 'tvivarepublica',
      paymentKey,
      orderId: String(orderId),
      orderName,
      status: 'READY',
      type: 'NORMAL',
      method: null,
      currency: 'KRW',
      totalAmount: Number(amount),
      balanceAmount: Number(amount),
      requestedAt: '2026-11-28T13:00:00+09:00',
      approvedAt: null,
      failure: null,
      cancels: null,
      secret: null,
      checkout: { url: `${this.url}/v1/payments/${paymentKey}/checkout` },
    };
    this.payments.set(payment.orderId, payment);
    return payment;
  }

  #confirm({ paymentKey, orderId, amount }: Record<string, unknown>): Payment {
    const payment = this.payments.get(String(orderId));
    if (payment === undefined || payment.paymentKey !== paymentKey)
      throw new Refused(404, 'NOT_FOUND_PAYMENT');
    if (payment.totalAmount !== amount) throw new Refused(400, 'INVALID_REQUEST');
    if (payment.approvedAt !== null) throw new Refused(400, 'ALREADY_PROCESSED_PAYMENT');
    if (payment.status !== 'IN_PROGRESS') throw new Refused(404, 'NOT_FOUND_PAYMENT_SESSION');
    this.collect(payment.orderId);
    return payment;
  }
}
