import { z } from 'zod';
import type { Price, TokenRates } from '../money/price.ts';
import { micro } from './shapes.ts';

const perMillion = micro.describe('Micro-won per million tokens');
const tokenRates = {
  prompt_micro: perMillion,
  completion_micro: perMillion,
  cache_read_micro: perMillion,
  cache_write_micro: perMillion,
  cache_write_1h_micro: perMillion.nullable().describe('Null: a cache is not written for an hour'),
};

/** The rates of a price on the pages. */
export const ratesShape = z.strictObject({
  ...tokenRates,
  request_pico: z.string().describe('Pico-won per request'),
  tiers: z
    .array(z.strictObject({ tier: z.string(), ...tokenRates }))
    .describe('Other rates by the service tier that the upstream reports'),
});

/** The body of a price. */
export function ratesBody(price: Price): z.input<typeof ratesShape> {
  return {
    ...tokenRatesBody(price),
    request_pico: String(price.request),
    tiers: Object.entries(price.tiers ?? {}).map(([tier, rates]) => ({ tier, ...tokenRatesBody(rates) })),
  };
}

/** Per million tokens, a rate in pico-won is a price in micro-won. */
function tokenRatesBody({ prompt, completion, cacheRead, cacheWrite, cacheWrite1h }: TokenRates) {
  return {
    prompt_micro: String(prompt),
    completion_micro: String(completion),
    cache_read_micro: String(cacheRead),
    cache_write_micro: String(cacheWrite),
    cache_write_1h_micro: cacheWrite1h === undefined ? null : String(cacheWrite1h),
  };
}
