import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, constantFrom, integer, property } from 'fast-check';
import { type CacheEntry, ClockCache } from '../../src/store/clock-cache.ts';
import { check } from '../harness/property.ts';

/* docs/decisions/cache-eviction.md */

interface Thing extends CacheEntry {
  readonly name: number;
  isPinned: boolean;
}

/** This many entries, used once, and the evicted ones so far. */
function cacheOf(count: number, kept: number) {
  const things = Array.from({ length: count }, (_, name): Thing => ({ name, isUsed: true, isPinned: false }));
  const forgotten: Thing[] = [];
  const cache = new ClockCache<Thing>(kept, (thing) => forgotten.push(thing));
  for (const thing of things) cache.add(thing);
  return { things, forgotten, cache: cache };
}

/** The number of turns of the cursor. */
function rounds(cache: ClockCache<Thing>, count: number): void {
  for (let n = 0; n < count; n += 1) cache.evictIdle();
}

test('up to its capacity the cache evicts nothing, used or not', () => {
  const { cache, forgotten } = cacheOf(100, 100);
  rounds(cache, 50);
  assert.equal(forgotten.length, 0);
  assert.equal(cache.size, 100);
});

test('an entry that was not used since the cursor passed is evicted, down to the capacity', () => {
  const { things, cache, forgotten } = cacheOf(100, 60);
  rounds(cache, 1);
  assert.equal(forgotten.length, 0, 'everything was used before the first round');
  for (const thing of things.slice(0, 50)) thing.isUsed = true;
  rounds(cache, 1);
  assert.equal(cache.size, 60);
  assert.ok(forgotten.every(({ name }) => name >= 50));
  assert.deepEqual(new Set([...cache, ...forgotten]), new Set(things));
});

test('a pinned entry is never evicted, and afterwards it is like any other', () => {
  const { things, cache, forgotten } = cacheOf(10, 0);
  const [needed] = things as [Thing];
  needed.isPinned = true;
  rounds(cache, 20);
  assert.deepEqual([...cache], [needed]);
  needed.isPinned = false;
  rounds(cache, 1);
  assert.deepEqual([...cache], [needed], 'it was in use a moment ago');
  rounds(cache, 1);
  assert.equal(cache.size, 0);
  assert.equal(forgotten.length, 10);
});

test('the cursor passes ten thousand at a time and evicts a thousand, whatever the size', () => {
  const { things, cache } = cacheOf(35_000, 100);
  for (const passed of [10_000, 20_000, 30_000, 35_000]) {
    cache.evictIdle();
    assert.equal(things.filter(({ isUsed }) => !isUsed).length, passed);
  }
  for (let left = 34_000; left > 100; left -= 1_000) {
    cache.evictIdle();
    assert.equal(cache.size, left);
  }
  rounds(cache, 2);
  assert.equal(cache.size, 100);
});

test('for any uses, pins and additions: no entry is evicted twice, or without a full pass after its last use', () => {
  const acts = array(
    constantFrom('use', 'need', 'let go', 'meet', 'pass', 'pass').chain((act) =>
      integer({ min: 0, max: 30 }).map((at) => ({ act, at })),
    ),
    { maxLength: 200 },
  );
  check(
    property(integer({ min: 0, max: 8 }), acts, (kept, steps) => {
      const passes = new Map<Thing, number>();
      let pass = 0;
      const known = new Set<Thing>();
      const cache = new ClockCache<Thing>(kept, (thing) => {
        assert.ok(known.delete(thing), 'it is forgotten once');
        assert.ok(!thing.isPinned);
        assert.ok((passes.get(thing) ?? pass) < pass, 'it was passed since its last use');
      });
      for (const { act, at } of steps) {
        const thing = [...known][at % Math.max(1, known.size)];
        if (act === 'meet') {
          const met = { name: at, isUsed: true, isPinned: false };
          known.add(met);
          passes.set(met, pass + 1);
          cache.add(met);
        } else if (act === 'pass') {
          pass += 1;
          const before = known.size;
          cache.evictIdle();
          assert.ok(known.size >= Math.min(before, kept));
        } else if (thing !== undefined) {
          if (act === 'use') {
            thing.isUsed = true;
            passes.set(thing, pass + 1);
          } else thing.isPinned = act === 'need';
        }
        assert.deepEqual(new Set(cache), known);
      }
    }),
    { numRuns: 300 },
  );
});
