import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { groupMembers, groupMembersByPs } from '../../src/slots/drivers/process-table.ts';
import type { SlotGrant, SlotLease } from '../../src/slots/slots.ts';
import { identify } from '../../src/store/process-identity.ts';
import type { Timer } from '../../src/time/clock.ts';
import { type EngineScript, engineSlot, openSlots, tempDir } from '../harness/fake-engine.ts';
import { TestClock } from '../harness/test-clock.ts';
import { byTier } from '../harness/tier.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { until } from '../harness/until.ts';

const me = () => ({ accountId: 1, signal: new AbortController().signal });
const engineFile = fileURLToPath(new URL('../harness/fake-engine.ts', import.meta.url));

function leased(response: SlotGrant): SlotLease {
  assert.ok(
    response.kind === 'lease',
    `loading, ${response.kind === 'loading' ? response.retryAfterSec : ''}`,
  );
  return response;
}

/** A process of its own group that sleeps, killed after the test. */
function sleeper(t: TestContext): number {
  const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  return child.pid ?? 0;
}

async function groupOf(pid: number | null): Promise<number> {
  assert.ok(pid !== null);
  assert.ok((await groupMembers(pid)).length >= 2, 'the engine and its guard');
  return pid;
}

describe('a stop', { concurrency: 3 }, () => {
  test('an engine that ignores SIGTERM is killed after the grace, and its lease is lost', async (t) => {
    const slots = await openSlots(t, engineSlot({ ignoreSigterm: true }), { graceMs: 500 });
    const lease = leased(await slots.acquire('local-a', me()));
    const pgid = await groupOf(slots.status('local-a').pid);
    const began = performance.now();
    await slots.stop('local-a', 0);
    const tookMs = performance.now() - began;
    assert.ok(tookMs >= 499 && tookMs < scaledLimit(3_000), `${tookMs}`);
    assert.equal(lease.cancelReason.aborted, true);
    assert.deepEqual(await groupMembers(pgid), []);
    assert.equal(slots.status('local-a').state, 'COLD');
  });

  test('an operator’s stop lets the lease in flight end first', async (t) => {
    const slots = await openSlots(t, engineSlot());
    const lease = leased(await slots.acquire('local-a', me()));
    const stopped = slots.stop('local-a');
    assert.equal(slots.status('local-a').state, 'DRAINING');
    assert.equal((await fetch(`${lease.baseUrl}/x`)).status, 200);
    lease.release();
    await stopped;
    assert.equal(lease.cancelReason.aborted, false);
    assert.equal(slots.status('local-a').state, 'COLD');
    slots.start('local-a');
    await until('a start by the operator', () => slots.status('local-a').state === 'READY');
  });

  test('a grandchild that outlives its leader is killed with it, at a stop and after a crash', async (t) => {
    const slots = await openSlots(t, engineSlot({ grandchild: true }), { graceMs: 500 });
    const lease = leased(await slots.acquire('local-a', me()));
    const pgid = await groupOf(slots.status('local-a').pid);
    const members = await groupMembers(pgid);
    assert.equal(members.length, 3);
    process.kill(pgid, 'SIGKILL');
    const next = leased(await slots.acquire('local-a', me()));
    assert.equal(lease.cancelReason.aborted, true);
    assert.deepEqual(await groupMembers(pgid), []);
    assert.equal((await fetch(`${next.baseUrl}/x`)).status, 200);
    const second = await groupOf(slots.status('local-a').pid);
    assert.notEqual(second, pgid);
    await slots.stop('local-a', 0);
    assert.deepEqual(await groupMembers(second), []);
  });

  test('every process of the group has the grace to exit, also after its leader did', async (t) => {
    const dir = tempDir();
    const child = `trap "sleep 0.2; echo done >${dir}/end; exit" TERM; echo up >${dir}/up; while :; do sleep 0.05; done`;
    const command = ['sh', '-c', 'sh -c "$0" & trap "exit 0" TERM; wait', child];
    const driver = { kind: 'process', command, env: { PATH: process.env['PATH'] ?? '' }, cwd: dir } as const;
    const slots = await openSlots(t, engineSlot({}, { driver }));
    slots.start('local-a');
    await until('the child runs', () => existsSync(join(dir, 'up')));
    await slots.stop('local-a');
    assert.ok(existsSync(join(dir, 'end')));
  });

  test('a stop in the middle of a start leaves no process', async (t) => {
    const slots = await openSlots(t, engineSlot({ delayMs: 60_000 }));
    slots.start('local-a');
    await slots.stop('local-a');
    assert.equal(slots.status('local-a').state, 'COLD');
    slots.start('local-a');
    await until('the engine runs', () => slots.status('local-a').pid !== null);
    const pid = slots.status('local-a').pid ?? 0;
    await slots.stop('local-a');
    assert.deepEqual(await groupMembers(pid), []);
  });

  test('a close rejects waiting requests and leaves no process', async (t) => {
    const slots = await openSlots(t, [engineSlot(), engineSlot({ delayMs: 60_000 }, { name: 'local-b' })]);
    const lease = leased(await slots.acquire('local-a', me()));
    const queued = slots.acquire('local-a', me());
    const starting = slots.acquire('local-b', me());
    await until('both run', () => slots.statuses().every(({ pid }) => pid !== null));
    const pids = slots.statuses().map(({ pid }) => pid ?? 0);
    await slots.close();
    for (const granted of await Promise.all([queued, starting])) assert.equal(granted.kind, 'loading');
    assert.equal(lease.cancelReason.aborted, true);
    for (const pid of pids) assert.deepEqual(await groupMembers(pid), []);
    assert.equal((await slots.acquire('local-a', me())).kind, 'loading');
  });

  const scripts: readonly [string, EngineScript][] = [
    // It ignores SIGTERM too.
    ['a grandchild', { grandchild: true }],
    ['an engine that ignores SIGTERM', { ignoreSigterm: true }],
  ];
  for (const [what, script] of scripts.slice(0, byTier(1, scripts.length)))
    test(`Naru killed with -9 leaves no process within two seconds: ${what}`, async (t) => {
      const dataDir = tempDir();
      const owner = spawn(process.execPath, [engineFile, 'owner', dataDir, JSON.stringify(script)]);
      t.after(() => owner.kill('SIGKILL'));
      const line = await new Promise<string>((resolve) =>
        owner.stdout.once('data', (d) => resolve(String(d))),
      );
      const pgid = await groupOf((JSON.parse(line) as { pid: number }).pid);
      await assert.rejects(openSlots(t, engineSlot(), { dataDir }), {
        name: 'OperatorError',
        message: /still runs, pid \d+: stop it first; if this is a copy .* delete .*running\.json$/,
      });
      owner.kill('SIGKILL');
      await until('the group is empty', async () => (await groupMembers(pgid)).length === 0, 2000);
      const slots = await openSlots(t, engineSlot(), { dataDir });
      leased(await slots.acquire('local-a', me()));
    });

  test('processes of an earlier Naru are killed at the start, and none that only reuses a pid', async (t) => {
    const dataDir = tempDir();
    const left = sleeper(t);
    const other = sleeper(t);
    const dead = { pid: 1 + 2 ** 22, born: 'gone' };
    for (const [name, leader] of [
      ['local-a', identify(left)],
      ['local-b', { pid: other, born: 'long ago' }],
    ] as const) {
      mkdirSync(join(dataDir, 'slots', name), { recursive: true });
      const running = JSON.stringify({ owner: dead, leader, guard: null });
      writeFileSync(join(dataDir, 'slots', name, 'running.json'), running);
    }
    await openSlots(t, [engineSlot(), engineSlot({}, { name: 'local-b' })], { dataDir });
    assert.equal(identify(left), null);
    assert.notEqual(identify(other), null);
    for (const name of ['local-a', 'local-b'])
      assert.equal(existsSync(join(dataDir, 'slots', name, 'running.json')), false);
  });

  test('a residency that ends during the check of the time counts as ended', async (t) => {
    const gpu = { gpus: ['0'], vramMb: 6, minResidentMs: 300 };
    const both = [engineSlot({}, gpu), engineSlot({}, { ...gpu, name: 'local-b' })];
    const clock = new HastyClock();
    const slots = await openSlots(t, both, { gpus: new Map([['0', 10]]), nvidiaSmi: '/none', clock });
    leased(await slots.acquire('local-a', me())).release();
    leased(await slots.acquire('local-b', me())).release();
    assert.equal(slots.status('local-a').state, 'COLD');
    assert.ok(clock.hasty > 0);
  });

  test('without /proc, ps finds the same members of a group', async (t) => {
    const pid = sleeper(t);
    assert.deepEqual(await groupMembersByPs(pid), [pid]);
    assert.deepEqual(await groupMembers(pid), [pid]);
  });

  test('a hundred megabytes of output neither block the engine nor fill the disk', async (t) => {
    const dataDir = tempDir();
    const slots = await openSlots(t, engineSlot({ spamMb: byTier(12, 100) }), { dataDir });
    const dir = join(dataDir, 'slots', 'local-a');
    leased(await slots.acquire('local-a', me()));
    // A file may be renamed between the two reads.
    const sizes = () =>
      readdirSync(dir).map((name) => statSync(join(dir, name), { throwIfNoEntry: false })?.size ?? 0);
    await until('the engine was never blocked', async () => {
      assert.ok(sizes().reduce((sum, size) => sum + size, 0) < 9 * 1024 * 1024);
      return slots.status('local-a').inFlight === 1 && (await lastLine(dir)) === 'spam over';
    });
    await slots.stop('local-a', 0);
    assert.ok(
      sizes().some((size) => size > 100_000),
      'the log was kept',
    );
  });
});

/**
 * A clock whose timers fire before their time, as Node's do when a turn is long; only the check
 * after that one is past it.
 */
class HastyClock extends TestClock {
  hasty = 0;
  #dueMs: number | null = null;
  #lastMs = 0;

  override monotonic(): number {
    this.#lastMs = Math.max(this.#lastMs, this.#dueMs ?? super.monotonic());
    this.#dueMs = null;
    return this.#lastMs;
  }

  override after(delayMs: number, task: () => void): Timer {
    const dueMs = super.monotonic() + delayMs;
    return super.after(delayMs, () => {
      while (super.monotonic() < dueMs);
      this.#dueMs = dueMs - 2;
      this.hasty += 1;
      task();
      this.#dueMs = null;
    });
  }
}

async function lastLine(dir: string): Promise<string> {
  const { readFile } = await import('node:fs/promises');
  const log = readdirSync(dir).find((name) => name.endsWith('.log'));
  const text = log === undefined ? '' : await readFile(join(dir, log), 'utf8').catch(() => '');
  return text.trimEnd().split('\n').at(-1) ?? '';
}
