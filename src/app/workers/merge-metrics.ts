import { labelled, type MetricData } from '../../metrics/registry.ts';

/** The metrics of one worker. */
export interface OfWorker<T> {
  readonly worker: number;
  readonly response: T;
}

/**
 * The metrics of all workers, each series with its worker in the label `worker`. Sums would hide a
 * restart: only the series of one worker shows that its counter began again, and health is each
 * worker's own. The page shows each metric once.
 */
export function metricsOf(
  workers: readonly OfWorker<readonly MetricData[]>[],
): readonly (readonly MetricData[])[] {
  return workers.map(({ worker, response }) => labelled(response, 'worker', String(worker)));
}

/** The rows of all workers by candidate, each with its worker. */
export function rowsOf<Row extends { readonly candidate: string }>(
  workers: readonly OfWorker<readonly Row[]>[],
): readonly (Row & { readonly worker: number })[] {
  const rows = workers.flatMap(({ worker, response }) => response.map((row) => ({ worker, ...row })));
  return [...Map.groupBy(rows, ({ candidate }) => candidate).values()].flat();
}
