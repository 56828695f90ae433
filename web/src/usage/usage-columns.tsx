import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../api/client.ts';
import { useFormat } from '../i18n/use-format.ts';
import type { Column } from '../ui/table/column.ts';
import { formatMetric, isDistribution, type Metric, percentiles, type Sums, sumValue } from './metrics.ts';
import { RequestsLink } from './requests-link.tsx';
import { useValueNames } from './usage-chart.tsx';
import type { Dimension } from './usage-search.ts';
import type { UsageSource } from './usage-source.ts';

interface Row {
  readonly value: string | null;
  readonly label: string | null;
  readonly sums: Sums;
}

export interface UsageColumnsOptions {
  readonly source: UsageSource;
  readonly by: Dimension;
  readonly metric: Metric;
  /** The tag that `by` is. */
  readonly tag: string | undefined;
  /** The percentiles of the groups, for a metric that has them. */
  readonly points: ResponseOf<'GET /dashboard/api/usage/latency'>['points'] | undefined;
}

/** The columns of usage by a dimension; names and error rates lead to their requests. */
export function useUsageColumns(options: UsageColumnsOptions): readonly Column<Row>[] {
  const { source, by, metric, tag, points } = options;
  const { t } = useTranslation('usage');
  const format = useFormat();
  const nameOf = useValueNames();
  return useMemo(
    (): readonly Column<Row>[] => [
      {
        id: 'value',
        header: by === 'tag' ? (tag ?? t('by.tag')) : t(`by.${by}`),
        cell: ({ value, label }) => (
          <RequestsLink source={source} filter={filterOf(by, tag, value)}>
            {nameOf(by, value, label)}
          </RequestsLink>
        ),
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
        cell: ({ value, sums }) =>
          sums.requests === 0 ? (
            ''
          ) : (
            <RequestsLink
              source={source}
              filter={sums.failures === 0 ? null : filterOf(by, tag, value)}
              outcome="failed"
            >
              {format.percent(sums.failures / sums.requests)}
            </RequestsLink>
          ),
        value: ({ sums }) => (sums.requests === 0 ? null : sums.failures / sums.requests),
      },
    ],
    [source, by, metric, tag, points, format, nameOf, t],
  );
}

/** The requests of a group as a filter; null where the list cannot be filtered so. */
function filterOf(
  by: Dimension,
  tag: string | undefined,
  value: string | null,
): Readonly<Record<string, string>> | null {
  if (value === null || value === '') return null;
  return by === 'tag' ? { tag: tag ?? '', tag_value: value } : { [by]: value };
}
