import type { ExchangeConfig } from './config.ts';
import type { Path } from './fault.ts';
import { isFactPrice, type KnownMetadata } from './model-metadata/faults.ts';
import { maxRate, plainDecimal, rateOf, unitsOf } from './rates.ts';
import type { SourceMap } from './source-map.ts';
import { has, itemsOf, type Members, memberOf, membersOf, textOf } from './tree.ts';

/**
 * Reports candidates without a price, and prices that cannot be converted to won (spec:money/2.3).
 */
export function addPriceFaults(file: Members, sourceMap: SourceMap, known: KnownMetadata): void {
  const exchange = exchangeOf(file);
  for (const [index, model] of itemsOf(file, 'models')) {
    const path = ['models', index];
    const fromFacts = isFactPrice(model, known);
    if (fromFacts && exchange === 'unstated') {
      const message = 'comes in USD from the public facts, but the file states no exchange: { usd_krw: … }';
      sourceMap.add([...path, 'price'], message);
    } else addRateFaults(model, path, exchange, sourceMap);
    for (const [position, candidate] of itemsOf(model, 'candidates')) {
      const at = [...path, 'candidates', position];
      if (!has(candidate, 'price') && !has(model, 'price')) {
        sourceMap.add(
          [...at, 'price'],
          'is missing, and the model has none either: a model without a price cannot be served',
        );
      }
      addRateFaults(candidate, at, exchange, sourceMap);
    }
  }
}

/** `unstated` when there is no exchange rate; `faulty` when the schema rejects it. */
function exchangeOf(file: Members): ExchangeConfig | 'unstated' | 'faulty' {
  if (!has(file, 'exchange')) return 'unstated';
  const exchange = membersOf(memberOf(file, 'exchange'));
  const usdKrw = textOf(exchange, 'usd_krw');
  const marginPercent = textOf(exchange, 'margin_percent') ?? '0';
  if (usdKrw === undefined) return 'faulty';
  const isFaulty = plainDecimal(usdKrw) === '0' || rateOf('0', 1n, { usdKrw, marginPercent }) === null;
  return isFaulty ? 'faulty' : { usdKrw, marginPercent };
}

function addRateFaults(
  owner: Members,
  path: Path,
  exchange: ExchangeConfig | 'unstated' | 'faulty',
  sourceMap: SourceMap,
): void {
  const price = membersOf(memberOf(owner, 'price'));
  const inUsd = textOf(price, 'currency') === 'USD';
  if (inUsd && exchange === 'unstated') {
    sourceMap.add([...path, 'price', 'currency'], 'is USD, but the file states no exchange: { usd_krw: … }');
  }
  if (inUsd && typeof exchange === 'string') return;
  const per = textOf(price, 'per') ?? 'token';
  if (!isPer(per)) return;
  const rates = inUsd && typeof exchange !== 'string' ? exchange : null;
  for (const name of ['prompt', 'completion', 'request', 'cache_read', 'cache_write']) {
    const text = textOf(price, name) ?? '0';
    const rate = rateOf(text, name === 'request' ? 1n : unitsOf[per], rates);
    if (rate !== null && rate > maxRate) {
      sourceMap.add([...path, 'price', name], 'is above a million won per unit');
    }
    if (rate === 0n && plainDecimal(text) !== '0') {
      sourceMap.add(
        [...path, 'price', name],
        'rounds to 0, because a rate has 12 decimals of a won per unit: write 0 for a free model',
      );
    }
  }
}

function isPer(text: string): text is keyof typeof unitsOf {
  return Object.hasOwn(unitsOf, text);
}
