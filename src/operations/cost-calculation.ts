import type { PriceVersion } from '../catalogue/prices-sql.ts';
import type { GenerationDetail } from '../generations/generation.ts';
import { amountOf, costLines, priceIn } from '../money/price.ts';
import type { GenerationRow } from '../store/generation-row.ts';
import { isoOf } from '../time/clock.ts';

/**
 * The calculation of a cost by the price that it was billed with, in pico-won as text. Its exact sum,
 * rounded half up to micro-won, is the cost, unless the response was free.
 */
export function costCalculation(row: GenerationRow, { id, candidate, price, publishedAtMs }: PriceVersion) {
  const detail = JSON.parse(row.detail) as GenerationDetail;
  const tier = detail.billed_tier;
  const lines = costLines(priceIn(price, tier), {
    promptTokens: row.promptTokens,
    completionTokens: row.completionTokens,
    cacheReadTokens: detail.cache_read_tokens ?? 0,
    cacheWriteTokens: detail.cache_write_tokens ?? 0,
    cacheWrite1hTokens: detail.cache_write_1h_tokens ?? 0,
  });
  const sum = lines.reduce((total, line) => total + amountOf(line), 0n);
  return {
    version: id,
    candidate,
    tier: tier ?? null,
    unpriced_tier: tier === null ? (detail.service_tier ?? null) : null,
    published_at: isoOf(publishedAtMs),
    lines: lines.map((line) => ({
      item: line.item,
      units: line.units,
      rate_pico: String(line.rate),
      amount_pico: String(amountOf(line)),
    })),
    sum_pico: String(sum),
    is_free: row.cost === 0n && sum > 0n,
  };
}
