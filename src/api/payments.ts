import type { Log } from '../log/log.ts';
import type { Payments } from '../operations/payment-operations.ts';
import { parsedValue } from '../wire/json.ts';
import { route } from './route.ts';

const maxWebhookBytes = 262_144;

/**
 * `POST /webhooks/payments`: the provider of payments reports that one changed. The report is a hint:
 * the payment is read from the provider (spec:money/8.4).
 */
export function paymentRoutes(payments: Pick<Payments, 'orderOfWebhook' | 'settlePayment'>, log: Log) {
  return [
    route({
      method: 'POST',
      path: '/webhooks/payments',
      credential: 'none',
      handle: async ({ exchange }) => {
        const body = parsedValue((await exchange.json(maxWebhookBytes)).parsed);
        const orderId = payments.orderOfWebhook(body);
        const { kind } =
          orderId === null ? { kind: 'not_found' as const } : await payments.settlePayment(orderId);
        if (kind === 'differs' || kind === 'closed' || kind === 'refused')
          log.error('payment_not_settled', { order: orderId, detail: kind });
        // The provider reports it again; one that is none of ours it need not.
        return { status: kind === 'away' ? 503 : 200, body: { status: kind } };
      },
    }),
  ];
}
