/** How fast the bodies of a client are read: on a clock that only a test moves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '../../src/errors/catalogue.ts';
import { BodyRate, type BodyTurns, uncountedBytes } from '../../src/http/body-rate.ts';
import type { Clock } from '../../src/time/clock.ts';

const mb = 1_000_000;
const limits = { bytesPerSecond: mb, burstBytes: mb };

/** A clock whose timers fire when a test moves it past them. */
class ManualClock implements Clock {
  nowMs = 0;
  readonly #timers = new Set<{ readonly atMs: number; readonly task: () => void }>();

  now(): number {
    return this.nowMs;
  }

  monotonic(): number {
    return this.nowMs;
  }

  after(delayMs: number, task: () => void): { cancel(): void } {
    const timer = { atMs: this.nowMs + delayMs, task };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  /** Advances to the next timer; false when there is none. */
  next(): boolean {
    const [timer] = [...this.#timers].toSorted((a, b) => a.atMs - b.atMs);
    if (timer === undefined) return false;
    this.#timers.delete(timer);
    this.nowMs = Math.max(this.nowMs, timer.atMs);
    timer.task();
    return true;
  }
}

/** Turns of the event loop, so that everything that needs no more time is granted. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
}

/** Moves the clock until the work is done. */
async function finish(clock: ManualClock, work: Promise<unknown>): Promise<void> {
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  for (await settle(); !isDone; await settle()) assert.ok(clock.next(), 'nothing waits for time');
  await done;
}

/** Reads a body to its end in packets of 16 KiB, as fast as it is granted. */
async function read(turns: BodyTurns, bytes: number, onRead = (_bytes: number): void => {}): Promise<void> {
  for (let left = bytes; left > 0; ) {
    const packet = Math.min(left, 16_384);
    left -= packet;
    onRead(packet);
    if (!turns.spend(packet)) await turns.wait(left);
  }
  turns.end();
}

test('a client reads its burst at once and then its rate, over any number of bodies', async () => {
  const clock = new ManualClock();
  const rate = new BodyRate(() => limits, clock);
  let bytes = 0;
  const bodies = Array.from({ length: 4 }, () =>
    read(rate.open(['a']), mb, (more) => {
      bytes += more;
    }),
  );
  await settle();
  const uncounted = 4 * uncountedBytes;
  assert.ok(bytes >= mb + uncounted && bytes <= 1.2 * mb + uncounted, `${bytes} bytes at once`);
  await finish(clock, Promise.all(bodies));
  const expectedMs = 3_000 - uncounted / 1_000;
  assert.ok(Math.abs(clock.nowMs - expectedMs) < 300, `${clock.nowMs} ms`);
});

test('a short body does not wait, and neither does another client, while one is over its rate', async () => {
  const clock = new ManualClock();
  const rate = new BodyRate(() => limits, clock);
  const many = Array.from({ length: 4 }, () => read(rate.open(['a']), mb));
  await settle();
  assert.ok(rate.waitingCount > 0);
  assert.equal(rate.open(['a']).spend(uncountedBytes - 1), true);
  await Promise.race([read(rate.open(['b']), mb), settle().then(() => assert.fail('b waits'))]);
  assert.equal(clock.nowMs, 0);
  await finish(clock, Promise.all(many));
});

test('a body counts for its address and for its key: the other cannot be used to exceed either', async () => {
  for (const clients of [
    (n: number) => [`address ${n}`, 'key 1'],
    (n: number) => ['address 1', `key ${n}`],
  ]) {
    const clock = new ManualClock();
    const rate = new BodyRate(() => limits, clock);
    await finish(clock, Promise.all([1, 2, 3, 4].map((n) => read(rate.open(clients(n)), mb))));
    assert.ok(clock.nowMs > 2_400, `${clock.nowMs} ms`);
  }
});

test('clients alternate, one in each turn of the event loop, and of one client the oldest body is first', async () => {
  const clock = new ManualClock();
  const unlimited = { bytesPerSecond: Number.POSITIVE_INFINITY, burstBytes: Number.POSITIVE_INFINITY };
  const rate = new BodyRate(() => unlimited, clock);
  const order: string[] = [];
  let turn = 0;
  let lastTurn = -1;
  let isOver = false;
  const count = (): void => {
    turn += 1;
    if (!isOver) setImmediate(count);
  };
  count();
  const body = async (client: string, name: string): Promise<void> => {
    const turns = rate.open([client]);
    for (let n = 0; n < 5; n += 1) {
      assert.equal(turns.spend(300_000), false);
      await turns.wait(300_000);
      order.push(name);
      assert.notEqual(turn, lastTurn, 'two in one turn of the loop');
      lastTurn = turn;
    }
    turns.end();
  };
  const many = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6'].map((name) => body('a', name));
  await Promise.all([...many, body('b', 'b1')]);
  isOver = true;
  const last = order.lastIndexOf('b1');
  assert.ok(last <= 10, `b waited for ${order.join(' ')}`);
  const ends = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6'].map((name) => order.lastIndexOf(name));
  assert.deepEqual(
    ends,
    ends.toSorted((a, b) => a - b),
  );
});

test('a body that would wait for more than 5 s is a 429 with the wait, and a slow body delays no other', async () => {
  const clock = new ManualClock();
  const rate = new BodyRate(() => limits, clock);
  const slow = Array.from({ length: 20 }, () => {
    const turns = rate.open(['a']);
    turns.spend(1_000);
    return turns;
  });
  const large = Array.from({ length: 4 }, () => read(rate.open(['a']), 2 * mb));
  await settle();
  const turns = rate.open(['a']);
  turns.spend(100_000);
  await assert.rejects(turns.wait(mb), (error) => {
    assert.ok(error instanceof Refusal && error.failure === 'rate_limit_exceeded', String(error));
    const { retry_after_sec: sec } = error.extras as { readonly retry_after_sec: number };
    assert.ok(Number.isInteger(sec) && sec >= 6 && sec <= 8, String(sec));
    return true;
  });
  turns.end();
  for (const one of slow) one.end();
  await finish(clock, Promise.all(large));
});

test('an unused grant of a body is returned, and a body that ends while it waits leaves the queue', async () => {
  const clock = new ManualClock();
  const rate = new BodyRate(() => limits, clock);
  for (let n = 0; n < 50; n += 1) {
    const turns = rate.open(['a']);
    if (!turns.spend(uncountedBytes)) await turns.wait(mb);
    turns.end();
  }
  assert.equal(clock.nowMs, 0);
  const spent = rate.open(['a']);
  spent.spend(3 * mb);
  spent.end();
  const waiting = rate.open(['a']);
  waiting.spend(mb);
  let isGranted = false;
  void waiting.wait(1).then(() => {
    isGranted = true;
  });
  await settle();
  assert.equal(rate.waitingCount, 1);
  waiting.end();
  assert.equal(rate.waitingCount, 0);
  while (clock.next()) await settle();
  assert.equal(isGranted, false);
});
