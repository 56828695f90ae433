import { collectDefaultMetrics } from 'prom-client';
import { type MetricData, Registry, readRegistry } from './registry.ts';

/** How often the library looks at the event loop; its default of 10 ms keeps an idle process awake. */
const lagEveryMs = 500;

/**
 * Starts to measure this process: `process_*` and `nodejs_*`, under the names that dashboards know.
 * Once a process, since what the library starts for it cannot be stopped.
 */
export function measureProcess(): () => Promise<readonly MetricData[]> {
  const register = new Registry();
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: lagEveryMs });
  return async () => (await readRegistry(register)).filter(isWellNamed).map(withoutInterval);
}

/** The library calls three gauges `…_total`, beside the same ones by type. */
function isWellNamed({ name, type }: MetricData): boolean {
  return !name.endsWith('_total') || String(type) === 'counter';
}

/** The library reports the time between two looks, which is the interval and the delay. */
function withoutInterval(metric: MetricData): MetricData {
  if (!/^nodejs_eventloop_lag_(?:min|max|mean|p\d+)_seconds$/.test(metric.name)) return metric;
  const values = metric.values.map((one) => ({ ...one, value: Math.max(0, one.value - lagEveryMs / 1000) }));
  return { ...metric, values };
}
