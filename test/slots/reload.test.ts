import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { groupMembers } from '../../src/slots/drivers/process-table.ts';
import type { SlotGrant, SlotLease } from '../../src/slots/slots.ts';
import { engineSlot, openSlots, slotsOf } from '../harness/fake-engine.ts';
import { until } from '../harness/until.ts';

const me = (coldWaitMs = 8000) => ({ accountId: 1, signal: new AbortController().signal, coldWaitMs });

function leased(response: SlotGrant): SlotLease {
  assert.ok(
    response.kind === 'lease',
    `loading, ${response.kind === 'loading' ? response.retryAfterSec : ''}`,
  );
  return response;
}

describe('a change of the configuration', { concurrency: 2 }, () => {
  test('leaves an unchanged slot alone with its lease and engine, and applies members that no engine uses', async (t) => {
    const slots = await openSlots(t, engineSlot());
    const lease = leased(await slots.acquire('local-a', me()));
    const behind = slots.acquire('local-a', me());
    const { pid } = slots.status('local-a');
    const commit = await slots.prepare(slotsOf(engineSlot({}, { maxConcurrency: 2, idleStopMs: 70_000 })));
    assert.equal(slots.status('local-a').queued, 1);
    commit();
    leased(await behind).release();
    assert.equal(lease.cancelReason.aborted, false);
    assert.equal((await fetch(`${lease.baseUrl}/x`)).status, 200);
    assert.deepEqual([slots.status('local-a').pid, slots.status('local-a').starts], [pid, 1]);
  });

  test('drains an engine whose command changed, and starts the new one after the first has ended', async (t) => {
    const slots = await openSlots(t, engineSlot());
    const lease = leased(await slots.acquire('local-a', me()));
    const queued = slots.acquire('local-a', me());
    const first = slots.status('local-a').pid ?? 0;
    (await slots.prepare(slotsOf(engineSlot({ healthyFrom: 2 }))))();
    const next = slots.acquire('local-a', me());
    assert.equal(slots.status('local-a').state, 'ADMITTING');
    assert.equal((await fetch(`${lease.baseUrl}/x`)).status, 200);
    lease.release();
    const second = leased(await queued);
    assert.equal(((await (await fetch(`${second.baseUrl}/x`)).json()) as { pid: number }).pid, first);
    assert.deepEqual([lease.cancelReason.aborted, second.cancelReason.aborted], [false, false]);
    second.release();
    const third = leased(await next);
    assert.deepEqual(await groupMembers(first), []);
    assert.notEqual(((await (await fetch(`${third.baseUrl}/x`)).json()) as { pid: number }).pid, first);
  });

  test('lets a removed slot complete its requests, stops it, and reports `loading` to new requests', async (t) => {
    const slots = await openSlots(t, [engineSlot(), engineSlot({}, { name: 'local-b' })]);
    const lease = leased(await slots.acquire('local-a', me()));
    const { pid } = slots.status('local-a');
    (
      await slots.prepare(slotsOf([engineSlot({}, { name: 'local-b' }), engineSlot({}, { name: 'local-c' })]))
    )();
    assert.deepEqual(
      slots.statuses().map(({ name }) => name),
      ['local-b', 'local-c'],
    );
    assert.equal((await fetch(`${lease.baseUrl}/x`)).status, 200);
    lease.release();
    await until('the engine is gone', async () => (await groupMembers(pid ?? 0)).length === 0);
    await until('the slot is gone', () => !isKnown(() => slots.status('local-a')));
    assert.deepEqual(await slots.acquire('local-a', me()), { kind: 'loading', retryAfterSec: 1 });
    leased(await slots.acquire('local-c', me()));
    (await slots.prepare(slotsOf([engineSlot()])))();
    leased(await slots.acquire('local-a', me()));
  });

  test('is rejected as a whole when a slot can never have its memory', async (t) => {
    const slots = await openSlots(t, engineSlot());
    const big = engineSlot({}, { gpus: ['0'], vramMb: 30_000 });
    await assert.rejects(
      slots.prepare(slotsOf(big, { gpus: new Map([['0', 24_000]]) })),
      /local-a needs more memory than slots may use on GPU 0/,
    );
    leased(await slots.acquire('local-a', me()));
  });

  test('that removes a slot with an endless request gives it the drain and no more', async (t) => {
    const slots = await openSlots(t, engineSlot());
    const lease = leased(await slots.acquire('local-a', me()));
    (await slots.prepare(slotsOf([], { drainMs: 200 })))();
    await until('the lease is lost', () => lease.cancelReason.aborted);
  });
});

function isKnown(look: () => unknown): boolean {
  try {
    look();
    return true;
  } catch {
    return false;
  }
}
