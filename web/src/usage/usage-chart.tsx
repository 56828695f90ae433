import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { wordsOfError } from '../api/errors.ts';
import { useFormat, useLanguage } from '../i18n/use-format.ts';
import { plus } from '../ui/chart/chart-data.ts';
import { Chart } from '../ui/chart/index.tsx';
import { EmptyState, ErrorState, Skeleton, useNow } from '../ui/states.tsx';
import {
  isDistribution,
  type Metric,
  metricValues,
  type Percentile,
  percentiles,
  sumValue,
} from './metrics.ts';
import { useOpenPoint } from './open-point.ts';
import { axisOf, type Step, seriesOf, stepsOf } from './series.ts';
import { type Dimension, stepOf, type useUsageSearch } from './usage-search.ts';
import { type UsageSource, usageQuery } from './usage-source.ts';

export interface UsageChartProps {
  /** The own account unless stated. */
  readonly source?: UsageSource;
  readonly query: ReturnType<typeof useUsageSearch>['query'];
  readonly metric: Metric;
  /** The dimension of the series; null: one series. */
  readonly by: Dimension | null;
  /** Chosen by the length of the range unless stated. */
  readonly step?: Step | undefined;
  readonly isCumulative?: boolean;
  /** Which percentile of a distribution is drawn for each value of the dimension. */
  readonly percentile?: Percentile;
  readonly heightPx?: number;
}

const maxSeries = 7;

/**
 * A metric over time: stacked sums by a dimension, or percentiles; without a dimension both of them.
 * A point leads to its requests.
 */
export function UsageChart(props: UsageChartProps) {
  return isDistribution(props.metric) ? <PercentileChart {...props} /> : <SumChart {...props} />;
}

/** The span of the query, and its steps up to now; none until the span is known. */
function useSteps({ source = 'own', query, step }: UsageChartProps) {
  const nowMs = useNow(60_000);
  const span = useQuery(usageQuery(source, 'totals', query));
  const fromMs = Date.parse(span.data?.from ?? '');
  const toMs = Date.parse(span.data?.to ?? '');
  const used = stepOf(fromMs, toMs, step);
  const starts = useMemo(
    () => (Number.isNaN(fromMs) ? [] : stepsOf(fromMs, toMs, used, nowMs)),
    [fromMs, toMs, used, nowMs],
  );
  return { span, used, starts };
}

function SumChart(props: UsageChartProps) {
  const { source = 'own', query, metric, by, isCumulative = false, heightPx } = props;
  const openPoint = useOpenPoint(source);
  const { t } = useTranslation('usage');
  const format = useFormat();
  const nameOf = useValueNames();
  const { span, used, starts } = useSteps(props);
  const sumMetric = isDistribution(metric) ? 'cost' : metric;
  const isRate = sumMetric === 'error_rate';
  const series = useQuery({
    ...usageQuery(source, 'series', {
      ...query,
      step: used,
      ...(by === null ? {} : { by, limit: maxSeries, ranking: isRate ? 'requests' : sumMetric }),
    }),
    enabled: span.data !== undefined,
  });
  const drawn = useMemo(() => {
    const found = seriesOf(series.data?.points ?? [], starts, {
      sumValue: ({ sums }) => sumValue(sumMetric, sums),
      nameOf: (value, label) => (by === null ? t(`metric.${sumMetric}`) : nameOf(by, value, label)),
      missing: isRate ? null : sumMetric === 'cost' ? 0n : 0,
      isByStatus: by === 'status',
    });
    if (!isCumulative || isRate) return found;
    return found.map((one) => ({ ...one, values: cumulated(one.values) }));
  }, [series.data, starts, sumMetric, isRate, by, isCumulative, nameOf, t]);
  return (
    <ChartFrame
      isLoading={series.data === undefined || starts.length === 0}
      isEmpty={span.data?.sums.requests === 0}
      error={series.error ?? span.error}
      onRetry={() => void Promise.all([span.refetch(), series.refetch()])}
      heightPx={heightPx}
    >
      <Chart
        kind={isRate || isCumulative ? 'lines' : 'bars'}
        title={t(`metric.${sumMetric}`)}
        pointHeader={t(`step.${used}`)}
        points={axisOf(starts, used, format)}
        series={drawn}
        values={metricValues(sumMetric, format)}
        {...(heightPx === undefined ? {} : { heightPx })}
        onSelect={(_, index) => openPoint(starts[index] ?? 0, used)}
      />
    </ChartFrame>
  );
}

function PercentileChart(props: UsageChartProps) {
  const { source = 'own', query, metric, by, percentile = 'p50', heightPx } = props;
  const openPoint = useOpenPoint(source);
  const { t } = useTranslation('usage');
  const format = useFormat();
  const nameOf = useValueNames();
  const of = isDistribution(metric) ? metric : 'ttft';
  const { span, used, starts } = useSteps(props);
  const latency = useQuery({
    ...usageQuery(source, 'latency', {
      ...query,
      step: used,
      of,
      ...(by === null ? {} : { by, limit: maxSeries, ranking: 'requests' as const }),
    }),
    enabled: span.data !== undefined,
  });
  const points = latency.data?.points ?? [];
  const series =
    by === null
      ? percentiles.flatMap((name) =>
          seriesOf(points, starts, {
            sumValue: (point) => point[name],
            nameOf: () => name,
            missing: null,
          }).map((one) => ({ ...one, key: name })),
        )
      : seriesOf(points, starts, {
          sumValue: (point) => point[percentile],
          nameOf: (value, label) => nameOf(by, value, label),
          missing: null,
          isByStatus: by === 'status',
        });
  return (
    <ChartFrame
      isLoading={latency.data === undefined || starts.length === 0}
      isEmpty={latency.data?.points.length === 0}
      error={latency.error ?? span.error}
      onRetry={() => void Promise.all([span.refetch(), latency.refetch()])}
      heightPx={heightPx}
    >
      <Chart
        kind="lines"
        title={by === null ? t(`metric.${of}`) : `${t(`metric.${of}`)} ${percentile}`}
        pointHeader={t(`step.${used}`)}
        points={axisOf(starts, used, format)}
        series={series}
        values={metricValues(of, format)}
        {...(heightPx === undefined ? {} : { heightPx })}
        onSelect={(_, index) => openPoint(starts[index] ?? 0, used)}
      />
    </ChartFrame>
  );
}

function ChartFrame(props: {
  isLoading: boolean;
  isEmpty: boolean;
  error: Error | null;
  onRetry: () => void;
  heightPx: number | undefined;
  children: React.ReactNode;
}) {
  const { t } = useTranslation('usage');
  const language = useLanguage();
  if (props.error !== null && props.isLoading)
    return <ErrorState onRetry={props.onRetry}>{wordsOfError(props.error, language, t)}</ErrorState>;
  if (props.isEmpty)
    return (
      <EmptyState icon="chart" title={t('empty.title')}>
        {t('empty.text')}
      </EmptyState>
    );
  if (props.isLoading)
    return (
      <div style={{ height: (props.heightPx ?? 240) + 36 }}>
        <Skeleton className="h-full" />
      </div>
    );
  return <>{props.children}</>;
}

/** How values of dimensions are named: the rest, and no value, have words. */
export function useValueNames(): (by: Dimension, value: string | null, label: string | null) => string {
  const { t } = useTranslation('usage');
  return useMemo(
    () => (by, value, label) => {
      if (value === null) return t('common:chart.other');
      if (value === '' || (by === 'app' && value === '0')) return t(`noValue.${by}`);
      return label ?? value;
    },
    [t],
  );
}

function cumulated(values: readonly (bigint | number | null)[]): readonly (bigint | number | null)[] {
  let total: bigint | number | null = null;
  return values.map((value) => {
    total = plus(total, value);
    return total;
  });
}
