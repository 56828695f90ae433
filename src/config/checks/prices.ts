import { type Rate, rateToDecimal } from '../../money/price.ts';
import type { MappingOf } from '../mapping.ts';
import {
  type ExchangeRate,
  exampleUsdKrw,
  maxRate,
  maxUnconfirmedRate,
  maxUnconfirmedRequestRate,
  plainDecimal,
  rateOf,
  unitsOf,
} from '../rates.ts';
import type { price, tier, upstreamPrice } from '../schema-prices.ts';
import type { Exchange, FileMapping, ModelContext, ModelMapping } from './context.ts';
import { isFactPrice } from './metadata.ts';

const ofTokens = ['prompt', 'completion', 'cache_read', 'cache_write', 'cache_write_1h'] as const;

/** The exchange rate of the file. Reports one that is probably a mistake. */
export function exchangeOf(file: FileMapping): Exchange {
  if (!file.states('exchange')) return 'unstated';
  const exchange = file.mapping('exchange');
  const [usdKrw, marginPercent] = [exchange.value('usd_krw'), exchange.value('margin_percent')];
  const isFar = Math.abs(Number(usdKrw ?? exampleUsdKrw) / exampleUsdKrw - 1) > 0.5;
  if (isFar && exchange.value('confirm') === false)
    exchange.addAt(
      'usd_krw',
      `is more than 50 % above or below ${exampleUsdKrw} won for one US dollar: correct it, or state confirm: true beside it`,
    );
  return usdKrw === undefined || marginPercent === undefined ? 'faulty' : { usdKrw, marginPercent };
}

/**
 * Reports candidates without a price, and prices that cannot be converted to won (spec:money/2.3).
 */
export function checkPrices(
  row: ModelMapping,
  { exchange, known }: Pick<ModelContext, 'exchange' | 'known'>,
): void {
  if (isFactPrice(row, known) && exchange === 'unstated')
    row.addAt('price', 'comes in USD from the public facts, but the file states no exchange: { usd_krw: … }');
  else checkPrice(row.mapping('price'), exchange);
  for (const candidate of row.mappings('candidates')) {
    if (!candidate.states('price') && !row.states('price'))
      candidate.addAt(
        'price',
        'is missing, and the model has none either: a model without a price cannot be served',
      );
    checkPrice(candidate.mapping('price'), exchange);
  }
}

function checkPrice(row: MappingOf<typeof price>, exchange: Exchange): void {
  if (row.states('upstream_price')) checkUpstream(row.mapping('upstream_price'), exchange);
  checkRates(row, exchange);
}

function checkRates(row: MappingOf<typeof price>, exchange: Exchange): void {
  const inUsd = row.value('currency') === 'USD';
  if (inUsd && exchange === 'unstated')
    row.addAt('currency', 'is USD, but the file states no exchange: { usd_krw: … }');
  if (inUsd && typeof exchange === 'string') return;
  const per = row.value('per');
  if (per === undefined) return;
  const by: CheckedBy = {
    units: unitsOf[per],
    exchange: inUsd && typeof exchange !== 'string' ? exchange : null,
    isConfirmed: row.value('confirm') !== false,
  };
  checkRate(row.value('request'), { ...by, units: 1n }, requestMax, (fault) => row.addAt('request', fault));
  checkTokens(row, by);
  checkTiers(row.mappings('tiers'), by);
  if (row.states('cache_write_1h'))
    for (const own of row.mappings('tiers'))
      if (!own.states('cache_write_1h'))
        own.addAt('cache_write_1h', 'is missing, and the ordinary price has one');
}

/** What an upstream charges is in a currency whose rate is known. It bills nothing. */
function checkUpstream(row: MappingOf<typeof upstreamPrice>, exchange: Exchange): void {
  const [currency, per, stated] = [row.value('currency'), row.value('per'), row.value('rate')];
  if (currency === 'KRW' && row.states('rate')) row.addAtName('rate', 'has no effect on a price in KRW');
  const own = currency === 'USD' && typeof exchange !== 'string' ? exchange.usdKrw : undefined;
  const usdKrw = stated ?? own;
  if (currency !== undefined && currency !== 'KRW' && !row.states('rate') && own === undefined)
    row.addAt('rate', `is missing: state the won for one ${currency}`);
  if (per === undefined || (currency !== 'KRW' && usdKrw === undefined)) return;
  const inWon = currency === 'KRW' || usdKrw === undefined ? null : { usdKrw, marginPercent: '0' };
  const by: CheckedBy = { units: unitsOf[per], exchange: inWon, isConfirmed: true };
  checkRate(row.value('request'), { ...by, units: 1n }, requestMax, (fault) => row.addAt('request', fault));
  checkTokens(row, by);
  checkTiers(row.mappings('tiers'), by);
}

function checkTiers(tiers: readonly MappingOf<typeof tier>[], by: CheckedBy): void {
  const names = tiers.map((row) => row.value('tier'));
  for (const [position, row] of tiers.entries()) {
    checkTokens(row, by);
    if (names[position] !== undefined && names.indexOf(names[position]) < position)
      row.addAt('tier', 'is already stated');
  }
}

interface CheckedBy {
  readonly units: bigint;
  readonly exchange: ExchangeRate | null;
  readonly isConfirmed: boolean;
}

/** A mapping with the amounts of one service. */
interface TokenPrices {
  value(name: (typeof ofTokens)[number]): string | undefined;
  addAt(name: (typeof ofTokens)[number], message: string): void;
}

function checkTokens(row: TokenPrices, by: CheckedBy): void {
  for (const name of ofTokens) checkRate(row.value(name), by, tokenMax, (fault) => row.addAt(name, fault));
}

function checkRate(
  text: string | undefined,
  { units, exchange, isConfirmed }: CheckedBy,
  max: UnconfirmedMax,
  add: (fault: string) => void,
): void {
  if (text === undefined) return;
  const rate = rateOf(text, units, exchange);
  if (rate !== null && rate > maxRate) add('is above a million won per unit');
  else if (rate !== null && !isConfirmed && rate > max.rate) add(unconfirmed(rate, max));
  if (rate === 0n && plainDecimal(text) !== '0')
    add('rounds to 0, because a rate has 12 decimals of a won per unit: write 0 for a free model');
}

interface UnconfirmedMax {
  readonly rate: Rate;
  readonly unit: string;
}
const tokenMax: UnconfirmedMax = { rate: maxUnconfirmedRate, unit: 'token' };
const requestMax: UnconfirmedMax = { rate: maxUnconfirmedRequestRate, unit: 'request' };

/** A wrong `per` or amount is wrong by a factor of a thousand or a million. */
function unconfirmed(rate: Rate, max: UnconfirmedMax): string {
  return `is ${rateToDecimal(rate)} won per ${max.unit}, more than ten times the dearest model that Naru lists (${rateToDecimal(max.rate)}): correct the amount or per, or state confirm: true beside it`;
}
