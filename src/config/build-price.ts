import type { Price, Rate, TokenRates } from '../money/price.ts';
import type { ExchangeConfig, StatedPrice, StatedTiers, StatedUpstreamPrice } from './config.ts';
import { plainDecimal, rateOf, unitsOf } from './rates.ts';
import type { ParsedFile } from './schema.ts';

type ParsedPrice = NonNullable<ParsedFile['models'][number]['price']>;
type ParsedTiers = NonNullable<ParsedPrice['tiers']>;
type ParsedUpstreamPrice = NonNullable<ParsedPrice['upstream_price']>;
type ParsedAmounts = Omit<ParsedTiers[number], 'tier'>;

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
  const { tiers, upstream_price: upstream, cache_write_1h: write1h } = price;
  return {
    price: {
      ...ratesOf(price, rate),
      request: rate(price.request, 1n),
      ...(tiers !== undefined && {
        tiers: mapTiers(tiers, (amounts) => ratesOf(amounts, rate)),
      }),
    },
    stated: {
      currency: price.currency,
      per: price.per,
      prompt: plain(price.prompt),
      completion: plain(price.completion),
      request: plain(price.request),
      cacheRead: price.cache_read === undefined ? null : plain(price.cache_read),
      cacheWrite: price.cache_write === undefined ? null : plain(price.cache_write),
      ...(write1h !== undefined && { cacheWrite1h: plain(write1h) }),
      ...(tiers !== undefined && { tiers: statedTiers(tiers) }),
      ...(upstream !== undefined && { upstream: statedUpstream(upstream, exchange) }),
      usdKrw: inUsd && exchange !== null ? plain(exchange.usdKrw) : null,
      marginPercent: inUsd && exchange !== null ? plain(exchange.marginPercent) : null,
      factsAsOf,
    },
  };
}

function ratesOf(amounts: ParsedAmounts, rate: (text: string) => Rate): TokenRates {
  const { prompt, completion, cache_read: read, cache_write: write, cache_write_1h: write1h } = amounts;
  return {
    prompt: rate(prompt),
    completion: rate(completion),
    cacheRead: rate(read ?? prompt),
    cacheWrite: rate(write ?? prompt),
    ...(write1h !== undefined && { cacheWrite1h: rate(write1h) }),
  };
}

function statedUpstream(
  { tiers, currency, rate, per, ...amounts }: ParsedUpstreamPrice,
  exchange: ExchangeConfig | null,
): StatedUpstreamPrice {
  const inWon = rate ?? (currency === 'USD' ? exchange?.usdKrw : undefined);
  return {
    currency,
    rate: inWon === undefined ? null : plain(inWon),
    per,
    amounts: plainAmounts(amounts),
    ...(tiers !== undefined && { tiers: statedTiers(tiers) }),
  };
}

function statedTiers(tiers: ParsedTiers): StatedTiers {
  return mapTiers(tiers, plainAmounts);
}

function mapTiers<T>(tiers: ParsedTiers, map: (amounts: ParsedAmounts) => T): Readonly<Record<string, T>> {
  return Object.fromEntries(tiers.map(({ tier, ...amounts }) => [tier, map(amounts)]));
}

function plainAmounts(
  amounts: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(amounts).flatMap(([name, text]) => (text === undefined ? [] : [[name, plain(text)]])),
  );
}

function plain(text: string): string {
  const result = plainDecimal(text);
  if (result === null) throw new Error(`${text} is not a decimal number`);
  return result;
}
