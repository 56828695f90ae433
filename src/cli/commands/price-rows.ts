import { type CatalogueChange, isLargeChange } from '../../catalogue/difference.ts';
import type { StatedPrice } from '../../config/config.ts';
import { rateOfPico, rateToDecimal } from '../../money/price.ts';
import type { PublishedPrice } from '../../operations/catalogue-operations.ts';
import { seoulIsoOf } from '../../time/period.ts';
import type { Row } from '../output.ts';

/** The columns of `naru models diff` and `publish`. */
export const diffColumns = ['change', 'model', 'candidate', 'what', 'before', 'after', 'warning'];
const rateNames = ['prompt', 'completion', 'request', 'cache_read', 'cache_write'];
/** The columns of `naru models list`. */
export const listColumns = ['model', 'candidate', 'version', ...rateNames, 'published_at'];
/** The columns of `naru models history`. */
// biome-ignore format: one member a line is no clearer
export const historyColumns = ['version', 'published_at', 'model', 'candidate', ...rateNames, 'stated', 'usd_krw', 'margin_percent', 'facts_as_of'];

/**
 * A published price as a row: won per token (`request`: per request) as exact decimal text, and
 * what it was computed from.
 */
export function versionRow({ id, model, candidate, price, stated, publishedAtMs }: PublishedPrice): Row {
  return {
    version: id,
    published_at: seoulIsoOf(publishedAtMs),
    model,
    candidate,
    ...ratesOf(price),
    currency: stated?.currency ?? null,
    stated: stated === null ? null : statedText(stated),
    usd_krw: stated?.usdKrw ?? null,
    margin_percent: stated?.marginPercent ?? null,
    facts_as_of: stated?.factsAsOf ?? null,
  };
}

/**
 * One row for each number that a change gives another value; for what is gone only its main prices.
 * Null: there is none.
 */
export function changeRows(changed: CatalogueChange): readonly Row[] {
  const { change, model, candidate, before, after } = changed;
  const warning = isLargeChange(changed) ? 'beyond x10' : null;
  const [old, now] = [valuesOf(before), valuesOf(after)];
  const names = change === 'price_changed' ? Object.keys({ ...old, ...now }) : ['prompt', 'completion'];
  const differing = names.filter((name) => old[name] !== now[name]);
  return differing.map((what) => ({
    ...{ change, model, candidate, what },
    before: old[what] ?? null,
    after: now[what] ?? null,
    warning,
  }));
}

function valuesOf(
  one: Pick<PublishedPrice, 'price' | 'stated'> | null,
): Readonly<Record<string, string | null>> {
  if (one === null) return {};
  const { price, stated } = one;
  return {
    ...ratesOf(price),
    currency: stated?.currency ?? null,
    stated: stated === null ? null : statedText(stated),
    usd_krw: stated?.usdKrw ?? null,
    margin_percent: stated?.marginPercent ?? null,
  };
}

function ratesOf(price: PublishedPrice['price']): Readonly<Record<string, string>> {
  const text = (pico: bigint): string => rateToDecimal(rateOfPico(pico));
  return {
    prompt: text(price.prompt),
    completion: text(price.completion),
    request: text(price.request),
    cache_read: text(price.cacheRead),
    cache_write: text(price.cacheWrite),
  };
}

/** `USD 0.15/0.6 per 1M, cache 0.075/-, request 0.01`. */
function statedText({
  currency,
  per,
  prompt,
  completion,
  request,
  cacheRead,
  cacheWrite,
}: StatedPrice): string {
  const cache =
    cacheRead === null && cacheWrite === null ? '' : `, cache ${cacheRead ?? '-'}/${cacheWrite ?? '-'}`;
  return `${currency} ${prompt}/${completion} per ${per}${cache}${request === '0' ? '' : `, request ${request}`}`;
}
