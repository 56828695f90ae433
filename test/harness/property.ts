import { assert, type IProperty, type Parameters } from 'fast-check';

/** Fails with the smallest counterexample unless the property holds of a hundred values, or as many as `runs` says. */
export function check<T>(holds: IProperty<T>, runs: Parameters<T> = {}): void {
  void assert(holds, runs);
}
