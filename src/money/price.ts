import { divideHalfUp, type Krw } from './krw.ts';

/**
 * A rate in won per token (or per request, per image) as a count of pico-won: 12 decimals, exactly
 * (spec:money/2.1).
 */
declare const unit: unique symbol;
export type Rate = bigint & { readonly [unit]: 'pico-won' };

const picoPerMicro = 1_000_000n;

/**
 * The price of one model at one candidate. Every rate is in pico-won per unit; a rate that is not
 * stated is that of its parent.
 */
export interface Price {
  /** Per prompt token. */
  readonly prompt: Rate;
  /** Per completion token, reasoning tokens included. */
  readonly completion: Rate;
  /** Per request, whatever its size. */
  readonly request: Rate;
  /** Per prompt token read from the upstream's cache; `prompt` when not stated. */
  readonly cacheRead: Rate;
  /** Per prompt token written to the upstream's cache; `prompt` when not stated. */
  readonly cacheWrite: Rate;
}

/**
 * The billed units of one generation. `cacheReadTokens` and `cacheWriteTokens` are parts of
 * `promptTokens`.
 */
export interface BilledUnits {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
}

/** Marks a number of pico-won as a rate. */
export function rateOfPico(pico: bigint): Rate {
  return pico as Rate;
}

/**
 * The cost of a generation: summed exactly in pico-won and rounded ONCE, half up, to the micro-won
 * (spec:money/1.4). This is the only place where money is rounded when it is charged.
 */
export function costOf(price: Price, units: BilledUnits): Krw {
  return divideHalfUp(exactCostOf(price, units), picoPerMicro) as Krw;
}

/**
 * The part of a cost that stems from the prompt, rounded for display only: it is never charged by
 * itself.
 */
export function promptCostOf(price: Price, units: BilledUnits): Krw {
  return costOf(price, { ...units, completionTokens: 0 });
}

/** One line of the arithmetic of a cost: so many units at a rate. */
export interface CostLine {
  readonly item: 'request' | 'prompt' | 'cache_read' | 'cache_write' | 'completion';
  readonly units: number;
  readonly rate: Rate;
}

/** The lines whose exact sum `costOf` rounds; a line without units is left out. */
export function costLines(price: Price, units: BilledUnits): readonly CostLine[] {
  const { promptTokens, completionTokens, cacheReadTokens, cacheWriteTokens } = units;
  const lines: readonly CostLine[] = [
    { item: 'request', units: price.request === 0n ? 0 : 1, rate: price.request },
    { item: 'prompt', units: promptTokens - cacheReadTokens - cacheWriteTokens, rate: price.prompt },
    { item: 'cache_read', units: cacheReadTokens, rate: price.cacheRead },
    { item: 'cache_write', units: cacheWriteTokens, rate: price.cacheWrite },
    { item: 'completion', units: completionTokens, rate: price.completion },
  ];
  return lines.filter((line) => line.units !== 0);
}

function exactCostOf(price: Price, units: BilledUnits): bigint {
  const plainTokens = units.promptTokens - units.cacheReadTokens - units.cacheWriteTokens;
  return (
    price.request +
    times(plainTokens, price.prompt) +
    times(units.cacheReadTokens, price.cacheRead) +
    times(units.cacheWriteTokens, price.cacheWrite) +
    times(units.completionTokens, price.completion)
  );
}

/** Most requests have no units at most rates. */
function times(units: number, rate: Rate): bigint {
  return units === 0 ? 0n : BigInt(units) * rate;
}

/**
 * A rate as the decimal string of the models listing: won per unit, without trailing zeros
 * (`"0.0000004"`, `"0"`).
 */
export function rateToDecimal(rate: Rate): string {
  const digits = String(rate).padStart(13, '0');
  const fraction = digits.slice(-12).replace(/(?<!0)0+$/, '');
  return fraction === '' ? digits.slice(0, -12) : `${digits.slice(0, -12)}.${fraction}`;
}
