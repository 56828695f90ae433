import { hashKey } from '../../src/accounts/api-key.ts';
import type { Config } from '../../src/config/config.ts';
import { testConfig } from '../harness/gateway.ts';

const providers = ['up1', 'up2', 'up3'];

/** The price of a model, won for each token; each price is a separate configuration. */
const prices: readonly { readonly prompt: number; readonly completion: number }[] = [
  { prompt: 1, completion: 2 },
  { prompt: 2, completion: 1 },
  { prompt: 3, completion: 5 },
];

/** How far below zero an account may be. */
export const floorWon = 40;

/** Every configuration that a gateway may be given. */
export function configurations(ack: 'journal' | 'database'): readonly Config[] {
  return prices.map((price) => configAt(price, ack));
}

function configAt(
  price: { readonly prompt: number; readonly completion: number },
  ack: 'journal' | 'database',
): Config {
  const upstreams = providers.map((slug) => `http://${slug}.test/v1`);
  const model = { price: { ...price, currency: 'KRW', per: 'token', confirm: true } };
  return testConfig({
    models: [
      { id: 'sim/in-order', upstreams, model },
      { id: 'sim/weighted', upstreams, model, candidates: [{ weight: 1 }, { weight: 2 }, { weight: 0 }] },
    ],
    config: {
      settlement: { ack },
      limits: {
        debt_floor_krw: floorWon,
        upstream_timeout_ms: 6_000,
        first_byte_timeout_ms: 2_000,
        stream_idle_timeout_ms: 1_000,
        keep_alive_comment_ms: 400,
        total_timeout_ms: 8_000,
      },
    },
  });
}

/** A key as its holder has it. */
export function keyOf(number: number): {
  readonly plaintext: string;
  readonly hash: ReturnType<typeof hashKey>;
} {
  const plaintext = `sk-naru-v1-${number.toString(16).padStart(64, '0')}`;
  return { plaintext, hash: hashKey(plaintext) };
}
