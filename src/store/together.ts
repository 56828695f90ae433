/**
 * Runs a task for each item at the same time. When one fails, `signal` asks the others to end, and
 * its error is thrown once all have ended.
 */
export async function together<I, T>(
  items: readonly I[],
  run: (item: I, signal: AbortSignal) => Promise<T>,
): Promise<readonly T[]> {
  const stop = new AbortController();
  const causes: unknown[] = [];
  const done: T[] = [];
  await Promise.all(
    items.map(async (item, at) => {
      try {
        done[at] = await run(item, stop.signal);
      } catch (error) {
        causes.push(error);
        stop.abort();
      }
    }),
  );
  if (causes.length > 0) throw causes[0];
  return done;
}
