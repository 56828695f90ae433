/**
 * `npm run chaos:slots`: what can go wrong with an engine, done to real processes, each with its
 * counts on one line. Naru killed while engines run is in orphans.test.ts and stop.test.ts of
 * slots/.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, type TestContext, type TestOptions, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { portPicker } from '../../src/slots/drivers/launch.ts';
import { groupMembers } from '../../src/slots/drivers/process-table.ts';
import type { SlotGrant, SlotLease, Slots } from '../../src/slots/slots.ts';
import { engineSlot, openSlots, slotsOf, tempDir } from '../harness/fake-engine.ts';
import { startTestGateway, testPrice } from '../harness/gateway.ts';
import { TestClock } from '../harness/test-clock.ts';
import { byTier, fullOnly } from '../harness/tier.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { until } from '../harness/until.ts';

const engineFile = fileURLToPath(new URL('../harness/fake-engine.ts', import.meta.url));
const me = (coldWaitMs = 30_000, accountId = 1) => ({
  accountId,
  coldWaitMs,
  signal: new AbortController().signal,
});

function leased(granted: SlotGrant): SlotLease {
  assert.ok(granted.kind === 'lease', `loading, ${granted.kind === 'loading' ? granted.retryAfterSec : ''}`);
  return granted;
}

/**
 * One fault: the action, and its counts; anything short of them throws. Those of the full tier have
 * siblings in test/slots.
 */
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
  fault(
    'a cold burst of 50',
    async (t) => {
      const slots = await openSlots(t, engineSlot({ delayMs: 100 }, { maxConcurrency: 4 }));
      const pids = await Promise.all(Array.from({ length: 50 }, () => once(slots)));
      const { starts } = slots.status('local-a');
      assert.deepEqual([starts, new Set(pids).size], [1, 1]);
      return `${pids.length} served, ${starts} start`;
    },
    fullOnly,
  );

  fault(
    '200 requests at once on one lane',
    async (t) => {
      const slots = await openSlots(t, engineSlot());
      const order: number[] = [];
      const serve = async (n: number): Promise<void> => {
        const lease = leased(await slots.acquire('local-a', me(30_000, 1 + (n % 4))));
        order.push(n);
        assert.equal((await fetch(`${lease.baseUrl}/x`)).status, 200);
        lease.release();
      };
      await Promise.all(Array.from({ length: 200 }, (_, n) => serve(n)));
      const late = order.filter((n, at) =>
        order.slice(0, at).some((other) => other > n && other % 4 === n % 4),
      );
      assert.deepEqual([order.length, late.length], [200, 0]);
      return `${order.length} of 200 served, ${late.length} out of the order of their account`;
    },
    fullOnly,
  );

  fault(
    'slower than its budget',
    async (t) => {
      const slots = await openSlots(t, engineSlot({ healthStatus: 503 }, { startBudgetMs: 1500 }));
      const reported: number[] = [];
      await until('the back-off', async () => {
        const granted = await slots.acquire('local-a', me(0));
        const { state, starts } = slots.status('local-a');
        // A busy machine may not look before the start after the back-off.
        if (starts > 1) return true;
        if (state === 'STARTING' && granted.kind === 'loading') reported.push(granted.retryAfterSec);
        return state === 'BACKOFF';
      });
      const rises = reported.filter((sec, at) => sec > (reported[at - 1] ?? sec));
      assert.deepEqual([new Set(reported), rises.length], [new Set([2, 1]), 0]);
      return `${reported.length} responses with a wait, from 2 s down to 1 s, ${rises.length} rises, then a back-off`;
    },
    fullOnly,
  );

  fault(
    'five crashes at the start',
    async (t) => {
      const crashes = { file: join(tempDir(), 'crashes'), times: 5 };
      // Long enough to be seen on a busy machine.
      const slots = await openSlots(t, engineSlot({ crashes }), { circuitMs: 5_000 });
      const states = new Set<string>();
      await until(
        'it serves',
        async () => {
          const granted = await slots.acquire('local-a', me());
          states.add(slots.status('local-a').state);
          if (granted.kind === 'lease') granted.release();
          return granted.kind === 'lease';
        },
        60_000,
      );
      const { starts } = slots.status('local-a');
      assert.ok(states.has('FAILED'));
      assert.equal(starts, 6);
      return `circuit opened, ${starts} starts, the half-open one served`;
    },
    fullOnly,
  );

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
    'a request in the tick of the idle stop',
    async (t) => {
      const slots = await openSlots(t, engineSlot({}, { idleStopMs: 40 }));
      const rounds = byTier(8, 16);
      let served = 0;
      for (let n = 0; n < rounds; n += 1) {
        await once(slots);
        served += 1;
        await new Promise((resolve) => setTimeout(resolve, 36 + (n % 8)));
      }
      const { starts } = slots.status('local-a');
      assert.ok(starts > 1, 'no round met the idle stop');
      return `${served} of ${rounds} served, ${starts} starts`;
    },
    fullOnly,
  );

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

  fault(
    'two models larger than the budget together, at the same moment',
    async (t) => {
      // Long enough for the first engine to serve its requests: then it is not needed again.
      const gpu = { gpus: ['0'], vramMb: 6, minResidentMs: scaledLimit(1_000) };
      const both = [engineSlot({}, gpu), engineSlot({}, { ...gpu, name: 'local-b' })];
      const slots = await openSlots(t, both, { gpus: new Map([['0', 10]]), nvidiaSmi: '/none' });
      const request = Array.from({ length: 40 }, (_, n) => once(slots, n % 2 === 0 ? 'local-a' : 'local-b'));
      const pids = await Promise.all(request);
      assert.equal(new Set(pids).size, 2);
      return `${pids.length} of 40 served by ${new Set(pids).size} engines, one after the other`;
    },
    fullOnly,
  );

  fault(
    'SIGTERM is ignored',
    async (t) => {
      const slots = await openSlots(t, engineSlot({ ignoreSigterm: true }), { graceMs: 300 });
      const pid = await started(slots);
      await slots.stop('local-a', 0);
      const left = (await groupMembers(pid)).length;
      assert.equal(left, 0);
      return `${left} processes left`;
    },
    fullOnly,
  );

  fault(
    'a grandchild survives its leader',
    async (t) => {
      const slots = await openSlots(t, engineSlot({ grandchild: true }), { graceMs: 300 });
      const lease = leased(await slots.acquire('local-a', me()));
      const { pid } = slots.status('local-a');
      assert.ok(pid !== null);
      process.kill(pid, 'SIGKILL');
      await until('the lease is lost', () => lease.cancelReason.aborted);
      const next = await started(slots);
      const left = (await groupMembers(pid)).length;
      assert.deepEqual([left, next === pid], [0, false]);
      return `${left} processes left, ${slots.status('local-a').starts} starts`;
    },
    fullOnly,
  );

  fault(
    'Naru is killed',
    async (t) => {
      const owner = spawn(process.execPath, [engineFile, 'owner', tempDir(), '{"ignoreSigterm":true}']);
      t.after(() => owner.kill('SIGKILL'));
      const line = await new Promise<string>((resolve) =>
        owner.stdout.once('data', (d) => resolve(String(d))),
      );
      const { pid } = JSON.parse(line) as { pid: number };
      const before = (await groupMembers(pid)).length;
      owner.kill('SIGKILL');
      await until('the group is empty', async () => (await groupMembers(pid)).length === 0);
      return `${before} processes before, 0 after`;
    },
    fullOnly,
  );

  fault(
    'a foreign process that responds 200 has the port',
    async (t) => {
      let requests = 0;
      const foreign = createServer((_, response) => {
        requests += 1;
        response.end('not yours');
      });
      const taken = await portPicker()();
      await new Promise<void>((resolve) => foreign.listen(taken, '127.0.0.1', resolve));
      t.after(() => foreign.close());
      const slots = await openSlots(t, engineSlot(), { pickPort: portPicker(taken) });
      assert.equal(await started(slots), slots.status('local-a').pid);
      assert.deepEqual([requests, slots.status('local-a').starts], [0, 1]);
      return `${requests} requests to the foreign process, 1 start`;
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

  fault(
    '100 MB on stderr',
    async (t) => {
      const dataDir = tempDir();
      const slots = await openSlots(t, engineSlot({ spamMb: 100 }), { dataDir });
      await started(slots);
      const dir = join(dataDir, 'slots', 'local-a');
      await until('it is never blocked', async () => (await once(slots)) > 0);
      const bytes = readdirSync(dir).reduce((sum, name) => sum + statSync(join(dir, name)).size, 0);
      assert.ok(bytes < 9 * 1024 * 1024);
      return `2 served, ${Math.round(bytes / 1024)} KiB kept`;
    },
    fullOnly,
  );

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

  fault(
    'a configuration reload under a running slot',
    async (t) => {
      const slots = await openSlots(t, engineSlot({}, { maxConcurrency: 2 }));
      await started(slots);
      const sent = Array.from({ length: 30 }, () => once(slots));
      (await slots.prepare(slotsOf(engineSlot({}, { maxConcurrency: 4 }))))();
      sent.push(...Array.from({ length: 30 }, () => once(slots)));
      const untouched = slots.status('local-a').starts;
      (await slots.prepare(slotsOf(engineSlot({}, { readyPath: '/health?again' }))))();
      sent.push(...Array.from({ length: 30 }, () => once(slots)));
      const pids = await Promise.all(sent);
      assert.deepEqual([untouched, new Set(pids).size], [1, 2]);
      return `${pids.length} of 90 served by ${new Set(pids).size} engines`;
    },
    fullOnly,
  );

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
