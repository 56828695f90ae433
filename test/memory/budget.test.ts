import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, constantFrom, integer, property, tuple } from 'fast-check';
import { type BufferKind, bufferKinds, MemoryBudget, type MemoryClaim } from '../../src/memory/budget.ts';
import { defaultBudgetBytes } from '../../src/memory/limits.ts';
import { check } from '../harness/property.ts';

function world(totalBytes: number, clientBytes = totalBytes) {
  const budget = new MemoryBudget(() => ({ totalBytes, clientBytes }));
  const refused: string[] = [];
  const claim = (name: string, client = 'somebody'): MemoryClaim =>
    budget.claim(client, () => refused.push(name));
  return { budget, refused, claim };
}

test('memory in use never exceeds the limits, all of it is counted, and nothing remains of what was refused', () => {
  const act = constantFrom<BufferKind | 'over' | 'identified'>(...bufferKinds, 'over', 'identified');
  const step = tuple(integer({ min: 0, max: 7 }), act, integer({ min: 0, max: 900 }));
  check(
    property(array(step, { maxLength: 60 }), (steps) => {
      const { budget, claim, refused } = world(1_000, 700);
      const held = new Map<string, Map<string, number>>();
      const clients = new Map<string, string>();
      const claims = Array.from({ length: 8 }, (_, n) => claim(`${n}`, `address ${n % 2}`));
      for (const [at, kind, bytes] of steps) {
        const one = claims[at];
        const name = `${at}`;
        assert.ok(one !== undefined);
        if (kind === 'over') one.release();
        else if (kind === 'identified') one.countFor(`key ${at % 3}`);
        else one.setBytes(kind, bytes);
        if (kind === 'identified') clients.set(name, `key ${at % 3}`);
        const kinds = held.get(name) ?? new Map<string, number>();
        held.set(name, kinds);
        const wasOver = kinds.has('over');
        if (kind === 'over' || refused.includes(name)) held.set(name, new Map([['over', 0]]));
        else if (kind !== 'identified' && !wasOver) kinds.set(kind, bytes);
        const heldBy = (of: string): number =>
          (held.get(of)?.values() ?? [].values()).reduce((a, b) => a + b, 0);
        const names = [...held.keys()];
        assert.equal(
          budget.heldBytes,
          names.reduce((sum, of) => sum + heldBy(of), 0),
        );
        assert.equal(
          budget.heldBytes,
          bufferKinds.reduce((sum, of) => sum + budget.heldAs(of), 0),
        );
        for (const client of ['address 0', 'address 1', 'key 0', 'key 1', 'key 2'])
          assert.equal(
            budget.heldFor(client),
            names
              .filter((of) => (clients.get(of) ?? `address ${Number(of) % 2}`) === client)
              .reduce((sum, of) => sum + heldBy(of), 0),
            client,
          );
        if (kind === 'identified') continue;
        assert.ok(budget.heldBytes <= 1_000);
      }
      for (const one of claims) one.release();
      assert.equal(budget.heldBytes, 0);
      for (const client of ['address 0', 'key 0']) assert.equal(budget.heldFor(client), 0);
    }),
  );
});

test('what does not fit is refused, and what is in use stays', () => {
  const { budget, refused, claim } = world(1_000);
  claim('first').setBytes('body', 700);
  claim('large').setBytes('body', 301);
  assert.deepEqual(refused, ['large']);
  assert.equal(budget.heldBytes, 700);
  const small = claim('small');
  small.setBytes('body', 300);
  small.setBytes('answer', 1);
  assert.deepEqual(refused, ['large', 'small'], 'it grew');
  assert.deepEqual([budget.heldBytes, budget.refusedCount], [700, 2]);
});

test("a key's large use costs no other client", () => {
  const { refused, claim } = world(1_000, 600);
  claim('first', 'key 1').setBytes('body', 600);
  claim('second', 'key 1').setBytes('body', 1);
  claim('other', 'key 2').setBytes('body', 400);
  assert.deepEqual(refused, ['second']);
});

test('a stream that has begun is not refused, and counts', () => {
  const { refused, claim, budget } = world(1_000);
  const stream = claim('stream');
  stream.setBytes('event', 900);
  stream.canBeRefused = false;
  stream.setBytes('event', 1_100);
  assert.deepEqual(refused, []);
  assert.equal(budget.heldBytes, 1_100);
});

test('a quarter of what a process may use is the default, and workers share the machine', () => {
  const gb = 1024 ** 3;
  assert.equal(defaultBudgetBytes({ heapBytes: 2 * gb, machineBytes: 64 * gb }, 1), gb / 2);
  assert.equal(defaultBudgetBytes({ heapBytes: 4 * gb, machineBytes: gb }, 1), gb / 4);
  assert.equal(defaultBudgetBytes({ heapBytes: 4 * gb, machineBytes: 8 * gb }, 8), gb / 8);
  assert.equal(defaultBudgetBytes({ heapBytes: 64 * gb, machineBytes: 64 * gb }, 1), gb);
});
