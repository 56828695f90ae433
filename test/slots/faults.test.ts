/** Faults of engines that run, each with its counts on one line. */
import assert from 'node:assert/strict';
import { describe, type TestContext, type TestOptions, test } from 'node:test';
import type { SlotGrant, SlotLease, Slots } from '../../src/slots/slots.ts';
import { engineSlot, openSlots, slotsOf } from '../harness/fake-engine.ts';
import { startTestGateway, testPrice } from '../harness/gateway.ts';
import { TestClock } from '../harness/test-clock.ts';
import { byTier, fullOnly } from '../harness/tier.ts';
import { until } from '../harness/until.ts';

const me = (coldWaitMs = 30_000, accountId = 1) => ({
  accountId,
  coldWaitMs,
  signal: new AbortController().signal,
});

function leased(granted: SlotGrant): SlotLease {
  assert.ok(granted.kind === 'lease', `loading, ${granted.kind === 'loading' ? granted.retryAfterSec : ''}`);
  return granted;
}

/** One fault: the action, and its counts; anything short of them throws. */
function fault(name: string, counts: (t: TestContext) => Promise<string>, options: TestOptions = {}): void {
  test(name, options, async (t) => t.diagnostic(`${name}: ${await counts(t)}`));
}

/** One request to an engine, and the pid that served it. */
async function once(slots: Slots, name = 'local-a', accountId = 1): Promise<number> {
  const granted = await slots.acquire(name, me(30_000, accountId));
  const lease = granted.kind === 'lease' ? granted : null;
  assert.ok(lease !== null, `no lane of ${name}: ${JSON.stringify(slots.statuses())}`);
  try {
    const output = await fetch(`${lease.baseUrl}/x`);
    return ((await output.json()) as { pid: number }).pid;
  } finally {
    lease.release();
  }
}

async function started(slots: Slots, name = 'local-a'): Promise<number> {
  await once(slots, name);
  const { pid } = slots.status(name);
  assert.ok(pid !== null);
  return pid;
}

describe('slot faults', { concurrency: 3 }, () => {
  fault('a crash in the middle of a response', async (t) => {
    const { driver } = engineSlot({ exitInStream: 2 });
    assert.ok(driver.kind === 'process');
    const slot = {
      name: 'lane',
      command: driver.command,
      env: driver.env,
      cwd: driver.cwd,
      max_concurrency: 1,
    };
    const limits = { context_length: 4096, max_completion_tokens: 4096, price: testPrice };
    const model = { id: 'test/local', ...limits, candidates: [{ slot: 'lane' }] };
    const naru = await startTestGateway({
      config: { slots: [slot], models: [model], limits: { cold_wait_ms: 30_000 } } as never,
    });
    t.after(() => naru.close());
    const { key } = await naru.account();
    const body = { model: 'test/local', stream: true, messages: [{ role: 'user', content: 'x' }] };
    const ends: string[] = [];
    const costs: number[] = [];
    for (let n = 0; n < 3; n += 1) {
      const granted = await naru.send('POST', '/chat/completions', { key, body });
      assert.equal(
        granted.status,
        200,
        `${granted.text} ${JSON.stringify(naru.gateway.slots.status('lane'))}`,
      );
      ends.push(granted.text.includes('"error"') ? 'error' : 'whole');
      assert.match(granted.text, /\[DONE\]/);
      await naru.settled();
      const id = granted.headers.get('x-service-generation-id');
      costs.push((await naru.send('GET', `/generation?id=${id}`, { key })).json.data.total_cost);
    }
    assert.deepEqual(ends, ['whole', 'error', 'whole']);
    assert.equal(costs[1], 0);
    assert.ok((costs[0] ?? 0) > 0 && costs[0] === costs[2]);
    const { starts } = naru.gateway.slots.status('lane');
    assert.equal(starts, 2);
    assert.deepEqual((await naru.operator.verifyLedger()).differences, []);
    return `1 of 3 broke off with an error in the stream at a cost of ${costs[1]}, ${starts} starts`;
  });

  fault(
    'two models that do not fit together, requested in turn',
    async (t) => {
      const gpu = { gpus: ['0'], vramMb: 6, minResidentMs: 1000 };
      const both = [engineSlot({}, gpu), engineSlot({}, { ...gpu, name: 'local-b' })];
      const slots = await openSlots(t, both, { gpus: new Map([['0', 10]]), nvidiaSmi: '/none' });
      const began = performance.now();
      let together = 0;
      const served = await Promise.all(
        ['local-a', 'local-b'].map(async (name) => {
          let count = 0;
          while (performance.now() - began < byTier(2_500, 6_000)) {
            await once(slots, name);
            count += 1;
            const up = slots.statuses().filter(({ pid }) => pid !== null);
            if (up.length > 1) together += 1;
          }
          return count;
        }),
      );
      const starts = slots.statuses().reduce((sum, slot) => sum + slot.starts, 0);
      const most = 2 + Math.ceil((performance.now() - began) / 1000);
      assert.ok(starts >= 2 && starts <= most, `${starts} starts, ${most} at most`);
      assert.ok(
        served.every((count) => count > 0) && together === 0,
        `${served}, ${together} times together`,
      );
      return `${served.join(' and ')} served, ${starts} starts of at most ${most}, ${together} times both in memory`;
    },
    fullOnly,
  );

  fault('the wrong model is behind the port', async (t) => {
    const wrong = engineSlot({ lists: 'other' }, { model: 'wanted' });
    const slots = await openSlots(t, wrong);
    assert.equal((await slots.acquire('local-a', me())).kind, 'loading');
    assert.match(slots.status('local-a').reason, /the engine serves other, not wanted/);
    (await slots.prepare(slotsOf(engineSlot({ lists: 'wanted' }, { model: 'wanted' }))))();
    await started(slots);
    return '0 requests to the wrong one, 1 to the right one';
  });

  fault('an engine falls silent', async (t) => {
    const slots = await openSlots(t, engineSlot({ hangFrom: 2 }, { stallMs: 500 }));
    await once(slots);
    const lease = leased(await slots.acquire('local-a', me()));
    const behind = slots.acquire('local-a', me());
    const hung = fetch(`${lease.baseUrl}/x`).catch(() => 'broken');
    await until('the lease is lost', () => lease.cancelReason.aborted, 30_000);
    assert.equal(await hung, 'broken');
    leased(await behind);
    assert.equal(slots.status('local-a').starts, 2);
    return `1 lease lost, the next one served, ${slots.status('local-a').starts} starts`;
  });

  fault('the clock jumps', async (t) => {
    const clock = new TestClock();
    const slots = await openSlots(t, engineSlot({}, { idleStopMs: 60_000, stallMs: 60_000 }), { clock });
    await started(slots);
    for (const jumpMs of [86_400_000, -172_800_000, 3_600_000]) {
      clock.advance(jumpMs);
      await once(slots);
    }
    assert.equal(slots.status('local-a').starts, 1);
    return `3 jumps, 4 served, ${slots.status('local-a').starts} start`;
  });

  fault('an engine that cannot fall asleep', async (t) => {
    const sleep = { sleepPath: '/sleep?level=1', wakePath: '/wake_up', vramMb: 0 };
    const well = engineSlot({ sleepStatus: 200 }, { sleep, idleStopMs: 50 });
    const ill = engineSlot({ sleepStatus: 500 }, { sleep, idleStopMs: 50, name: 'local-b' });
    const slots = await openSlots(t, [well, ill]);
    const serve = () => Promise.all([once(slots), once(slots, 'local-b')]);
    const [wellPid, illPid] = await serve();
    await until('one sleeps', () => slots.status('local-a').state === 'SLEEPING');
    await until('one is stopped', () => slots.status('local-b').state === 'COLD');
    const [wokenPid, newPid] = await serve();
    // By process, not by the number of starts: one whose port another program took is repeated.
    assert.equal(wokenPid, wellPid);
    assert.notEqual(newPid, illPid);
    const starts = slots.statuses().map((slot) => slot.starts);
    return `4 served, ${starts[0]} start of the one that sleeps, ${starts[1]} of the one that does not`;
  });
});
