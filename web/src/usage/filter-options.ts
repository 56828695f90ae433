import { useQueries } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { Filter } from '../ui/filter-bar.tsx';
import { useValueNames } from './usage-chart.tsx';
import type { Dimension, useUsageSearch } from './usage-search.ts';
import { type UsageSource, usageQuery } from './usage-source.ts';

/** Filters by these dimensions, each with the values that the range has. */
export function useFilterOptions(
  source: UsageSource,
  range: ReturnType<typeof useUsageSearch>['query']['range'],
  names: readonly Dimension[],
): readonly Filter[] {
  const { t } = useTranslation('usage');
  const nameOf = useValueNames();
  const found = useQueries({
    queries: names.map((by) =>
      usageQuery(source, 'groups', {
        range: range === 'custom' ? '30d' : range,
        by,
        limit: 100,
        ranking: 'requests',
      }),
    ),
  });
  return names.map((by, index) => ({
    id: by,
    label: t(`by.${by}`),
    options: (found[index]?.data?.items ?? []).flatMap(({ value, label }) =>
      value === null || value === '' ? [] : [{ value, label: nameOf(by, value, label) }],
    ),
  }));
}
