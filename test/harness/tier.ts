/**
 * The two tiers of the tests. `npm test` is the quick one: every property by a sample with a fixed
 * seed, the same at every run. `npm run test:all` is the full one: whole matrices, and random seeds
 * that it prints; `NARU_TEST_SEED` repeats a run.
 */

/** In which the runner names the tier. */
export const tierVariable = 'NARU_TEST_TIER';
/** The number from which everything random follows. */
export const seedVariable = 'NARU_TEST_SEED';

const isFull = process.env[tierVariable] === 'full';

/** The same for every process of one run; 1 unless the runner or a person names another one. */
export const testSeed = Number(process.env[seedVariable] ?? 1);

/** How many, how large or what, by the tier. */
export function byTier<T>(quick: T, full: T): T {
  return isFull ? full : quick;
}

/** The option of a test that only the full tier runs: for what another test checks by a sample. */
export const fullOnly = { skip: isFull ? false : 'npm run test:all runs it' } as const;

/** All members in the full tier; in the quick one `count` of them (`spread`). */
export function sample<T>(all: readonly T[], count: number): readonly T[] {
  return isFull ? all : spread(all, count);
}

/**
 * `count` members, evenly spread: the first and the last are included, and those between follow
 * from the seed.
 */
export function spread<T>(all: readonly T[], count: number): readonly T[] {
  if (all.length <= count) return all;
  if (count < 2) return all.slice(0, count);
  const stride = (all.length - 1) / (count - 1);
  return Array.from({ length: count }, (_, n) => {
    const isEnd = n === 0 || n === count - 1;
    const shift = isEnd ? 0 : (hash(testSeed, n) - 0.5) * Math.min(stride - 1, stride * 0.9);
    return all[Math.round(n * stride + shift)] as T;
  });
}

/**
 * The whole numbers from `from` to below `to`, all of them or `count` of them as `sample` chooses.
 */
export function sampledRange(from: number, to: number, count: number): readonly number[] {
  return sample(
    Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at),
    count,
  );
}

/** A number from 0 to below 1 that follows from two others (mulberry32). */
function hash(seed: number, n: number): number {
  let a = (seed * 0x9e3779b9 + n * 0x85ebca6b + 0x6d2b79f5) | 0;
  a = Math.imul(a ^ (a >>> 15), a | 1);
  a ^= a + Math.imul(a ^ (a >>> 7), a | 61);
  return ((a ^ (a >>> 14)) >>> 0) / 2 ** 32;
}
