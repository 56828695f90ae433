/**
 * Runs a task for each item at the same time. When one fails, or the caller's signal is aborted, the
 * `signal` of the tasks asks them to end, and the first error is thrown once all have ended.
 */
export async function together<I, T>(
  items: readonly I[],
  run: (item: I, signal: AbortSignal) => Promise<T>,
  outer?: AbortSignal,
): Promise<readonly T[]> {
  const stop = new AbortController();
  const signal = outer === undefined ? stop.signal : AbortSignal.any([outer, stop.signal]);
  const causes: unknown[] = [];
  const done: T[] = [];
  await Promise.all(
    items.map(async (item, at) => {
      try {
        done[at] = await run(item, signal);
      } catch (error) {
        causes.push(error);
        stop.abort();
      }
    }),
  );
  if (causes.length > 0) throw causes[0];
  return done;
}
