import { assert, type IAsyncProperty, type IProperty, type Parameters } from 'fast-check';
import { byTier, testSeed } from './tier.ts';

/** The maximum runs of the quick tier; the full one runs as many as the property requests. */
const maxQuickRuns = 100;

/**
 * Fails with the smallest counterexample unless the property holds for a hundred values, or as many
 * as `runs` states.
 */
export function check<T>(holds: IProperty<T>, runs: Parameters<T> = {}): void {
  void assert(holds, byRun(runs));
}

/** The same for an asynchronous property. */
export async function checkAsync<T>(holds: IAsyncProperty<T>, runs: Parameters<T> = {}): Promise<void> {
  await assert(holds, byRun(runs));
}

function byRun<T>(runs: Parameters<T>): Parameters<T> {
  const { numRuns = 100 } = runs;
  return { seed: testSeed, ...runs, numRuns: byTier(Math.min(numRuns, maxQuickRuns), numRuns) };
}
