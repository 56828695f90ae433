import type { MetricData } from './registry.ts';

/** A metric under its name of an earlier release. */
export interface DeprecatedName {
  readonly old: string;
  readonly name: string;
  /** What a value is multiplied with; 1 unless given. */
  readonly scale?: number;
  /** Unless it is that of the new metric. */
  readonly type?: 'gauge';
}

/** Served for one release beside the new names, then removed (docs/operating.md, CHANGELOG.md). */
export const deprecatedNames: readonly DeprecatedName[] = [
  { old: 'slot_state', name: 'naru_slot_state' },
  { old: 'slot_in_flight', name: 'naru_slot_in_flight' },
  { old: 'slot_queue_depth', name: 'naru_slot_queue_depth' },
  { old: 'slot_demand', name: 'naru_slot_demand' },
  { old: 'slot_starts_total', name: 'naru_slot_starts_total' },
  { old: 'slot_start_seconds', name: 'naru_slot_start_seconds' },
  { old: 'slot_wait_seconds', name: 'naru_slot_wait_seconds' },
  { old: 'slot_restarts_total', name: 'naru_slot_restarts_total' },
  { old: 'slot_evictions_total', name: 'naru_slot_evictions_total' },
  { old: 'naru_upstream_uptime_percent', name: 'naru_upstream_uptime_ratio', scale: 100 },
  { old: 'naru_upstream_latency_ms', name: 'naru_upstream_latency_seconds', scale: 1000 },
  { old: 'naru_journal_syncs', name: 'naru_journal_syncs_total', type: 'gauge' },
];

/** The metrics, and those that had another name once more under it. */
export function withDeprecatedNames(metrics: readonly MetricData[]): readonly MetricData[] {
  const byName = new Map(metrics.map((metric) => [metric.name, metric]));
  const old = deprecatedNames.flatMap((each) => {
    const metric = byName.get(each.name);
    return metric === undefined ? [] : [renamed(metric, each)];
  });
  return [...metrics, ...old];
}

function renamed(metric: MetricData, { old, name, scale = 1, type }: DeprecatedName): MetricData {
  return {
    ...metric,
    name: old,
    help: `Deprecated, use ${name}. ${metric.help}`,
    type: (type ?? metric.type) as MetricData['type'],
    values: metric.values.map(({ metricName, ...rest }: WithMetricName) => ({
      ...rest,
      // Six decimals: 0.123 s are 123 ms, not 123.00000000000001.
      value: scale === 1 ? rest.value : Math.round(rest.value * scale * 1e6) / 1e6,
      ...(metricName === undefined ? {} : { metricName: metricName.replace(name, old) }),
    })),
  };
}

/** A line of a histogram has a name of its own. */
type WithMetricName = MetricData['values'][number] & { readonly metricName?: string };
