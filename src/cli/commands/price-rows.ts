import { type CatalogueChange, isLargeChange } from '../../catalogue/difference.ts';
import type { StatedPrice, StatedTiers } from '../../config/schema-prices.ts';
import { rateToDecimal, type TokenRates } from '../../money/price.ts';
import type { PublishedPrice } from '../../operations/catalogue-operations.ts';
import { seoulIsoOf } from '../../time/period.ts';
import type { Row } from '../output.ts';

/** The columns of `naru models diff` and `publish`. */
export const diffColumns = ['change', 'model', 'candidate', 'what', 'before', 'after', 'warning'];
const rateNames = ['prompt', 'completion', 'request', 'cache_read', 'cache_write', 'cache_write_1h'];
/** The columns of `naru models list`. */
export const listColumns = [
  'model',
  'candidate',
  'version',
  ...rateNames,
  'tiers',
  'upstream_price',
  'published_at',
];
/** The columns of `naru models history`. */
// biome-ignore format: one member a line is no clearer
export const historyColumns = ['version', 'published_at', 'model', 'candidate', ...rateNames, 'stated', 'upstream_price', 'usd_krw', 'margin_percent', 'facts_as_of'];

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
    currency: stated.currency,
    stated: statedText(stated),
    tiers: stated.tiers === undefined ? null : tiersText(stated.tiers),
    upstream_price: stated.upstream === undefined ? null : upstreamText(stated.upstream),
    usd_krw: stated.usdKrw,
    margin_percent: stated.marginPercent,
    facts_as_of: stated.factsAsOf,
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
    currency: stated.currency,
    stated: statedText(stated),
    upstream_price: stated.upstream === undefined ? null : upstreamText(stated.upstream),
    usd_krw: stated.usdKrw,
    margin_percent: stated.marginPercent,
  };
}

/** Won per token; a tier's rates have its name in front. */
function ratesOf(price: PublishedPrice['price']): Readonly<Record<string, string>> {
  const { tiers = {}, request, ...ordinary } = price;
  return Object.assign(
    { ...tokenRatesOf(ordinary), request: rateToDecimal(request) },
    ...Object.entries(tiers).map(([tier, rates]) => tokenRatesOf(rates, `${tier}.`)),
  );
}

function tokenRatesOf(rates: TokenRates, before = ''): Readonly<Record<string, string>> {
  const { prompt, completion, cacheRead, cacheWrite, cacheWrite1h } = rates;
  return {
    [`${before}prompt`]: rateToDecimal(prompt),
    [`${before}completion`]: rateToDecimal(completion),
    [`${before}cache_read`]: rateToDecimal(cacheRead),
    [`${before}cache_write`]: rateToDecimal(cacheWrite),
    ...(cacheWrite1h !== undefined && { [`${before}cache_write_1h`]: rateToDecimal(cacheWrite1h) }),
  };
}

/** `USD 0.15/0.6 per 1M, cache 0.075/-, request 0.01`. */
function statedText(stated: StatedPrice): string {
  const { currency, per, prompt, completion, request, cacheRead, cacheWrite, cacheWrite1h, tiers } = stated;
  const cached = [cacheRead, cacheWrite, ...(cacheWrite1h === undefined ? [] : [cacheWrite1h])];
  const cache = cached.every((text) => text === null)
    ? ''
    : `, cache ${cached.map((text) => text ?? '-').join('/')}`;
  const rest = `${request === '0' ? '' : `, request ${request}`}${tiers === undefined ? '' : `; ${tiersText(tiers)}`}`;
  return `${currency} ${prompt}/${completion} per ${per}${cache}${rest}`;
}

/** `priority 0.3/1.2, flex 0.075/0.3`. */
function tiersText(tiers: StatedTiers): string {
  return Object.entries(tiers)
    .map(([tier, amounts]) => `${tier} ${amountsText(amounts)}`)
    .join(', ');
}

/** `CNY 1/4 per 1M at 190.5`. */
function upstreamText({ currency, rate, per, amounts, tiers }: NonNullable<StatedPrice['upstream']>): string {
  const at = rate === null ? '' : ` at ${rate}`;
  return `${currency} ${amountsText(amounts)} per ${per}${at}${tiers === undefined ? '' : `; ${tiersText(tiers)}`}`;
}

function amountsText({ prompt, completion, ...rest }: Readonly<Record<string, string>>): string {
  const more = Object.entries(rest).filter(([, text]) => text !== '0');
  return `${prompt}/${completion}${more.map(([name, text]) => ` ${name} ${text}`).join('')}`;
}
