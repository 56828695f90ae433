import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoopTurns } from '../../src/time/loop-turns.ts';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a turn begins work up to its cost, and the rest waits in the order of its arrival', async () => {
  const turns = new LoopTurns({ maxCost: 10 });
  const begun: number[] = [];
  for (let n = 1; n <= 7; n += 1) turns.take(4, () => begun.push(n));
  assert.deepEqual(begun, [1, 2, 3], 'until the cost is reached');
  await nextTurn();
  assert.deepEqual(begun, [1, 2, 3, 4, 5, 6]);
  turns.take(4, () => begun.push(8));
  assert.deepEqual(begun, [1, 2, 3, 4, 5, 6], 'nothing overtakes what waits');
  await nextTurn();
  assert.deepEqual(begun, [1, 2, 3, 4, 5, 6, 7, 8]);
  await nextTurn();
  await nextTurn();
  for (let n = 9; n <= 11; n += 1) turns.take(4, () => begun.push(n));
  assert.deepEqual(begun.slice(8), [9, 10, 11], 'a later turn has its whole cost');
});

test('work that throws does not keep the rest waiting', async (t) => {
  const turns = new LoopTurns({ maxCost: 1 });
  const thrown: unknown[] = [];
  const onThrown = (error: unknown): void => void thrown.push(error);
  // The runner's own handlers would fail the test.
  const others = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException').on('uncaughtException', onThrown);
  t.after(() => {
    process.removeAllListeners('uncaughtException');
    for (const other of others) process.on('uncaughtException', other);
  });
  const begun: string[] = [];
  turns.take(1, () => begun.push('first'));
  turns.take(1, () => {
    throw new Error('a defect');
  });
  turns.take(1, () => begun.push('last'));
  for (let turn = 0; turn < 4; turn += 1) await nextTurn();
  assert.deepEqual(begun, ['first', 'last']);
  assert.equal(thrown.length, 1);
});
