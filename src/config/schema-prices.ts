import type { z } from 'zod';
import type { Price, Rate, TokenRates } from '../money/price.ts';
import {
  choice,
  decimal,
  flag,
  list,
  object,
  objectAsNamed,
  optional,
  shaped,
  withDefault,
} from './fields.ts';
import { type ExchangeRate, exampleUsdKrw, rateOf, unitsOf } from './rates.ts';

/** The conversion of prices in dollars. */
export const exchange = object('The conversion of USD prices to won. Required when a price is in USD.', {
  usd_krw: decimal('Won for one US dollar.', 'above zero'),
  margin_percent: withDefault(decimal('Added on conversion, in percent.'), '0'),
  confirm: withDefault(
    flag(`True: a rate more than 50 % above or below ${exampleUsdKrw} won is meant.`),
    'false',
  ),
});

/** The amounts of one service. */
const amounts = {
  prompt: decimal('For prompt tokens.'),
  completion: decimal('For completion tokens, reasoning included.'),
  cache_read: optional(decimal('For prompt tokens read from a cache; by default `prompt`.')),
  cache_write: optional(decimal('For prompt tokens written to a cache; by default `prompt`.')),
  cache_write_1h: optional(
    decimal('For prompt tokens written to a cache for an hour; without it, no such write is requested.'),
  ),
};
const request = withDefault(decimal('Per request, whatever its size; `per` does not apply.'), '0');
const per = choice('The number of tokens that the prices are for.', ['token', '1K', '1M']);

const tierNames = ['priority', 'flex', 'scale', 'fast', 'performance', 'reserved'] as const;
/** The price of one service tier. */
export const tier = objectAsNamed(
  'The price of one service tier.',
  {
    tier: choice('The tier, as the upstream reports it in its responses.', tierNames),
    ...amounts,
  },
  'tier',
);
const tiers = optional(
  list(
    'Other prices by the service tier that the upstream reports. A dearer tier without a price is not requested.',
    tier,
  ),
);

/** What the upstream charges. */
export const upstreamPrice = objectAsNamed(
  'What the upstream charges: the cost of this price. It bills nothing; it is published with the price.',
  {
    ...amounts,
    request,
    tiers,
    currency: withDefault(
      shaped(
        'The currency, such as KRW, USD or CNY.',
        /^[A-Z]{3}$/,
        'must be three capital letters such as USD',
      ),
      'KRW',
    ),
    rate: optional(
      decimal('Won for one unit of the currency; by default `exchange.usd_krw` for USD.', 'above zero'),
    ),
    per,
  },
  'upstream_price',
);

/** The price of tokens. */
export const price = objectAsNamed(
  'The price of tokens. Exact decimals; won per token are rounded half up at 12 decimals.',
  {
    ...amounts,
    request,
    tiers,
    upstream_price: optional(upstreamPrice),
    currency: withDefault(choice('The currency; USD needs `exchange`.', ['KRW', 'USD']), 'KRW'),
    per,
    confirm: withDefault(
      flag(
        'True: a rate above ten times that of the dearest model that Naru lists (1.05 won per token, 1,050 won per request) is meant.',
      ),
      'false',
    ),
  },
  'price',
);

/**
 * A price as stated, so that the rates can be recomputed. Amounts are plain decimal text without
 * redundant zeros (`0.15`), for as many units as `per` states; `request` is for one request.
 */
export interface StatedPrice {
  readonly currency: 'KRW' | 'USD';
  readonly per: 'token' | '1K' | '1M';
  readonly prompt: string;
  readonly completion: string;
  readonly request: string;
  /** Null: `prompt` applies. */
  readonly cacheRead: string | null;
  /** Null: `prompt` applies. */
  readonly cacheWrite: string | null;
  /** Absent: there is no such row. */
  readonly cacheWrite1h?: string;
  /** The amounts of service tiers, by their names in the file; absent: there are none. */
  readonly tiers?: StatedTiers;
  /** What it costs the operator; absent: it is not stated. */
  readonly upstream?: StatedUpstreamPrice;
  /** Won for one dollar when it was converted; null for a price in won. */
  readonly usdKrw: string | null;
  /** Added on conversion, in percent; null for a price in won. */
  readonly marginPercent: string | null;
  /**
   * The day of the public facts that it comes from (`YYYY-MM-DD`); null when the file states it.
   */
  readonly factsAsOf: string | null;
}

/** Amounts by the names of tiers and of the file's members. */
export type StatedTiers = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** What the upstream charges, as stated, so that it can be computed for any usage. */
export interface StatedUpstreamPrice {
  /** ISO 4217. */
  readonly currency: string;
  /** Won for one unit of the currency when it was published; null for won. */
  readonly rate: string | null;
  readonly per: StatedPrice['per'];
  /** By the file's members. */
  readonly amounts: Readonly<Record<string, string>>;
  readonly tiers?: StatedTiers;
}

type ParsedPrice = z.output<typeof price>;
type ParsedTiers = NonNullable<ParsedPrice['tiers']>;
type ParsedAmounts = Omit<ParsedTiers[number], 'tier'>;

/** A price as billed, and as stated. */
export interface BilledPrice {
  readonly price: Price;
  readonly stated: StatedPrice;
}

/**
 * The price in won of a stated price without faults, with its inputs. `exchangeRate` is not null
 * where the price is in USD. `factsAsOf` is the day of the public facts that it comes from, if any.
 */
export function billedPriceOf(
  parsed: ParsedPrice,
  exchangeRate: ExchangeRate | null,
  factsAsOf: string | null,
): BilledPrice {
  const { currency, per, prompt, completion, request, tiers, upstream_price: upstream } = parsed;
  const conversion = currency === 'USD' ? exchangeRate : null;
  const rate = (text: string, units = unitsOf[per]): Rate => {
    const result = rateOf(text, units, conversion);
    if (result === null) throw new Error(`${text} is not a price`);
    return result;
  };
  return {
    price: {
      ...ratesOf(parsed, rate),
      request: rate(request, 1n),
      ...(tiers !== null && { tiers: byTier(tiers, (amounts) => ratesOf(amounts, rate)) }),
    },
    stated: {
      ...{ currency, per, prompt, completion, request },
      cacheRead: parsed.cache_read,
      cacheWrite: parsed.cache_write,
      ...(parsed.cache_write_1h !== null && { cacheWrite1h: parsed.cache_write_1h }),
      ...(tiers !== null && { tiers: byTier(tiers, statedAmounts) }),
      ...(upstream !== null && { upstream: statedUpstream(upstream, exchangeRate) }),
      usdKrw: conversion?.usdKrw ?? null,
      marginPercent: conversion?.marginPercent ?? null,
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
    ...(write1h !== null && { cacheWrite1h: rate(write1h) }),
  };
}

function statedUpstream(
  { tiers, currency, rate, per, ...amounts }: z.output<typeof upstreamPrice>,
  exchangeRate: ExchangeRate | null,
): StatedUpstreamPrice {
  return {
    currency,
    rate: rate ?? (currency === 'USD' ? (exchangeRate?.usdKrw ?? null) : null),
    per,
    amounts: statedAmounts(amounts),
    ...(tiers !== null && { tiers: byTier(tiers, statedAmounts) }),
  };
}

function byTier<T>(tiers: ParsedTiers, map: (amounts: ParsedAmounts) => T): Readonly<Record<string, T>> {
  return Object.fromEntries(tiers.map(({ tier, ...amounts }) => [tier, map(amounts)]));
}

function statedAmounts(amounts: Readonly<Record<string, string | null>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(amounts).filter((entry): entry is [string, string] => entry[1] !== null),
  );
}
