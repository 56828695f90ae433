import type { Krw } from '../money/krw.ts';

/** A payment as its provider states it. */
export interface Payment {
  /** The provider's id. */
  readonly id: string;
  readonly orderId: string;
  readonly amount: Krw;
  readonly currency: string;
  /** `paid` also when it was canceled afterwards. */
  readonly state: 'open' | 'paid' | 'failed';
  /** The provider's code for why it failed. */
  readonly failure: string | null;
  /** What was canceled of it, each with an id of its own. */
  readonly cancellations: readonly { readonly id: string; readonly amount: Krw }[];
}

/**
 * A provider of payments by card. Every method throws `PaymentRefused` when the provider says no, and
 * `PaymentProviderAway` when what it did is not known.
 */
export interface PaymentProvider {
  /** The amounts that are offered. */
  readonly amounts: readonly Krw[];
  /** Creates a payment; nothing is paid before `confirm`. */
  create(order: {
    readonly orderId: string;
    readonly amount: Krw;
    /** Where the provider sends the browser afterwards, with its own parameters. */
    readonly returnUrl: string;
  }): Promise<{ readonly id: string; readonly checkoutUrl: string }>;
  /** Collects the money of a payment that the customer approved. */
  confirm(payment: Pick<Payment, 'id' | 'orderId' | 'amount'>): Promise<Payment>;
  /** The payment of an order; null when the provider has none. */
  find(orderId: string): Promise<Payment | null>;
  /** Returns money to the customer: `amount`, or with null all that is left. */
  cancel(order: {
    readonly id: string;
    readonly amount: Krw | null;
    readonly reason: string;
    /** Canceling twice with one key cancels once. */
    readonly key: string;
  }): Promise<Payment>;
  /**
   * The order that a webhook names, or null. It proves nothing: only what `find` returns is believed.
   */
  orderOfWebhook(body: unknown): string | null;
}

/** The provider said no; `code` is its own. */
export class PaymentRefused extends Error {
  override readonly name = 'PaymentRefused';
  readonly code: string;

  constructor(code: string) {
    super(`the payment provider refused: ${code}`);
    this.code = code;
  }
}

/** The provider did not respond, or not as documented. */
export class PaymentProviderAway extends Error {
  override readonly name = 'PaymentProviderAway';

  constructor(cause: unknown) {
    super('the payment provider does not respond as documented', { cause });
  }
}
