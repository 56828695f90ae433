import { type Rate, rateToDecimal } from '../../money/price.ts';
import type { Mapping } from '../mapping.ts';
import {
  maxRate,
  maxUnconfirmedRate,
  maxUnconfirmedRequestRate,
  plainDecimal,
  rateOf,
  unitsOf,
} from '../rates.ts';
import type { price } from '../schema-models.ts';
import type { Exchange, FileMapping, ModelContext, ModelMapping } from './context.ts';
import { isFactPrice } from './metadata.ts';

const members = ['prompt', 'completion', 'request', 'cache_read', 'cache_write'] as const;

/** The exchange rate of the file. */
export function exchangeOf(file: FileMapping): Exchange {
  if (!file.states('exchange')) return 'unstated';
  const exchange = file.mapping('exchange');
  const [usdKrw, marginPercent] = [exchange.value('usd_krw'), exchange.value('margin_percent')];
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
  else checkRates(row.mapping('price'), exchange);
  for (const candidate of row.mappings('candidates')) {
    if (!candidate.states('price') && !row.states('price'))
      candidate.addAt(
        'price',
        'is missing, and the model has none either: a model without a price cannot be served',
      );
    checkRates(candidate.mapping('price'), exchange);
  }
}

function checkRates(row: Mapping<typeof price>, exchange: Exchange): void {
  const inUsd = row.value('currency') === 'USD';
  if (inUsd && exchange === 'unstated')
    row.addAt('currency', 'is USD, but the file states no exchange: { usd_krw: … }');
  if (inUsd && typeof exchange === 'string') return;
  const per = row.value('per');
  if (per === undefined) return;
  const rates = inUsd && typeof exchange !== 'string' ? exchange : null;
  for (const name of members) {
    const text = row.value(name);
    if (text === undefined) continue;
    const rate = rateOf(text, name === 'request' ? 1n : unitsOf[per], rates);
    if (rate !== null && rate > maxRate) row.addAt(name, 'is above a million won per unit');
    else if (rate !== null && row.value('confirm') === false) checkConfirmed(row, name, rate);
    if (rate === 0n && plainDecimal(text) !== '0')
      row.addAt(
        name,
        'rounds to 0, because a rate has 12 decimals of a won per unit: write 0 for a free model',
      );
  }
}

/** A wrong `per` or amount is wrong by a factor of a thousand or a million. */
function checkConfirmed(row: Mapping<typeof price>, name: (typeof members)[number], rate: Rate): void {
  const [max, unit] =
    name === 'request' ? [maxUnconfirmedRequestRate, 'request'] : ([maxUnconfirmedRate, 'token'] as const);
  if (rate > max)
    row.addAt(
      name,
      `is ${rateToDecimal(rate)} won per ${unit}, more than ten times the dearest model that Naru lists (${rateToDecimal(max)}): correct the amount or per, or state confirm: true beside it`,
    );
}
