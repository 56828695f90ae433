import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { array, integer, property } from 'fast-check';
import { LinkedList, type ListPlace } from '../../src/memory/linked-list.ts';
import { check } from '../harness/property.ts';

test('a list has what was added and not removed, in the order of the additions', () => {
  check(
    property(array(integer({ min: -8, max: 8 })), (steps) => {
      const list = new LinkedList<number>();
      const places: ListPlace<number>[] = [];
      let expected: number[] = [];
      steps.forEach((step, at) => {
        if (step >= 0) {
          places.push(list.add(at));
          expected.push(at);
        } else {
          const place = places.at(step);
          place?.remove();
          expected = expected.filter((value) => value !== place?.value);
        }
        assert.deepEqual([...list], expected);
        assert.equal(list.size, expected.length);
        assert.equal(list.first, expected[0]);
      });
    }),
  );
});

test('objects that are removed while a list is read are still read', () => {
  const list = new LinkedList<string>();
  const places = ['a', 'b', 'c'].map((value) => list.add(value));
  const read: string[] = [];
  for (const value of list) {
    read.push(value);
    for (const place of places) place.remove();
  }
  assert.deepEqual(read, ['a', 'b', 'c']);
  assert.equal(list.size, 0);
});

const modules = {
  list: new URL('../../src/memory/linked-list.ts', import.meta.url).href,
  timers: new URL('../../src/time/coarse-timers.ts', import.meta.url).href,
};

/**
 * The megabytes that became old while 200 MB of objects came and went, at most 64 at a time, after
 * full collections.
 */
function promotedMb(make: string, remove: string): number {
  const script = `
    import { getHeapSpaceStatistics } from 'node:v8';
    import { LinkedList } from '${modules.list}';
    import { CoarseTimers } from '${modules.timers}';
    const set = new Set(), list = new LinkedList(), timers = new CoarseTimers(() => performance.now());
    const open = [];
    const turn = () => {
      const object = Array.from({ length: 40 }, (_, at) => ({ at }));
      open.push(${make});
      if (open.length <= 64) return;
      const first = open.shift();
      ${remove};
    };
    for (let n = 0; n < 5_000; n += 1) {
      turn();
      if (n % 100 === 0) gc();
    }
    const old = () => getHeapSpaceStatistics().find((space) => space.space_name === 'old_space').space_used_size;
    let grown = 0, before = old();
    for (let n = 0; n < 75_000; n += 1) {
      turn();
      if (n % 1_000 > 0) continue;
      const now = old();
      grown += Math.max(0, now - before);
      before = now;
    }
    for (const each of open.splice(0)) { const first = each; ${remove}; }
    console.log(Math.round(grown / 1e6));
  `;
  const args = ['--expose-gc', '--max-semi-space-size=4', '--input-type=module', '-e', script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.match(stdout, /^\d+$/m, stderr);
  return Number(stdout);
}

test('what was in a list or a timer once does not become old with it, as it does with a set', () => {
  const list = promotedMb('list.add(object)', 'first.remove()');
  const timers = promotedMb('timers.after(60_000, () => object)', 'first.cancel()');
  const set = promotedMb('(set.add(object), object)', 'set.delete(first)');
  assert.ok(list < 8 && timers < 8 && set > 20, `list ${list} MB, timers ${timers} MB, set ${set} MB`);
});
