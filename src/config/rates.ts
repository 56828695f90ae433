import { decimalToScaled, divideHalfUp } from '../money/krw.ts';
import { type Rate, rateOfPico } from '../money/price.ts';

/** The number of units that a stated price is for. */
export const unitsOf = { token: 1n, '1K': 1000n, '1M': 1_000_000n } as const;

/**
 * The highest rate: a million won per unit. It fits a PostgreSQL bigint of pico-won nine times
 * over.
 */
export const maxRate = rateOfPico(10n ** 18n);
/** The rate of an example: a stated one is within half and one and a half times it, or confirmed. */
export const exampleUsdKrw = 1_400;
const picoPerWon = 10n ** 12n;

/**
 * The highest rate of a token that needs no `confirm: true`: ten times that of the dearest shipped
 * model, 75 dollars per million tokens, at `exampleUsdKrw`. A test compares it with `data/`.
 */
export const maxUnconfirmedRate = rateOfPico((10n * 75n * BigInt(exampleUsdKrw) * picoPerWon) / 1_000_000n);
/** The same for a request: that of a thousand such tokens. */
export const maxUnconfirmedRequestRate = rateOfPico(1_000n * maxUnconfirmedRate);

/** How USD is converted, as decimal text, so that a rate can be recorded and recomputed exactly. */
export interface ExchangeRate {
  /** Won for one US dollar. */
  readonly usdKrw: string;
  /** Added on conversion, in percent. */
  readonly marginPercent: string;
}

/** An exact decimal number: `digits` / 10^`decimals`. */
interface Exact {
  readonly digits: bigint;
  readonly decimals: number;
}

/**
 * The rate of a stated price, in pico-won per unit: computed as a fraction and rounded once, half
 * up, at 12 decimals of a won (spec:money/2.4). For USD, with an exchange: `usd × usd_krw × (1 +
 * margin / 100)`. Null when the text, or one of the exchange's, is not a non-negative decimal
 * number. May exceed `maxRate`.
 */
export function rateOf(text: string, units: bigint, exchange: ExchangeRate | null): Rate | null {
  const amount = exactOf(text);
  if (amount === null) return null;
  const factors = exchange === null ? [] : exchangeFactors(exchange);
  if (factors === null) return null;
  const all = [amount, ...factors];
  const dividend = all.reduce((product, factor) => product * factor.digits, picoPerWon);
  const divisor = all.reduce((product, factor) => product * 10n ** BigInt(factor.decimals), units);
  return rateOfPico(divideHalfUp(dividend, divisor));
}

/**
 * The same decimal number times 10^`power`, without sign, exponent and redundant zeros: `1.50e-3`
 * is `0.0015`. Null when the text is not one.
 */
export function plainDecimal(text: string, power = 0): string | null {
  const exact = exactOf(text);
  if (exact === null) return null;
  const decimals = Math.max(0, exact.decimals - power);
  const scaled = exact.digits * 10n ** BigInt(Math.max(0, power - exact.decimals));
  const digits = String(scaled).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/(?<!0)0+$/, '');
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

function exchangeFactors(exchange: ExchangeRate): readonly Exact[] | null {
  const rate = exactOf(exchange.usdKrw);
  const margin = exactOf(exchange.marginPercent);
  if (rate === null || margin === null) return null;
  // 1 + margin / 100, over the same power of ten.
  const factor = {
    digits: 10n ** BigInt(margin.decimals + 2) + margin.digits,
    decimals: margin.decimals + 2,
  };
  return [rate, factor];
}

function exactOf(text: string): Exact | null {
  const parts = /^\+?\d*(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text);
  if (parts === null) return null;
  const [, fraction = '', exponent = '0'] = parts;
  const decimals = Math.max(0, fraction.length - Number(exponent));
  const digits = decimalToScaled(text, decimals);
  return digits === null ? null : { digits, decimals };
}
