import { collectDefaultMetrics } from 'prom-client';
import { type MetricData, Registry, readRegistry } from './registry.ts';

/**
 * Starts to measure this process: `process_*` and `nodejs_*`, under the names that dashboards know.
 * Once a process, since what the library starts for it cannot be stopped.
 */
export function measureProcess(): () => Promise<readonly MetricData[]> {
  const register = new Registry();
  collectDefaultMetrics({ register });
  return () => readRegistry(register);
}
