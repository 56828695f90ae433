import { assert, type IAsyncProperty, type IProperty, type Parameters } from 'fast-check';
import { byTier, testSeed } from './tier.ts';

/** What the quick tier draws at most; the full one draws as many as the property asks for. */
const maxQuickRuns = 200;

/** Fails with the smallest counterexample unless the property holds of a hundred values, or as many as `runs` says. */
export function check<T>(holds: IProperty<T>, runs: Parameters<T> = {}): void {
  void assert(holds, byRun(runs));
}

/** The same for a property that takes time. */
export async function checkAsync<T>(holds: IAsyncProperty<T>, runs: Parameters<T> = {}): Promise<void> {
  await assert(holds, byRun(runs));
}

function byRun<T>(runs: Parameters<T>): Parameters<T> {
  const { numRuns = 100 } = runs;
  return { seed: testSeed, ...runs, numRuns: byTier(Math.min(numRuns, maxQuickRuns), numRuns) };
}
