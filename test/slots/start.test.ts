import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { portPicker } from '../../src/slots/drivers/launch.ts';
import { groupMembers } from '../../src/slots/drivers/process-table.ts';
import type { SlotGrant, SlotLease, Slots } from '../../src/slots/slots.ts';
import { engineSlot, openSlots, tempDir } from '../harness/fake-engine.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { until } from '../harness/until.ts';

const signal = (): AbortSignal => new AbortController().signal;
const me = (coldWaitMs?: number) => ({
  accountId: 1,
  signal: signal(),
  ...(coldWaitMs === undefined ? {} : { coldWaitMs }),
});

/** A back-off lasts a second and more: on a busy machine it can be over before anybody looks. */
async function untilStopped(slots: Slots): Promise<void> {
  await until('the end of the start', () => ['BACKOFF', 'COLD'].includes(slots.status('local-a').state));
}

function leased(granted: SlotGrant): SlotLease {
  assert.ok(granted.kind === 'lease', `loading, ${granted.kind === 'loading' ? granted.retryAfterSec : ''}`);
  return granted;
}

/** Gives the slot a history of starts that take `startsMs`. */
function writeHistory(dataDir: string, startsMs: readonly number[]): void {
  const dir = join(dataDir, 'slots', 'local-a');
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'history.json'), JSON.stringify({ startsMs }));
}

describe('a start', { concurrency: 2 }, () => {
  test('fifty requests on a cold slot make one start, and all are served', async (t) => {
    const slots = await openSlots(t, engineSlot({ delayMs: 100 }, { maxConcurrency: 4 }));
    assert.equal(slots.status('local-a').state, 'COLD');
    const pids = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const lease = leased(await slots.acquire('local-a', me()));
        const granted = await fetch(`${lease.baseUrl}/chat/completions`);
        lease.release();
        return ((await granted.json()) as { pid: number }).pid;
      }),
    );
    const { pid, starts } = slots.status('local-a');
    assert.equal(starts, 1);
    assert.deepEqual(new Set(pids), new Set([pid]));
  });

  test('a request waits for a start that is expected within the cold wait', async (t) => {
    const dataDir = tempDir();
    writeHistory(dataDir, [400]);
    const slots = await openSlots(t, engineSlot({ healthyFrom: 4 }, { model: 'tiny' }), { dataDir });
    const lease = leased(await slots.acquire('local-a', me()));
    assert.equal(lease.baseUrl, `http://127.0.0.1:${slots.status('local-a').port}/v1`);
    assert.equal(lease.model, 'tiny');
  });

  test('a start that takes longer is `loading` with a falling time to wait, and later a lease', async (t) => {
    const dataDir = tempDir();
    writeHistory(dataDir, [3000, 3000, 3000]);
    const slots = await openSlots(t, engineSlot({ delayMs: 2500 }), { dataDir, coldWaitMs: 300 });
    const reported: number[] = [];
    let lease: SlotLease | null = null;
    await until('a lease', async () => {
      const granted = await slots.acquire('local-a', me());
      if (granted.kind === 'lease') lease = granted;
      else if (granted.kind === 'loading') reported.push(granted.retryAfterSec);
      return lease !== null;
    });
    assert.equal(reported[0], 3);
    assert.deepEqual(
      reported,
      reported.toSorted((a, b) => b - a),
    );
    assert.deepEqual(new Set(reported), new Set([3, 2, 1]));
    assert.equal(slots.status('local-a').starts, 1);
  });

  test('a first start without a history is waited for, but not beyond the cold wait', async (t) => {
    const slots = await openSlots(t, engineSlot({ delayMs: 60_000 }));
    const began = performance.now();
    const granted = await slots.acquire('local-a', me(200));
    const tookMs = performance.now() - began;
    assert.deepEqual(granted, { kind: 'loading', retryAfterSec: 10 });
    assert.ok(tookMs >= 199 && tookMs < scaledLimit(3_000), `${tookMs}`);
    assert.deepEqual(await slots.acquire('local-a', me(0)), { kind: 'loading', retryAfterSec: 10 });
  });

  test('start durations are kept over a restart of Naru', async (t) => {
    const dataDir = tempDir();
    const first = await openSlots(t, engineSlot(), { dataDir });
    leased(await first.acquire('local-a', me())).release();
    const { lastStartMs } = first.status('local-a');
    await first.close();
    const second = await openSlots(t, engineSlot(), { dataDir });
    assert.ok(lastStartMs !== null && lastStartMs > 0);
    assert.equal(second.status('local-a').lastStartMs, lastStartMs);
    assert.deepEqual(JSON.parse(readFileSync(join(dataDir, 'slots', 'local-a', 'history.json'), 'utf8')), {
      startsMs: [lastStartMs],
    });
  });

  test('a start over its budget is stopped and backs off', async (t) => {
    const slots = await openSlots(t, engineSlot({ healthStatus: 500 }, { startBudgetMs: 700 }));
    const waiting = slots.acquire('local-a', me());
    await until('the engine runs', () => slots.status('local-a').pid !== null);
    const { pid } = slots.status('local-a');
    assert.deepEqual(await waiting, { kind: 'loading', retryAfterSec: 1 });
    await untilStopped(slots);
    assert.equal(slots.status('local-a').reason, 'not ready within 700 ms');
    assert.deepEqual(await groupMembers(pid ?? 0), []);
  });

  test('an engine that exits at its start backs off, reports why, and later requests retry it', async (t) => {
    const slots = await openSlots(t, engineSlot({ crashAtStart: 3 }));
    assert.deepEqual(await slots.acquire('local-a', me()), { kind: 'loading', retryAfterSec: 1 });
    await untilStopped(slots);
    assert.equal(slots.status('local-a').reason, 'the engine exited with code 3: no such model');
    assert.deepEqual(await slots.acquire('local-a', me()), { kind: 'loading', retryAfterSec: 1 });
    await until('the second failure', () => slots.status('local-a').starts === 2);
    await untilStopped(slots);
    // How long it waits each time: reducer.test.ts.
    assert.equal((await slots.acquire('local-a', me())).kind, 'loading');
  });

  test('a command or a directory that does not exist is a failed start, not an internal error', async (t) => {
    const driver = { kind: 'process', command: ['/no/such/engine'], env: {}, cwd: '/' } as const;
    const lost = { ...driver, cwd: '/no/such/folder' };
    const slots = await openSlots(t, [
      engineSlot({}, { driver }),
      engineSlot({}, { name: 'local-b', driver: lost }),
    ]);
    for (const [name, reason] of [
      ['local-a', /code 127.*engine/],
      ['local-b', /no\/such\/folder/],
    ] as const) {
      assert.equal((await slots.acquire(name, me())).kind, 'loading');
      assert.match(slots.status(name).reason, reason);
    }
  });

  test('a port that is taken is passed over, and one that is taken while the engine loads is the reason of its failure', async (t) => {
    let requests = 0;
    const foreign = createServer((_, response) => {
      requests += 1;
      response.writeHead(404).end();
    });
    const port = await portPicker()();
    await once(foreign.listen(port, '127.0.0.1'), 'listening');
    t.after(() => foreign.close());
    const slots = await openSlots(t, engineSlot(), { pickPort: portPicker(port) });
    leased(await slots.acquire('local-a', me(60_000)));
    assert.deepEqual([slots.status('local-a').starts, requests], [1, 0]);
    const ports = [port];
    const late = await openSlots(t, engineSlot({}, { name: 'local-b' }), {
      pickPort: async () => ports.pop() ?? portPicker()(),
    });
    assert.equal((await late.acquire('local-b', me(60_000))).kind, 'loading');
    assert.match(
      late.status('local-b').reason,
      new RegExp(`exited with code 1 \\(its port ${port} is taken\\)`),
    );
    await until('the next start has another port', async () => {
      return (await late.acquire('local-b', me(60_000))).kind === 'lease';
    });
  });

  test('names that cannot name a directory, and slots that do not exist, are faults', async (t) => {
    await assert.rejects(openSlots(t, engineSlot({}, { name: '../x' })), /cannot name a slot/);
    const slots = await openSlots(t, engineSlot());
    await assert.rejects(slots.acquire('local-z', me()), /no slot local-z/);
    assert.throws(() => slots.status('local-z'), /no slot local-z/);
  });

  test('a port is free and below those that Linux gives to outgoing connections', async () => {
    const pick = portPicker();
    const picked = new Set<number>();
    for (let tries = 0; tries < 50; tries += 1) {
      const port = await pick();
      picked.add(port);
      assert.ok(port >= 24_000 && port < 32_768, `port ${port}`);
      const server = createServer().listen(port, '127.0.0.1');
      await once(server, 'listening');
      server.close();
    }
    assert.equal(picked.size, 50, 'no port twice');
  });
});
