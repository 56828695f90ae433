import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, constantFrom, integer, property, tuple } from 'fast-check';
import { type BufferKind, bufferKinds, MemoryBudget, type MemoryClaim } from '../../src/memory/budget.ts';
import { defaultBudgetBytes } from '../../src/memory/default-limit.ts';
import { check } from '../harness/property.ts';

function world(totalBytes: number, clientBytes = totalBytes) {
  let nowMs = 0;
  const budget = new MemoryBudget(() => ({ totalBytes, clientBytes }), { monotonic: () => nowMs });
  const shed: string[] = [];
  const claim = (name: string, ...clients: string[]): MemoryClaim => {
    const made = budget.claim(() => shed.push(name));
    for (const client of clients) made.countFor(client);
    return made;
  };
  return { budget, shed, claim, wait: (ms: number) => (nowMs += ms) };
}

test('memory in use never exceeds the limits, all of it is counted, and nothing remains of shed requests', () => {
  const step = tuple(
    integer({ min: 0, max: 7 }),
    constantFrom<BufferKind | 'over'>(...bufferKinds, 'over'),
    integer({ min: 0, max: 900 }),
  );
  check(
    property(array(step, { maxLength: 60 }), (steps) => {
      const { budget, claim, wait } = world(1_000, 700);
      const claims = Array.from({ length: 8 }, (_, n) => claim(`${n}`, `address ${n % 2}`, `key ${n % 3}`));
      for (const [at, kind, bytes] of steps) {
        const one = claims[at];
        assert.ok(one !== undefined);
        wait(100);
        if (kind === 'over') one.release();
        else one.setBytes(kind, bytes);
        const sums = (of: readonly MemoryClaim[]): number =>
          of.reduce((sum, { bytes: held }) => sum + held, 0);
        assert.equal(budget.heldBytes, sums(claims));
        assert.equal(
          budget.heldBytes,
          bufferKinds.reduce((sum, kind) => sum + budget.heldAs(kind), 0),
        );
        assert.ok(budget.heldBytes <= 1_000);
        for (const client of ['address 0', 'address 1', 'key 0', 'key 1', 'key 2'])
          assert.ok(sums(claims.filter(({ clients }) => clients.includes(client))) <= 700, client);
      }
      for (const one of claims) one.release();
      assert.equal(budget.heldBytes, 0);
    }),
  );
});

test('the largest is shed first, and of two of a size the one whose client is slow', () => {
  const { shed, claim, wait } = world(1_000);
  const small = claim('small');
  const large = claim('large');
  const works = claim('works');
  small.setBytes('body', 100);
  large.setBytes('body', 500);
  works.setBytes('body', 300);
  works.slowSinceMs = null;
  claim('next').setBytes('body', 200);
  assert.deepEqual(shed, ['large']);
  wait(10_000);
  claim('another').setBytes('body', 500);
  assert.deepEqual(
    shed,
    ['large', 'next'],
    'it is smaller than the one that works, and has sent for ten seconds',
  );
});

test("a request that alone uses too much is shed itself, and a key's large use costs no other client", () => {
  const { shed, claim } = world(1_000, 600);
  const other = claim('other', 'key 1');
  other.setBytes('body', 350);
  claim('too large', 'key 2').setBytes('body', 601);
  assert.deepEqual(shed, ['too large']);
  const first = claim('first', 'key 3', 'address 1');
  first.setBytes('body', 250);
  claim('second', 'key 3', 'address 2').setBytes('body', 200);
  assert.deepEqual(shed, ['too large']);
  claim('third', 'key 3', 'address 3').setBytes('body', 180);
  assert.deepEqual(shed, ['too large', 'first']);
});

test('a request that cannot be shed stays, and others are shed', () => {
  const { shed, claim, budget } = world(1_000);
  const stream = claim('stream');
  stream.setBytes('answer', 900);
  stream.canBeShed = false;
  const body = claim('body');
  body.setBytes('body', 200);
  assert.deepEqual(shed, ['body']);
  body.setBytes('body', 50);
  assert.equal(budget.heldBytes, 900, 'what was shed holds nothing any more');
  assert.equal(budget.shedCount, 1);
});

test('a quarter of what a process may use is the default, and workers share the machine', () => {
  const gb = 1024 ** 3;
  assert.equal(defaultBudgetBytes({ heapBytes: 2 * gb, machineBytes: 64 * gb }, 1), gb / 2);
  assert.equal(defaultBudgetBytes({ heapBytes: 4 * gb, machineBytes: gb }, 1), gb / 4);
  assert.equal(defaultBudgetBytes({ heapBytes: 4 * gb, machineBytes: 8 * gb }, 8), gb / 8);
  assert.equal(defaultBudgetBytes({ heapBytes: 64 * gb, machineBytes: 64 * gb }, 1), gb);
});

test('clients without claims do not add up, and the bytes of those with claims still count', () => {
  const { budget, shed, claim } = world(10_000_000, 1_000);
  const held = claim('held', 'key of somebody');
  held.setBytes('body', 900);
  for (let n = 0; n < 100_000; n += 1) {
    const one = claim(`${n}`, `address ${n}`);
    one.setBytes('body', 1);
    one.release();
  }
  assert.ok(budget.clientCount <= 1_000, `${budget.clientCount} clients`);
  claim('more', 'key of somebody').setBytes('body', 200);
  assert.deepEqual(shed, ['held']);
});
