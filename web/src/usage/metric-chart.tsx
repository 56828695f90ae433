import { useTranslation } from 'react-i18next';
import { Section } from '../app/page.tsx';
import { oneOf, type SearchSchema, useSearchParams } from '../app/search-params.ts';
import { Segmented } from '../ui/tabs.tsx';
import { UsageChart, type UsageChartProps } from './usage-chart.tsx';

const metrics = ['cost', 'requests', 'completion_tokens'] as const;
type Metric = (typeof metrics)[number];
const schema: SearchSchema<{ metric: Metric }> = { metric: oneOf(metrics, 'cost') };

/** What a page compares usage by, in the URL. */
export function useMetric(): readonly [metric: Metric, setMetric: (metric: Metric) => void] {
  const [{ metric }, change] = useSearchParams(schema);
  return [metric, (next) => change({ metric: next })];
}

export interface MetricChartProps extends Pick<UsageChartProps, 'query' | 'by'> {
  readonly title: string;
}

/** A part of a page: the chart of the usage by what `useMetric` states, and its choice. */
export function MetricChart({ title, query, by }: MetricChartProps) {
  const { t } = useTranslation('usage');
  const [metric, setMetric] = useMetric();
  return (
    <Section
      title={title}
      actions={
        <Segmented
          label={t('metricLabel')}
          value={metric}
          onChange={setMetric}
          options={metrics.map((value) => ({ value, label: t(`metric.${value}`) }))}
        />
      }
    >
      <UsageChart query={query} metric={metric} by={by} />
    </Section>
  );
}
