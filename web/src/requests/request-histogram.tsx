import { useMemo } from 'react';
import { UsageChart } from '../usage/usage-chart.tsx';
import { useUsageSearch } from '../usage/usage-search.ts';
import type { UsageSource } from '../usage/usage-source.ts';
import type { RequestSearch } from './search.ts';

/** When the requests of the list below came, by status: those that its filters select; none for an id. */
export function RequestHistogram({ source, search }: { source: UsageSource; search: RequestSearch }) {
  const { query } = useUsageSearch();
  const { outcome, find } = search;
  const filtered = useMemo(() => (outcome === '' ? query : { ...query, outcome }), [query, outcome]);
  if (find !== '') return null;
  return <UsageChart source={source} query={filtered} metric="requests" by="status" heightPx={120} />;
}
