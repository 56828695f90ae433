import { useMemo } from 'react';
import { list, type SearchSchema, useRange, useSearchParams } from '../app/search-params.ts';
import { maxDaysOfHours, type Range } from '../format/range.ts';
import { startOfDay } from '../format/time.ts';
import type { FilterValues } from '../ui/filter-bar.tsx';
import type { Step } from './series.ts';
import { type StatedLists, statedQuery } from './stated.ts';

const dayMs = 86_400_000;

/** What usage is grouped and filtered by. */
const listed = ['model', 'provider', 'app', 'key', 'status', 'error', 'finish'] as const;
export const dimensions = [...listed, 'user', 'tag'] as const;
export type Dimension = (typeof dimensions)[number];

type Lists = Readonly<Record<(typeof listed)[number], readonly string[]>> & StatedLists;

const filterSchema: SearchSchema<Lists> = {
  model: list(),
  provider: list(),
  app: list(),
  key: list(),
  status: list(),
  error: list(),
  finish: list(),
  user: list(),
  tag: list(),
  tag_value: list(),
};

/** The range of a query: the days of a chosen range are inclusive, the API's instants are half open. */
export function rangeQuery(range: Range): {
  readonly range: Range['range'];
  readonly from?: string;
  readonly to?: string;
} {
  if (range.range !== 'custom') return { range: range.range };
  const from = startOfDay(range.from ?? '');
  const to = startOfDay(range.to ?? '');
  if (from === null || to === null) return { range: '30d' };
  return {
    range: 'custom',
    from: new Date(from).toISOString(),
    to: new Date(to + dayMs).toISOString(),
  };
}

/** The range and the filters of usage in the URL, also as the parameters of a query. */
export function useUsageSearch() {
  const [range, setRange] = useRange();
  const [filters, changeFilters] = useSearchParams(filterSchema);
  const query = useMemo(
    () => ({
      ...rangeQuery(range),
      ...Object.fromEntries(
        listed.flatMap((name) => (filters[name].length === 0 ? [] : [[name, filters[name].join(',')]])),
      ),
      ...statedQuery(filters),
    }),
    [range, filters],
  );
  const setFilters = (values: FilterValues): void => changeFilters(values as Partial<Lists>);
  return { range, setRange, filters: filters as FilterValues, setFilters, query } as const;
}

/** The step of a chart: the wanted one; or hours for a day, days up to three months, months beyond. */
export function stepOf(fromMs: number, toMs: number, wanted?: Step): Step {
  const days = (toMs - fromMs) / dayMs;
  if (wanted === 'hour') return days > maxDaysOfHours ? 'day' : 'hour';
  if (wanted !== undefined) return wanted;
  return days <= 2 ? 'hour' : days <= 92 ? 'day' : days <= 400 ? 'week' : 'month';
}
