import { divideHalfUp, type Krw } from './krw.ts';

/**
 * A rate in won per token (or per request, per image) as a count of pico-won: 12 decimals, exactly
 * (spec:money/2.1).
 */
declare const unit: unique symbol;
export type Rate = bigint & { readonly [unit]: 'pico-won' };

const picoPerMicro = 1_000_000n;

/** The rates of the tokens of one service, in pico-won. */
export interface TokenRates {
  /** Per prompt token. */
  readonly prompt: Rate;
  /** Per completion token, reasoning tokens included. */
  readonly completion: Rate;
  /** Per prompt token read from the upstream's cache; `prompt` when not stated. */
  readonly cacheRead: Rate;
  /** Per prompt token written to the upstream's cache; `prompt` when not stated. */
  readonly cacheWrite: Rate;
  /** Per prompt token written for an hour; absent: `cacheWrite`, and no such write is requested. */
  readonly cacheWrite1h?: Rate;
}

/**
 * The price of one model at one candidate: the rates of the ordinary service, and of the service
 * tiers that have their own.
 */
export interface Price extends TokenRates {
  /** Per request, whatever its size and tier. */
  readonly request: Rate;
  /** By the names with which upstreams report them; absent: there are none. */
  readonly tiers?: Readonly<Record<string, TokenRates>>;
}

/**
 * The billed units of one generation. `cacheReadTokens` and `cacheWriteTokens` are parts of
 * `promptTokens`, `cacheWrite1hTokens` of `cacheWriteTokens`.
 */
export interface BilledUnits {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly cacheWrite1hTokens: number;
}

/** The classes of units that have a rate. Their units add up to the tokens, and one request. */
const classes = {
  request: { units: () => 1, rate: ({ request }) => request },
  prompt: {
    units: ({ promptTokens, cacheReadTokens, cacheWriteTokens }) =>
      promptTokens - cacheReadTokens - cacheWriteTokens,
    rate: ({ prompt }) => prompt,
  },
  cache_read: { units: ({ cacheReadTokens }) => cacheReadTokens, rate: ({ cacheRead }) => cacheRead },
  cache_write: {
    units: ({ cacheWriteTokens, cacheWrite1hTokens }) => cacheWriteTokens - cacheWrite1hTokens,
    rate: ({ cacheWrite }) => cacheWrite,
  },
  cache_write_1h: {
    units: ({ cacheWrite1hTokens }) => cacheWrite1hTokens,
    rate: ({ cacheWrite, cacheWrite1h = cacheWrite }) => cacheWrite1h,
  },
  completion: { units: ({ completionTokens }) => completionTokens, rate: ({ completion }) => completion },
} as const satisfies Readonly<Record<string, UsageClass>>;

interface UsageClass {
  readonly units: (units: BilledUnits) => number;
  readonly rate: (rates: Price) => Rate;
}

/** The name of a class of units. */
export type UsageClassName = keyof typeof classes;
/** The classes in the order of a bill. */
export const usageClasses = Object.keys(classes) as readonly UsageClassName[];
const eachClass = Object.entries(classes) as readonly (readonly [UsageClassName, UsageClass])[];

/** Names with which upstreams report their ordinary service. */
const ordinaryTiers: ReadonlySet<string> = new Set(['default', 'standard', 'auto', 'on_demand']);

/**
 * The tier by which a response is billed: the one that the upstream reports, if the price has a row
 * for it. Undefined: the ordinary service was reported, or nothing; null: a tier without a row, so
 * the ordinary price.
 */
export function billedTierOf({ tiers = {} }: Price, reported: string | null): string | null | undefined {
  const name = reported?.toLowerCase();
  if (name === undefined || name === '') return undefined;
  if (Object.hasOwn(tiers, name)) return name;
  return ordinaryTiers.has(name) ? undefined : null;
}

/** A price with the rates of one of its tiers; as it is without one. */
export function priceIn(price: Price, tier: string | null | undefined): Price {
  if (tier == null) return price;
  const { cacheWrite1h: _, ...ordinary } = price;
  const rates = price.tiers !== undefined && Object.hasOwn(price.tiers, tier) ? price.tiers[tier] : price;
  return { ...ordinary, ...rates };
}

/** The highest rate of each class in any tier: what no response costs more than. */
export function highestRates(price: Price): Readonly<Record<UsageClassName, Rate>> {
  const rows = [price, ...Object.keys(price.tiers ?? {}).map((tier) => priceIn(price, tier))];
  return Object.fromEntries(
    eachClass.map(([name, { rate }]) => [name, rows.map(rate).reduce((a, b) => (a > b ? a : b))]),
  ) as Record<UsageClassName, Rate>;
}

/** The rate of a class. */
export function rateIn(price: Price, name: UsageClassName): Rate {
  return classes[name].rate(price);
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
  readonly item: UsageClassName;
  readonly units: number;
  readonly rate: Rate;
}

/** The lines whose exact sum `costOf` rounds; a line without units or a request without a fee is left out. */
export function costLines(price: Price, units: BilledUnits): readonly CostLine[] {
  return eachClass
    .map(([item, { units: unitsOf, rate }]) => ({ item, units: unitsOf(units), rate: rate(price) }))
    .filter(({ item, units: count, rate }) => count !== 0 && !(item === 'request' && rate === 0n));
}

/** The exact amount of a line in pico-won. */
export function amountOf({ units, rate }: CostLine): bigint {
  return BigInt(units) * rate;
}

function exactCostOf(price: Price, units: BilledUnits): bigint {
  let sum = 0n;
  for (const [, { units: unitsOf, rate }] of eachClass) {
    const count = unitsOf(units);
    // Most requests have no units at most rates.
    if (count !== 0) sum += BigInt(count) * rate(price);
  }
  return sum;
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
