import { AggregatorRegistry } from 'prom-client';
import type { MetricData } from './registry.ts';

/**
 * The metrics page, in the Prometheus text format 0.0.4 (spec:operator/3.3). A metric that several
 * lists have appears once, with the series of all.
 */
export function renderPage(lists: readonly (readonly MetricData[])[]): Promise<string> {
  // No two lists have a series in common, so the library's sum leaves every value as it is.
  const all = lists.map((metrics) => metrics.map((metric) => ({ ...metric, aggregator: 'sum' })));
  return AggregatorRegistry.aggregate(
    all as unknown as Parameters<typeof AggregatorRegistry.aggregate>[0],
  ).metrics();
}
