import type { Family } from '../../http/exposition.ts';

/** What one worker has to show. */
export interface OfWorker<T> {
  readonly worker: number;
  readonly response: T;
}

/**
 * The families of all workers in one: each series says whose it is, in the label `worker`. Sums would hide a restart: a counter that
 * begins again is known for that by its own series only, and health is each worker's own.
 */
export function familiesOf(workers: readonly OfWorker<readonly Family[]>[]): readonly Family[] {
  const merged = new Map<string, Family>();
  for (const { worker, response } of workers) {
    for (const family of response) {
      const samples = family.samples.map((sample) => ({
        ...sample,
        labels: { ...sample.labels, worker: String(worker) },
      }));
      const before = merged.get(family.name)?.samples ?? [];
      merged.set(family.name, { ...family, samples: [...before, ...samples] });
    }
  }
  return [...merged.values()];
}

/** The rows of all workers, candidate by candidate, each with its worker. */
export function rowsOf<Row extends { readonly candidate: string }>(
  workers: readonly OfWorker<readonly Row[]>[],
): readonly (Row & { readonly worker: number })[] {
  const rows = workers.flatMap(({ worker, response }) => response.map((row) => ({ worker, ...row })));
  return [...Map.groupBy(rows, ({ candidate }) => candidate).values()].flat();
}
