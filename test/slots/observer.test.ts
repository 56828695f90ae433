import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SlotObserver } from '../../src/slots/observer.ts';
import type { SlotLease } from '../../src/slots/slots.ts';
import { engineSlot, openSlots } from '../harness/fake-engine.ts';
import { until } from '../harness/until.ts';

/* The events of an observer of the slots: each start and each wait once, by how it ended. */

function listener(): {
  readonly observer: SlotObserver;
  readonly received: string[];
  readonly took: number[];
} {
  const received: string[] = [];
  const took: number[] = [];
  return {
    received: received,
    took,
    observer: {
      started(slot, outcome, tookMs) {
        received.push(`${slot} start ${outcome}`);
        took.push(tookMs);
      },
      restarted: (slot) => received.push(`${slot} restart`),
      waited(slot, outcome, waitedMs) {
        received.push(`${slot} wait ${outcome}`);
        took.push(waitedMs);
      },
      evicted: (slot) => received.push(`${slot} eviction`),
    },
  };
}

const me = (coldWaitMs = 8000) => ({ accountId: 1, signal: new AbortController().signal, coldWaitMs });

describe('an observer', { concurrency: 3 }, () => {
  test('reports one start and one wait of a request, with their durations', async (t) => {
    const { observer, received, took } = listener();
    const slots = await openSlots(t, engineSlot({ delayMs: 200 }), { observer });
    const lease = (await slots.acquire('local-a', me())) as SlotLease;
    const away = new AbortController();
    const queued = slots.acquire('local-a', { accountId: 1, signal: away.signal });
    away.abort(new Error('left'));
    await assert.rejects(queued, /left/);
    lease.release();
    await slots.stop('local-a');
    assert.deepEqual(received, ['local-a start ready', 'local-a wait lease', 'local-a wait left']);
    const [start = 0, wait = 0, left = 0] = took;
    assert.ok(start >= 200 && start <= wait && left < 200, `${took}`);
  });

  test('reports how each failed start ended', async (t) => {
    const { observer, received } = listener();
    const slots = await openSlots(
      t,
      [
        engineSlot({ crashAtStart: 1 }, { name: 'broken' }),
        engineSlot({ delayMs: 60_000 }, { name: 'late', startBudgetMs: 300 }),
        engineSlot({ delayMs: 60_000 }, { name: 'stopped' }),
      ],
      { observer },
    );
    assert.equal((await slots.acquire('broken', me())).kind, 'loading');
    assert.equal((await slots.acquire('late', me())).kind, 'loading');
    slots.start('stopped');
    await until('the engine', () => slots.status('stopped').pid !== null);
    await slots.stop('stopped');
    assert.deepEqual(received, [
      'broken start failed',
      'broken wait loading',
      'late start over_budget',
      'late wait loading',
      'stopped start stopped',
    ]);
  });

  test('reports the start that follows a crash, and none that follows a stop', async (t) => {
    const { observer, received } = listener();
    const slots = await openSlots(t, engineSlot({ exitAfter: 1 }), { observer });
    const lease = (await slots.acquire('local-a', me())) as SlotLease;
    await assert.rejects(fetch(`${lease.baseUrl}/x`));
    await until('the crash', () => lease.cancelReason.aborted);
    const next = (await slots.acquire('local-a', me())) as SlotLease;
    next.release();
    await slots.stop('local-a');
    (await slots.acquire('local-a', me())) as SlotLease;
    assert.equal(received.filter((one) => one.endsWith('restart')).length, 1);
    assert.equal(received.filter((one) => one.endsWith('start ready')).length, 3);
  });
});
