import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { groupMembers } from '../../src/slots/drivers/process-table.ts';
import type { SlotGrant, SlotLease, Slots } from '../../src/slots/slots.ts';
import { engineSlot, openSlots } from '../harness/fake-engine.ts';
import { byTier } from '../harness/tier.ts';
import { until } from '../harness/until.ts';

const me = (accountId = 1) => ({ accountId, signal: new AbortController().signal });

function leased(response: SlotGrant): SlotLease {
  assert.ok(
    response.kind === 'lease',
    `loading, ${response.kind === 'loading' ? response.retryAfterSec : ''}`,
  );
  return response;
}

const counts = (slots: Slots) => {
  const { inFlight, queued } = slots.status('local-a');
  return { inFlight, queued };
};

describe('a ready engine', { concurrency: 2 }, () => {
  test('many requests for one lane are all served, one at a time, first come, first served', async (t) => {
    const slots = await openSlots(t, engineSlot());
    const count = byTier(50, 200);
    const order: number[] = [];
    let inFlight = 0;
    await Promise.all(
      Array.from({ length: count }, async (_, n) => {
        const lease = leased(await slots.acquire('local-a', me()));
        inFlight += 1;
        assert.equal(inFlight, 1);
        order.push(n);
        await (await fetch(`${lease.baseUrl}/x`)).text();
        inFlight -= 1;
        lease.release();
        lease.release();
      }),
    );
    assert.deepEqual(
      order,
      Array.from({ length: count }, (_, n) => n),
    );
    assert.deepEqual(counts(slots), { inFlight: 0, queued: 0 });
    assert.equal(slots.status('local-a').starts, 1);
  });

  test('an account with many requests does not make another one wait for more than a turn', async (t) => {
    const slots = await openSlots(t, engineSlot());
    const order: number[] = [];
    const send = async (accountId: number): Promise<void> => {
      const lease = leased(await slots.acquire('local-a', me(accountId)));
      order.push(accountId);
      await Promise.resolve();
      lease.release();
    };
    const holder = leased(await slots.acquire('local-a', me(9)));
    const all = [...Array(6).fill(1), 2, 2, 3].map(send);
    assert.deepEqual(counts(slots), { inFlight: 1, queued: 9 });
    holder.release();
    await Promise.all(all);
    assert.deepEqual(order, [1, 2, 3, 1, 2, 1, 1, 1, 1]);
  });

  test('a client that disconnects frees its position at once: before, during the start, in the queue and with the lane', async (t) => {
    const slots = await openSlots(t, engineSlot({ healthyFrom: 3 }));
    await assert.rejects(
      slots.acquire('local-a', { accountId: 1, signal: AbortSignal.abort(new Error('early')) }),
      /early/,
    );
    assert.equal(slots.status('local-a').state, 'COLD');
    const during = new AbortController();
    const starting = slots.acquire('local-a', { accountId: 1, signal: during.signal });
    assert.deepEqual(counts(slots), { inFlight: 0, queued: 1 });
    during.abort(new Error('left during the start'));
    assert.deepEqual(counts(slots), { inFlight: 0, queued: 0 });
    await assert.rejects(starting, /left during the start/);
    assert.equal(slots.status('local-a').state, 'STARTING');

    const holding = new AbortController();
    const lease = leased(await slots.acquire('local-a', { accountId: 1, signal: holding.signal }));
    const queueing = new AbortController();
    const queued = slots.acquire('local-a', { accountId: 1, signal: queueing.signal });
    const behind = slots.acquire('local-a', me());
    assert.deepEqual(counts(slots), { inFlight: 1, queued: 2 });
    queueing.abort(new Error('left the queue'));
    await assert.rejects(queued, /left the queue/);
    assert.deepEqual(counts(slots), { inFlight: 1, queued: 1 });
    holding.abort();
    const next = leased(await behind);
    lease.release();
    assert.deepEqual(counts(slots), { inFlight: 1, queued: 0 });
    assert.equal(slots.status('local-a').starts, 1);
    next.release();
    assert.deepEqual(counts(slots), { inFlight: 0, queued: 0 });
  });

  test('an engine that exits during a lease, even with code 0, is a crash: the lease ends, the next one restarts', async (t) => {
    const slots = await openSlots(t, engineSlot({ exitAfter: 2 }));
    const lease = leased(await slots.acquire('local-a', me()));
    const behind = slots.acquire('local-a', me(2));
    await (await fetch(`${lease.baseUrl}/x`)).text();
    const lost = new Promise<void>((resolve) =>
      lease.cancelReason.addEventListener('abort', () => resolve()),
    );
    await assert.rejects(fetch(`${lease.baseUrl}/x`));
    await lost;
    assert.match(
      String(lease.cancelReason.reason),
      /slot local-a: the engine exited with code 0: that was the last one/,
    );
    lease.release();
    const next = leased(await behind);
    assert.equal(next.cancelReason.aborted, false);
    assert.equal((await fetch(`${next.baseUrl}/x`)).status, 200);
    assert.equal(slots.status('local-a').starts, 2);
    assert.deepEqual(counts(slots), { inFlight: 1, queued: 0 });
  });

  test('an idle engine is stopped, and started again for the next request', async (t) => {
    const slots = await openSlots(t, engineSlot({}, { idleStopMs: 100 }));
    const lease = leased(await slots.acquire('local-a', me()));
    const { pid } = slots.status('local-a');
    lease.release();
    await until('the idle stop', () => slots.status('local-a').state === 'COLD');
    assert.equal(slots.status('local-a').reason, 'idle');
    assert.deepEqual(await groupMembers(pid ?? 0), []);
    leased(await slots.acquire('local-a', me()));
    assert.equal(slots.status('local-a').starts, 2);
  });

  test('a request around the moment of the idle stop never fails', async (t) => {
    const slots = await openSlots(t, engineSlot({}, { idleStopMs: 60 }));
    leased(await slots.acquire('local-a', me())).release();
    // Both sides of that moment, by a clock of the test: reducer.test.ts.
    const rounds = byTier(4, 12);
    for (let n = 0; n < rounds; n += 1) {
      const aroundMs = 55 + (11 * n) / (rounds - 1);
      await new Promise((resolve) => setTimeout(resolve, aroundMs));
      const lease = leased(await slots.acquire('local-a', me()));
      assert.equal((await fetch(`${lease.baseUrl}/x`)).status, 200);
      lease.release();
    }
    assert.ok(slots.status('local-a').starts > 1, 'no round met the idle stop');
  });
});
