import type { ResponseOf } from '../../api/client.ts';
import { parseMicro } from '../../format/money.ts';

/** A model as the list of models has it. */
export type Model = ResponseOf<'GET /dashboard/api/models'>['items'][number];

type Price = Model['price'];

const perMillion = 1_000_000n;

/** The price of the candidate that answers; before one is known, of the model. */
export function priceOf(model: Model | undefined, provider: string | null): Price | null {
  if (model === undefined) return null;
  return model.candidates.find((candidate) => candidate.provider === provider)?.price ?? model.price;
}

/** What so many tokens cost, in micro-won: for figures that are marked as estimates. */
export function estimateCost(
  price: Price | null,
  tokens: { readonly prompt: number; readonly completion: number },
): bigint | null {
  if (price === null) return null;
  const sum =
    BigInt(tokens.prompt) * parseMicro(price.prompt_micro) +
    BigInt(tokens.completion) * parseMicro(price.completion_micro);
  return sum / perMillion + parseMicro(price.request_pico) / perMillion;
}
