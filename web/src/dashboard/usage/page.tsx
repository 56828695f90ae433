import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { readQuery } from '../../api/query.ts';
import { Page as Frame } from '../../app/page.tsx';
import { flag, oneOf, type SearchSchema, useSearchParams } from '../../app/search-params.ts';
import { useFormat, useLanguage } from '../../i18n/use-format.ts';
import { Checkbox, Field, Select } from '../../ui/field.tsx';
import { FilterBar } from '../../ui/filter-bar.tsx';
import { RangePicker } from '../../ui/range-picker.tsx';
import { ErrorState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { Segmented } from '../../ui/tabs.tsx';
import {
  formatMetric,
  isDistribution,
  type Metric,
  metrics,
  type Percentile,
  percentiles,
  type Sums,
  sumValue,
} from '../../usage/metrics.ts';
import { UsageChart, useValueNames } from '../../usage/usage-chart.tsx';
import { type Dimension, dimensions, useUsageSearch } from '../../usage/usage-search.ts';

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

interface Row {
  readonly value: string | null;
  readonly label: string | null;
  readonly sums: Sums;
}

/** U2: any metric by any dimension, over any time. */
export function Page() {
  const { t } = useTranslation('usage');
  const language = useLanguage();
  const navigate = useNavigate();
  const [{ metric, by, step, cumulative, percentile }, change] = useSearchParams(schema);
  const { range, setRange, filters, setFilters, query } = useUsageSearch();
  const options = useFilterOptions(query.range);
  const ranking = isDistribution(metric) || metric === 'error_rate' ? 'requests' : metric;
  const groups = useQuery(
    readQuery('GET /dashboard/api/usage/groups', { query: { ...query, by, limit: 100, ranking } }),
  );
  const latency = useQuery({
    ...readQuery('GET /dashboard/api/usage/latency', {
      query: { ...query, by, limit: 100, ranking, of: isDistribution(metric) ? metric : 'ttft' },
    }),
    enabled: isDistribution(metric),
  });
  const columns = useColumns(by, metric, latency.data?.points);
  return (
    <Frame title={t('title')} actions={<RangePicker value={range} onChange={setRange} />}>
      <div className="flex flex-wrap items-end gap-3">
        <Field label={t('metricLabel')}>
          <Select
            value={metric}
            onChange={({ target }) => change({ metric: target.value as Metric })}
            options={metrics.map((value) => ({ value, label: t(`metric.${value}`) }))}
          />
        </Field>
        <Field label={t('byLabel')}>
          <Select
            value={by}
            onChange={({ target }) => change({ by: target.value as Dimension })}
            options={dimensions.map((value) => ({ value, label: t(`by.${value}`) }))}
          />
        </Field>
        <Segmented
          label={t('stepLabel')}
          value={step}
          onChange={(next) => change({ step: next })}
          options={steps.map((value) => ({ value, label: t(`step.${value}`) }))}
        />
        {isDistribution(metric) ? (
          <Segmented
            label={t('percentileLabel')}
            value={percentile}
            onChange={(next) => change({ percentile: next })}
            options={percentiles.map((value) => ({ value, label: value }))}
          />
        ) : null}
        {isDistribution(metric) || metric === 'error_rate' ? null : (
          <Checkbox
            label={t('cumulative')}
            checked={cumulative}
            onChange={({ target }) => change({ cumulative: target.checked })}
          />
        )}
      </div>
      <FilterBar filters={options} values={filters} onChange={setFilters} />
      <UsageChart
        query={query}
        metric={metric}
        by={by}
        step={step === 'auto' ? undefined : step}
        isCumulative={cumulative}
        percentile={percentile}
        heightPx={300}
        onSelect={() => void navigate({ to: '/requests', search: ((before: object) => before) as never })}
      />
      <DataTable
        id="usage"
        label={t('title')}
        columns={columns}
        rows={groups.data?.items}
        rowId={({ value }) => value ?? '__other__'}
        error={
          groups.isError && groups.data === undefined ? (
            <ErrorState onRetry={() => void groups.refetch()} isRetrying={groups.isFetching}>
              {wordsOfError(groups.error, language, t)}
            </ErrorState>
          ) : null
        }
      />
    </Frame>
  );
}

function useColumns(
  by: Dimension,
  metric: Metric,
  points: ResponseOf<'GET /dashboard/api/usage/latency'>['points'] | undefined,
): readonly Column<Row>[] {
  const { t } = useTranslation('usage');
  const format = useFormat();
  const nameOf = useValueNames();
  return useMemo(
    (): readonly Column<Row>[] => [
      {
        id: 'value',
        header: t(`by.${by}`),
        cell: ({ value, label }) => nameOf(by, value, label),
        value: ({ value, label }) => nameOf(by, value, label),
        isTitle: true,
      },
      ...(isDistribution(metric) ? percentiles : []).map((name): Column<Row> => {
        const found = ({ value }: Row) => points?.find((point) => point.value === value)?.[name] ?? null;
        return {
          id: name,
          header: `${t(`metric.${metric}`)} ${name}`,
          kind: 'number',
          cell: (row) => {
            const value = found(row);
            return value === null ? '' : formatMetric(metric, value, format);
          },
          value: found,
        };
      }),
      {
        id: 'cost',
        header: t('metric.cost'),
        kind: 'money',
        cell: ({ sums }) => format.money(sums.cost_micro),
        value: ({ sums }) => sumValue('cost', sums) as bigint,
        isMainFigure: true,
      },
      ...(
        ['requests', 'prompt_tokens', 'completion_tokens', 'reasoning_tokens', 'cached_tokens'] as const
      ).map(
        (sum): Column<Row> => ({
          id: sum,
          header: t(`metric.${sum}`),
          kind: 'number',
          cell: ({ sums }) => format.count(sums[sum]),
          value: ({ sums }) => sums[sum],
          isHiddenByDefault: sum === 'reasoning_tokens',
        }),
      ),
      {
        id: 'failures',
        header: t('metric.error_rate'),
        kind: 'number',
        cell: ({ sums }) => (sums.requests === 0 ? '' : format.percent(sums.failures / sums.requests)),
        value: ({ sums }) => (sums.requests === 0 ? null : sums.failures / sums.requests),
      },
    ],
    [by, metric, points, format, nameOf, t],
  );
}

/** What can be filtered by: the values that the range has. */
function useFilterOptions(range: ReturnType<typeof useUsageSearch>['query']['range']) {
  const { t } = useTranslation('usage');
  const nameOf = useValueNames();
  const filtered = ['model', 'provider', 'app', 'key', 'status'] as const;
  const [model, provider, app, key, status] = filtered.map((by) =>
    // biome-ignore lint/correctness/useHookAtTopLevel: the list never changes.
    useQuery(
      readQuery('GET /dashboard/api/usage/groups', {
        query: { range: range === 'custom' ? '30d' : range, by, limit: 100, ranking: 'requests' },
      }),
    ),
  );
  const found = { model, provider, app, key, status };
  return filtered.map((by) => ({
    id: by,
    label: t(`by.${by}`),
    options: (found[by]?.data?.items ?? []).flatMap(({ value, label }) =>
      value === null || value === '' ? [] : [{ value, label: nameOf(by, value, label) }],
    ),
  }));
}
