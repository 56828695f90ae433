import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { CoarseTimers } from '../../src/time/coarse-timers.ts';

test('every task that is not cancelled runs once, not before it is due, in the order of its slot', async () => {
  let state = 1;
  const random = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return state / 0x8000_0000;
  };
  const timers = new CoarseTimers(() => performance.now());
  const startedMs = performance.now();
  const ran: { readonly number: number; readonly atMs: number }[] = [];
  const done = Promise.withResolvers<void>();
  const set = Array.from({ length: 400 }, (_, number) => {
    const delayMs = Math.floor(random() * 400);
    const timer = timers.after(delayMs, () => ran.push({ number, atMs: performance.now() - startedMs }));
    return { delayMs, timer };
  });
  const cancelled = new Set<number>();
  set.forEach(({ timer }, number) => {
    if (random() >= 0.5) return;
    cancelled.add(number);
    timer.cancel();
    timer.cancel();
  });
  timers.after(600, () => done.resolve());
  await done.promise;
  assert.equal(ran.length, set.length - cancelled.size);
  assert.equal(new Set(ran.map(({ number }) => number)).size, ran.length);
  for (const { number, atMs } of ran) {
    assert.equal(cancelled.has(number), false);
    assert.ok(atMs >= (set[number]?.delayMs ?? 0) - 2, `${atMs} ms for ${set[number]?.delayMs} ms`);
  }
});

test('tasks that are due together run in the order in which they were set', async () => {
  const timers = new CoarseTimers(() => performance.now());
  const order: number[] = [];
  const done = Promise.withResolvers<void>();
  // Two neighbours may lie in two slots: the earlier ones first all the same.
  for (const number of [0, 1, 2, 3]) timers.after(20, () => order.push(number));
  const removed = timers.after(20, () => order.push(9));
  timers.after(20, () => removed.cancel());
  timers.after(150, () => done.resolve());
  removed.cancel();
  await done.promise;
  assert.deepEqual(order, [0, 1, 2, 3]);
});

test('a task that throws does not keep the others from running', () => {
  const script = `
    import { CoarseTimers } from '${new URL('../../src/time/coarse-timers.ts', import.meta.url).href}';
    process.on('uncaughtException', ({ message }) => console.log('caught', message));
    const timers = new CoarseTimers(() => performance.now());
    timers.after(0, () => { throw new Error('of a task'); });
    timers.after(0, () => console.log('the next one'));
  `;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  assert.equal(stdout, 'caught of a task\nthe next one\n');
});

test('timers that follow each other share a timer of Node, and those without tasks let the process end', () => {
  const script = `
    import { CoarseTimers } from '${new URL('../../src/time/coarse-timers.ts', import.meta.url).href}';
    let made = 0;
    const { setTimeout } = globalThis;
    globalThis.setTimeout = (...args) => { made += 1; return setTimeout(...args); };
    const timers = new CoarseTimers(() => 1_000);
    for (let n = 0; n < 1_000; n += 1) for (const delayMs of [20_000, 30_000, 600_000]) timers.after(delayMs, () => {}).cancel();
    console.log(made);
    for (let n = 0; n < 100; n += 1) timers.after(1_000 * n, () => {}).cancel();
    timers.after(50, () => console.log('ran'));
  `;
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    timeout: 10_000,
  });
  assert.equal(stdout, '3\nran\n');
  assert.equal(status, 0);
});
