import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byTier, sample, sampledRange, spread } from './tier.ts';

const all = Array.from({ length: 1_000 }, (_, at) => at);

test('a spread has as many members as wanted, both ends, each once and in order, and is the same each time', () => {
  for (const count of [2, 3, 7, 60, 999, 1_000]) {
    const chosen = spread(all, count);
    assert.equal(new Set(chosen).size, count);
    assert.deepEqual([chosen[0], chosen.at(-1)], [0, 999]);
    assert.deepEqual(
      chosen,
      chosen.toSorted((one, other) => one - other),
    );
    assert.deepEqual(spread(all, count), chosen);
  }
  assert.deepEqual(spread(all, 1), [0]);
  assert.deepEqual(spread([1, 2], 5), [1, 2]);
});

test('the full tier has all members, the quick one a sample', () => {
  assert.equal(sample(all, 10).length, byTier(10, 1_000));
  assert.equal(sampledRange(5, 25, 4).length, byTier(4, 20));
});
