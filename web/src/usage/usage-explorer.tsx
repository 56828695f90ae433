import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ReadError } from '../app/read-error.tsx';
import { flag, oneOf, type SearchSchema, useSearchParams } from '../app/search-params.ts';
import { hasHours } from '../format/range.ts';
import { Button } from '../ui/button.tsx';
import { Checkbox, Field, Select } from '../ui/field.tsx';
import { FilterBar } from '../ui/filter-bar.tsx';
import { DataTable } from '../ui/table/data-table.tsx';
import { Segmented } from '../ui/tabs.tsx';
import { useFilterOptions } from './filter-options.ts';
import { isDistribution, type Metric, metrics, type Percentile, percentiles } from './metrics.ts';
import { UsageChart } from './usage-chart.tsx';
import { useUsageColumns } from './usage-columns.tsx';
import { type Dimension, dimensions, rangeQuery, useUsageSearch } from './usage-search.ts';
import { dimensionsOf, type UsageSource, usageQuery } from './usage-source.ts';

const steps = ['auto', 'hour', 'day', 'week', 'month'] as const;

interface View {
  readonly metric: Metric;
  readonly by: Dimension;
  readonly step: (typeof steps)[number];
  readonly cumulative: boolean;
  readonly percentile: Percentile;
}
const schema: SearchSchema<View> = {
  metric: oneOf<Metric>(metrics, 'cost'),
  by: oneOf<Dimension>(dimensions, 'model'),
  step: oneOf(steps, 'auto'),
  cumulative: flag(),
  percentile: oneOf<Percentile>(percentiles, 'p50'),
};

/** Any metric of the usage of a source by any dimension, over the range of the page. */
export function UsageExplorer({ source }: { source: UsageSource }) {
  const { t } = useTranslation('usage');
  const [view, change] = useSearchParams(schema);
  const { metric, percentile } = view;
  const { range, setRange, filters, setFilters, query: ofPage } = useUsageSearch();
  const wanted = dimensionsOf(source).find((one) => one === view.by) ?? 'model';
  const tags = useQuery({ ...usageQuery(source, 'tags', rangeQuery(range)), enabled: wanted === 'tag' });
  const tag = filters['tag']?.[0] ?? tags.data?.items[0]?.name;
  const by = wanted === 'tag' && tag === undefined ? 'model' : wanted;
  const query = by === 'tag' && tag !== undefined ? { ...ofPage, tag } : ofPage;
  const isTooLong = view.step === 'hour' && !hasHours(range);
  const step = isTooLong ? 'day' : view.step;
  // The values of these two are read when a link has chosen one.
  const offered = dimensionsOf(source).filter(
    (name) => (name !== 'error' && name !== 'finish') || (filters[name]?.length ?? 0) > 0,
  );
  const options = useFilterOptions(source, query.range, offered, filters);
  const ranking = isDistribution(metric) || metric === 'error_rate' ? 'requests' : metric;
  const groups = useQuery(usageQuery(source, 'groups', { ...query, by, limit: 100, ranking }));
  const latency = useQuery({
    ...usageQuery(source, 'latency', {
      ...query,
      by,
      limit: 100,
      ranking,
      of: isDistribution(metric) ? metric : 'ttft',
    }),
    enabled: isDistribution(metric),
  });
  const columns = useUsageColumns({ source, by, metric, tag, points: latency.data?.points });
  return (
    <>
      <Controls source={source} by={wanted} view={{ ...view, step }} onChange={change}>
        {wanted !== 'tag' || tag === undefined ? null : (
          <Field label={t('by.tag')}>
            <Select
              value={tag}
              onChange={({ target }) => setFilters({ tag: [target.value], tag_value: [] })}
              options={[...new Set([tag, ...(tags.data?.items ?? []).map(({ name }) => name)])].map(
                (value) => ({
                  value,
                  label: value,
                }),
              )}
            />
          </Field>
        )}
      </Controls>
      {wanted === 'user' || wanted === 'tag' ? (
        <p className="text-sm text-muted">
          {t(by !== wanted && tags.data !== undefined ? 'noTags' : 'ofRecords')}
        </p>
      ) : null}
      {isTooLong ? (
        <p role="status" className="flex flex-wrap items-center gap-2 text-sm text-muted">
          {t('noHours')}
          <Button size="sm" onClick={() => setRange({ range: '7d' })}>
            {t('showWeek')}
          </Button>
        </p>
      ) : null}
      <FilterBar filters={options} values={filters} onChange={setFilters} />
      <UsageChart
        source={source}
        query={query}
        metric={metric}
        by={by}
        step={step === 'auto' ? undefined : step}
        isCumulative={view.cumulative}
        percentile={percentile}
        heightPx={300}
      />
      <DataTable
        id="usage"
        label={t('title')}
        columns={columns}
        rows={groups.data?.items}
        rowId={({ value }) => value ?? '__other__'}
        error={groups.isError && groups.data === undefined ? <ReadError of={groups} /> : null}
      />
    </>
  );
}

/** What is shown, by what, and in which steps. */
function Controls({
  source,
  by,
  view,
  onChange,
  children,
}: {
  source: UsageSource;
  by: Dimension;
  view: View;
  onChange: (changes: Partial<View>) => void;
  /** What `by` needs beside. */
  children: ReactNode;
}) {
  const { t } = useTranslation('usage');
  const { metric, step, percentile } = view;
  return (
    <div className="flex flex-wrap items-end gap-3">
      <Field label={t('metricLabel')}>
        <Select
          value={metric}
          onChange={({ target }) => onChange({ metric: target.value as Metric })}
          options={metrics.map((value) => ({ value, label: t(`metric.${value}`) }))}
        />
      </Field>
      <Field label={t('byLabel')}>
        <Select
          value={by}
          onChange={({ target }) => onChange({ by: target.value as Dimension })}
          options={dimensionsOf(source).map((value) => ({ value, label: t(`by.${value}`) }))}
        />
      </Field>
      {children}
      <Segmented
        label={t('stepLabel')}
        value={step}
        onChange={(next) => onChange({ step: next })}
        options={steps.map((value) => ({ value, label: t(`step.${value}`) }))}
      />
      {isDistribution(metric) ? (
        <Segmented
          label={t('percentileLabel')}
          value={percentile}
          onChange={(next) => onChange({ percentile: next })}
          options={percentiles.map((value) => ({ value, label: value }))}
        />
      ) : null}
      {isDistribution(metric) || metric === 'error_rate' ? null : (
        <Checkbox
          label={t('cumulative')}
          checked={view.cumulative}
          onChange={({ target }) => onChange({ cumulative: target.checked })}
        />
      )}
    </div>
  );
}
