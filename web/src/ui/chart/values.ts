import type { Format } from '../../i18n/use-format.ts';
import type { ValueFormat } from './chart-data.ts';

/** Sums below this many micro-won, a hundred won, have decimals. */
const smallSum = 100_000_000n;

/** Amounts of micro-won: exact in tooltips, whole won in sums unless they are small. */
export function moneyValues(format: Format): ValueFormat {
  return {
    exact: (value) => format.money(BigInt(value)),
    axis: format.moneyAxis,
    sum: (value) => format.money(BigInt(value), { maxDecimals: BigInt(value) < smallSum ? 4 : 0 }),
  };
}

/** Counts of requests or tokens. */
export function countValues(format: Format): ValueFormat {
  return { exact: format.count, axis: format.countAxis, sum: format.countCompact, isWhole: true };
}

/** Durations in milliseconds; they do not add up. */
export function durationValues(format: Format): ValueFormat {
  return {
    exact: (value) => format.duration(Number(value)),
    axis: format.durationAxis,
    sum: null,
  };
}

/** Fractions from 0 to 1, shown as percent; they do not add up. */
export function percentValues(format: Format): ValueFormat {
  return { exact: (value) => format.percent(Number(value)), axis: format.percent, sum: null };
}
