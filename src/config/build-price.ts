import type { Price, Rate } from '../money/price.ts';
import type { ExchangeConfig, StatedPrice } from './config.ts';
import { plainDecimal, rateOf, unitsOf } from './rates.ts';
import type { ParsedFile } from './schema.ts';

type ParsedPrice = NonNullable<ParsedFile['models'][number]['price']>;

/** A price as billed, and as stated. */
export interface BuiltPrice {
  readonly price: Price;
  readonly stated: StatedPrice;
}

/**
 * The price in won of a stated price without faults, with its inputs. `exchange` is not null where
 * the price is in USD. `factsAsOf` is the day of the public facts that it comes from, if any.
 */
export function buildPrice(
  price: ParsedPrice,
  exchange: ExchangeConfig | null,
  factsAsOf: string | null,
): BuiltPrice {
  const inUsd = price.currency === 'USD';
  const rate = (text: string, units = unitsOf[price.per]): Rate => {
    const result = rateOf(text, units, inUsd ? exchange : null);
    if (result === null) throw new Error(`${text} is not a price`);
    return result;
  };
  return {
    price: {
      prompt: rate(price.prompt),
      completion: rate(price.completion),
      request: rate(price.request, 1n),
      cacheRead: rate(price.cache_read ?? price.prompt),
      cacheWrite: rate(price.cache_write ?? price.prompt),
    },
    stated: {
      currency: price.currency,
      per: price.per,
      prompt: plain(price.prompt),
      completion: plain(price.completion),
      request: plain(price.request),
      cacheRead: price.cache_read === undefined ? null : plain(price.cache_read),
      cacheWrite: price.cache_write === undefined ? null : plain(price.cache_write),
      usdKrw: inUsd && exchange !== null ? plain(exchange.usdKrw) : null,
      marginPercent: inUsd && exchange !== null ? plain(exchange.marginPercent) : null,
      factsAsOf,
    },
  };
}

function plain(text: string): string {
  const result = plainDecimal(text);
  if (result === null) throw new Error(`${text} is not a decimal number`);
  return result;
}
