import { ownProvider } from '../catalogue/model.ts';
import { type PriceVersion, readPrices } from '../catalogue/prices-sql.ts';
import { rateOf, unitsOf } from '../config/rates.ts';
import type { StatedUpstreamPrice } from '../config/schema-prices.ts';
import type { SourceUsage } from '../generations/analytics/usage-sql.ts';
import { decimalToScaled, divideHalfUp } from '../money/krw.ts';
import { costOf, type Price, type Rate, rateOfPico } from '../money/price.ts';
import type { Sql } from '../store/sql.ts';

/** What upstreams charged for usage, as far as it is known. Micro-won. */
export interface Margin {
  readonly billed: bigint;
  /** The part of it from providers whose own price is not known. */
  readonly billedAtUnknownCost: bigint;
  /** What upstreams charge for the rest. */
  readonly upstreamCost: bigint;
  readonly broken: {
    readonly count: bigint;
    /** What upstreams charge for responses that broke off, which no account pays. */
    readonly upstreamCost: bigint;
    /** Those at providers whose own price is not known. */
    readonly countAtUnknownCost: bigint;
  };
}

const percentDecimals = 6;
const whole = 100n * 10n ** BigInt(percentDecimals);

/** The margin of usage with what upstreams charged for it. */
export function marginOf(sources: readonly CostedUsage[]): Margin {
  let [billed, billedAtUnknownCost, upstreamCost] = [0n, 0n, 0n];
  const broken = { count: 0n, upstreamCost: 0n, countAtUnknownCost: 0n };
  for (const row of sources) {
    billed += row.cost;
    if (row.upstream === null) billedAtUnknownCost += row.cost;
    if (row.isBroken) {
      broken.count += row.requests;
      if (row.upstream === null) broken.countAtUnknownCost += row.requests;
      else broken.upstreamCost += row.upstream;
    } else upstreamCost += row.upstream ?? 0n;
  }
  return { billed, billedAtUnknownCost, upstreamCost, broken };
}

/** Usage with what upstreams charged for it; null where that is not known. */
type CostedUsage = SourceUsage & { readonly upstream: bigint | null };

/**
 * Usage with what upstreams charged for it, by the price that billed it (spec:money/2.9). A price
 * states it (`upstream_price`), or is that of the upstream in dollars, to which
 * `exchange.margin_percent` was added. Own slots have no upstream.
 */
export async function marginBySource(
  sql: Sql,
  usage: readonly SourceUsage[],
): Promise<readonly CostedUsage[]> {
  const ids = new Set(usage.map(({ priceVersion }) => Number(priceVersion)));
  const prices = new Map((await readPrices(sql, [...ids])).map((version) => [version.id, version]));
  return usage.map((row) => ({
    ...row,
    upstream:
      row.provider === ownProvider.name ? 0n : upstreamCostOf(row, prices.get(Number(row.priceVersion))),
  }));
}

/** Null when it is not known. */
function upstreamCostOf(row: SourceUsage, version: PriceVersion | undefined): bigint | null {
  if (version === undefined) return null;
  const { upstream, marginPercent } = version.stated;
  if (upstream !== undefined) return priceOf(upstreamPriceOf(upstream), row);
  const margin = marginPercent === null ? null : decimalToScaled(marginPercent, percentDecimals);
  if (margin === null) return null;
  // What broke off was not billed.
  const amount = row.isBroken ? priceOf(version.price, row) : row.cost;
  return divideHalfUp(amount * whole, whole + margin);
}

/** The rates of the ordinary service: sums of usage have no tiers. */
function upstreamPriceOf({ amounts, per, rate: won }: StatedUpstreamPrice): Price {
  const exchange = won === null ? null : { usdKrw: won, marginPercent: '0' };
  const rate = (text = '0', units: bigint = unitsOf[per]): Rate =>
    rateOf(text, units, exchange) ?? rateOfPico(0n);
  const { prompt, completion, cache_read: read = prompt, request } = amounts;
  const cacheRead = rate(read);
  return {
    prompt: rate(prompt),
    completion: rate(completion),
    cacheRead,
    cacheWrite: rate(prompt),
    request: rate(request, 1n),
  };
}

/** What all the responses cost at a price. */
function priceOf({ request, ...perToken }: Price, usage: SourceUsage): bigint {
  const tokens = costOf(
    { ...perToken, request: rateOfPico(0n) },
    {
      promptTokens: Number(usage.promptTokens),
      completionTokens: Number(usage.completionTokens),
      cacheReadTokens: Number(usage.cachedTokens),
      cacheWriteTokens: 0,
      cacheWrite1hTokens: 0,
    },
  );
  return tokens + divideHalfUp(request * usage.requests, 1_000_000n);
}
