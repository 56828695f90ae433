import { AggregatorRegistry } from 'prom-client';
import { withDeprecatedNames } from './deprecated-names.ts';
import type { MetricData } from './registry.ts';

/**
 * The metrics page, in the Prometheus text format 0.0.4 (spec:operator/3.3), with the deprecated
 * names beside the new ones. A metric that several lists have appears once, with the series of all.
 */
export function renderPage(lists: readonly (readonly MetricData[])[]): Promise<string> {
  // No two lists have a series in common, so the library's sum leaves every value as it is.
  const all = lists.map((metrics) =>
    withDeprecatedNames(metrics).map((metric) => ({ ...metric, aggregator: 'sum' })),
  );
  return AggregatorRegistry.aggregate(
    all as unknown as Parameters<typeof AggregatorRegistry.aggregate>[0],
  ).metrics();
}
