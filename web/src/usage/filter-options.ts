import { useQueries } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { Filter, FilterValues } from '../ui/filter-bar.tsx';
import { useValueNames } from './usage-chart.tsx';
import type { Dimension, useUsageSearch } from './usage-search.ts';
import { type UsageSource, usageQuery } from './usage-source.ts';

/**
 * Filters by these dimensions, each with the values that the range has; of end users and tags, which may
 * have any number of values, the one that a link has chosen.
 */
export function useFilterOptions(
  source: UsageSource,
  range: ReturnType<typeof useUsageSearch>['query']['range'],
  offered: readonly Dimension[],
  values: FilterValues,
): readonly Filter[] {
  const { t } = useTranslation('usage');
  const nameOf = useValueNames();
  const names = offered.filter((name) => name !== 'user' && name !== 'tag');
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
  const chosen = (id: string, label: string): readonly Filter[] =>
    (values[id]?.length ?? 0) === 0 ? [] : [{ id, label, options: [] }];
  const lists = names.map((by, index) => ({
    id: by,
    label: t(`by.${by}`),
    options: (found[index]?.data?.items ?? []).flatMap(({ value, label }) =>
      value === null || value === '' ? [] : [{ value, label: nameOf(by, value, label) }],
    ),
  }));
  if (names.length === offered.length) return lists;
  return [
    ...lists,
    ...chosen('user', t('by.user')),
    ...chosen('tag_value', values['tag']?.[0] ?? t('by.tag')),
  ];
}
