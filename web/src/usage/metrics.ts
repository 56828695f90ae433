import type { ResponseOf } from '../api/client.ts';
import { parseMicro } from '../format/money.ts';
import type { Format } from '../i18n/use-format.ts';
import {
  countValues,
  durationValues,
  moneyValues,
  percentValues,
  type ValueFormat,
} from '../ui/chart/index.tsx';

/** The sums of usage, as the API sends them. */
export type Sums = ResponseOf<'GET /dashboard/api/usage/totals'>['sums'];

/** A sum that a chart shows. */
export const sumMetrics = [
  'cost',
  'requests',
  'prompt_tokens',
  'completion_tokens',
  'reasoning_tokens',
  'cached_tokens',
] as const;
export type SumMetric = (typeof sumMetrics)[number];

/** A distribution that a chart shows by two percentiles. */
export const distributions = ['ttft', 'duration', 'speed'] as const;
export type DistributionMetric = (typeof distributions)[number];

/** The percentiles of a distribution that are shown. */
export const percentiles = ['p50', 'p95'] as const;
export type Percentile = (typeof percentiles)[number];

/** Everything that the explorer shows. */
export const metrics = [...sumMetrics, 'error_rate', ...distributions] as const;
export type Metric = (typeof metrics)[number];

/** Whether a metric is shown by percentiles. */
export function isDistribution(metric: Metric): metric is DistributionMetric {
  return distributions.some((one) => one === metric);
}

/** The value of a sum; a fraction for the error rate, null without requests. */
export function sumValue(metric: SumMetric | 'error_rate', sums: Sums): bigint | number | null {
  if (metric === 'cost') return parseMicro(sums.cost_micro);
  if (metric === 'error_rate') return sums.requests === 0 ? null : sums.failures / sums.requests;
  return sums[metric];
}

/** An exact value of a metric. */
export function formatMetric(metric: Metric, value: bigint | number, format: Format): string {
  switch (metric) {
    case 'cost':
      return format.money(BigInt(value));
    case 'error_rate':
      return format.percent(Number(value));
    case 'ttft':
    case 'duration':
      return format.duration(Number(value));
    case 'speed':
      return format.rate(Number(value));
    default:
      return format.count(value);
  }
}

/** How a chart writes the values of a metric. */
export function metricValues(metric: Metric, format: Format): ValueFormat {
  switch (metric) {
    case 'cost':
      return moneyValues(format);
    case 'error_rate':
      return percentValues(format);
    case 'ttft':
    case 'duration':
      return durationValues(format);
    case 'speed':
      return { exact: (value) => format.rate(Number(value)), axis: format.rate, sum: null };
    default:
      return countValues(format);
  }
}
