import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  dequeue,
  emptyQueue,
  enqueue,
  everyone,
  type FairQueue,
  rework,
} from '../../src/slots/scheduler/queue.ts';
import { check } from '../harness/property.ts';

type Item = { readonly id: number; readonly accountId: number };

function queueOf(...accounts: readonly number[]): FairQueue<Item> {
  return accounts.reduce<FairQueue<Item>>(
    (queue, accountId, at) => enqueue(queue, { id: at + 1, accountId }),
    emptyQueue,
  );
}

function drain(queue: FairQueue<Item>): readonly number[] {
  const ids: number[] = [];
  for (let next = dequeue(queue); next !== null; next = dequeue(next.rest)) ids.push(next.item.id);
  return ids;
}

test('one account is served in the order of its requests', () => {
  assert.deepEqual(drain(queueOf(7, 7, 7, 7)), [1, 2, 3, 4]);
});

// spec:api/13.4
test('accounts alternate, however many requests one of them has', () => {
  assert.deepEqual(drain(queueOf(1, 1, 1, 1, 2, 2, 3)), [1, 5, 7, 2, 6, 3, 4]);
});

test('a request that leaves frees its position without moving the others', () => {
  const queue = rework(queueOf(1, 1, 2, 1, 2), (item) => (item.id === 1 || item.id === 3 ? null : item));
  assert.equal(queue.size, 3);
  assert.deepEqual(drain(queue), [2, 5, 4]);
});

test('a queue is immutable; operations return a new one', () => {
  const queue = queueOf(1, 2, 1);
  enqueue(queue, { id: 9, accountId: 1 });
  dequeue(queue);
  rework(queue, () => null);
  assert.deepEqual(
    everyone(queue).map(({ id }) => id),
    [1, 3, 2],
  );
});

test('no waiter is lost or duplicated in any sequence of joins and leaves', () => {
  check(
    fc.property(fc.array(fc.oneof(fc.nat(4), fc.constant('take'), fc.constant('leave'))), (steps) => {
      let queue: FairQueue<Item> = emptyQueue;
      let inside: number[] = [];
      steps.forEach((step, id) => {
        if (typeof step === 'number') {
          queue = enqueue(queue, { id, accountId: step });
          inside.push(id);
          return;
        }
        const next = dequeue(queue);
        const out = step === 'take' ? next?.item.id : inside[Math.floor(inside.length / 2)];
        queue =
          step === 'take' ? (next?.rest ?? queue) : rework(queue, (item) => (item.id === out ? null : item));
        inside = inside.filter((item) => item !== out);
      });
      assert.equal(queue.size, inside.length);
      assert.deepEqual(
        drain(queue).toSorted((a, b) => a - b),
        inside,
      );
    }),
  );
});
