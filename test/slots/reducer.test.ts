import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryAfterSec, wakeAtMs } from '../../src/slots/scheduler/estimate.ts';
import {
  coldSlot,
  type SlotConfig,
  type SlotEffect,
  type SlotState,
  type TimedSlotEvent,
} from '../../src/slots/scheduler/state.ts';
import { phaseOf, playOne, slotConfig } from '../harness/fleet-world.ts';

const config: SlotConfig = slotConfig({ startBudgetMs: 30_000, idleStopMs: 1000, graceMs: 5000 });
const engine = { pid: 77, port: 4000, baseUrl: 'http://127.0.0.1:4000/v1' };

function play(
  state: SlotState,
  events: readonly TimedSlotEvent[],
  settings = config,
): { state: SlotState; effects: readonly SlotEffect[] } {
  return playOne(state, events, settings);
}

const requestEvent = (atMs: number, id: number, coldWaitMs = 5000): TimedSlotEvent => ({
  kind: 'acquire',
  atMs,
  id,
  accountId: 1,
  coldWaitMs,
});
const ready = (atMs: number, epoch = 1): readonly TimedSlotEvent[] => [
  { kind: 'spawned', atMs, epoch, engine },
  { kind: 'probed', atMs, epoch, result: 'ready' },
];
const kinds = (effects: readonly SlotEffect[]): readonly string[] => effects.map(({ kind }) => kind);

/** A slot that became ready at 300 ms, has served one request and is idle since 400 ms. */
function idle(settings = config): SlotState {
  const events: TimedSlotEvent[] = [
    requestEvent(0, 1),
    ...ready(300),
    { kind: 'leave', atMs: 400, id: 1, unreachable: false },
  ];
  return play(coldSlot([]), events, settings).state;
}

test('a request that arrives just before the idle stop keeps the engine', () => {
  const { state, effects } = play(idle(), [requestEvent(1400, 2), { kind: 'tick', atMs: 1400 }]);
  assert.deepEqual(kinds(effects), ['grant']);
  assert.equal(phaseOf(state), 'READY');
});

test('a request that arrives just after the idle stop is served by the next start', () => {
  const { state, effects } = play(idle(), [
    { kind: 'tick', atMs: 1400 },
    requestEvent(1400, 2),
    { kind: 'gone', atMs: 1450, epoch: 1 },
    ...ready(1700, 2),
  ]);
  assert.deepEqual(kinds(effects), ['terminate', 'spawn', 'probe', 'remember', 'grant']);
  assert.equal(phaseOf(state), 'READY');
});

test('an engine with a request in flight is not idle, however long that takes', () => {
  const { state, effects } = play(idle(), [requestEvent(500, 2), { kind: 'tick', atMs: 500_000 }]);
  assert.deepEqual(kinds(effects), ['grant']);
  assert.equal(wakeAtMs(state, config), Number.POSITIVE_INFINITY);
});

test('a request that waits for the successor cuts the grace of a stopping engine to a second', () => {
  const stopping = play(idle(), [{ kind: 'tick', atMs: 1400 }]).state;
  assert.equal(wakeAtMs(stopping, config), 6400);
  const { state } = play(stopping, [requestEvent(1500, 2)]);
  assert.equal(wakeAtMs(state, config), 2500);
});

test('the time to wait falls second by second as the start proceeds, and is never below one', () => {
  const slow = coldSlot([9000, 60_000, 9000]);
  const { effects } = play(
    slow,
    [0, 1, 2500, 8999, 15_000].map((atMs, id) => requestEvent(atMs, id)),
  );
  const reported = effects.flatMap((effect) => (effect.kind === 'refuse' ? [effect.retryAfterSec] : []));
  assert.deepEqual(reported, [9, 9, 7, 1, 1]);
  assert.equal(kinds(effects).filter((kind) => kind === 'spawn').length, 1);
});

test('without a history the first estimate is ten seconds, or the whole budget if that is less', () => {
  assert.equal(retryAfterSec(coldSlot([]), 0, config), 10);
  assert.equal(retryAfterSec(coldSlot([]), 0, { ...config, startBudgetMs: 3000 }), 3);
});

test('a start that is overdue by more than the cold wait is no longer waited for', () => {
  const started = play(coldSlot([200]), [
    requestEvent(0, 1),
    { kind: 'leave', atMs: 10, id: 1, unreachable: false },
  ]).state;
  assert.deepEqual(kinds(play(started, [requestEvent(5000, 2)]).effects), []);
  assert.deepEqual(play(started, [requestEvent(5300, 2)]).effects, [
    { kind: 'refuse', id: 2, retryAfterSec: 1 },
  ]);
});

test('failed starts back off for one, two, four, eight seconds, and the fifth one opens the circuit, longer each time, at most ten minutes', () => {
  for (const beganMs of [0, 143.092697, 1_234_567.891_23, 3_605_279.400_000_003]) {
    let state = coldSlot([]);
    let atMs = beganMs;
    const delaysSec: number[] = [];
    for (let epoch = 1; epoch <= 10; epoch += 1) {
      state = play(state, [
        requestEvent(atMs, epoch),
        { kind: 'exited', atMs, epoch, reason: 'exited' },
        { kind: 'gone', atMs, epoch },
      ]).state;
      assert.equal(phaseOf(state), epoch < 5 ? 'BACKOFF' : 'FAILED');
      delaysSec.push(retryAfterSec(state, atMs, config));
      assert.equal(Math.round(wakeAtMs(state, config) - atMs), (delaysSec.at(-1) ?? 0) * 1000);
      atMs = wakeAtMs(state, config);
    }
    assert.deepEqual(delaysSec, [1, 2, 4, 8, 60, 120, 240, 480, 600, 600]);
  }
});

test('from the fifth failure on, requests fail with the reason until the next start is due, and Retry-After never falls below the back-off', () => {
  let state = coldSlot([], 2);
  let atMs = 0;
  for (let epoch = 1; epoch <= 6; epoch += 1) {
    const failed = play(state, [
      { kind: 'tick', atMs },
      requestEvent(atMs, epoch),
      { kind: 'exited', atMs, epoch, reason: 'exited with code 127' },
      { kind: 'gone', atMs, epoch },
    ]);
    state = failed.state;
    const untilMs = wakeAtMs(state, config);
    const isOpen = epoch >= 5;
    assert.ok(kinds(failed.effects).includes(isOpen ? 'fail' : 'refuse'), `failure ${epoch}`);
    for (let midMs = atMs; midMs < untilMs; midMs += (untilMs - atMs) / 7) {
      const [effect] = play(state, [requestEvent(midMs, 100)]).effects;
      if (isOpen) assert.deepEqual(effect, { kind: 'fail', id: 100, reason: 'exited with code 127' });
      else assert.ok(effect?.kind === 'refuse' && effect.retryAfterSec * 1000 >= untilMs - midMs);
    }
    atMs = untilMs;
  }
});

test('a slot with requests during its back-off starts at the end of it, a slot without stays cold', () => {
  const failed = play(coldSlot([]), [
    requestEvent(0, 1),
    { kind: 'exited', atMs: 0, epoch: 1, reason: 'exited' },
    { kind: 'gone', atMs: 0, epoch: 1 },
  ]).state;
  assert.equal(phaseOf(play(failed, [{ kind: 'tick', atMs: 1000 }]).state), 'COLD');
  assert.equal(phaseOf(play(failed, [requestEvent(500, 2), { kind: 'tick', atMs: 1000 }]).state), 'STARTING');
});

test('a first crash restarts at once for waiting requests, a second one soon after backs off', () => {
  const crash = (atMs: number, epoch: number): readonly TimedSlotEvent[] => [
    { kind: 'exited', atMs, epoch, reason: 'exited with code 0' },
    { kind: 'gone', atMs, epoch },
  ];
  const first = play(idle(), [requestEvent(500, 2), requestEvent(500, 3), ...crash(600, 1)]);
  assert.deepEqual(kinds(first.effects).toSorted(), ['grant', 'kill', 'lose', 'spawn']);
  const second = play(first.state, [...ready(900, 2), ...crash(1000, 2)]);
  assert.equal(phaseOf(second.state), 'BACKOFF');
  const muchLater = play(first.state, [...ready(900, 2), ...crash(70_000, 2)]);
  assert.equal(phaseOf(muchLater.state), 'COLD');
});

test('a crash gives queued requests the whole cold wait, however long they had queued', () => {
  const queued = play(idle(), [requestEvent(500, 2), requestEvent(500, 3)]).state;
  const { state, effects } = play(queued, [
    { kind: 'exited', atMs: 50_000, epoch: 1, reason: 'exited with code 0' },
    { kind: 'gone', atMs: 50_000, epoch: 1 },
    { kind: 'tick', atMs: 54_999 },
  ]);
  assert.deepEqual(kinds(effects), ['kill', 'lose', 'spawn']);
  assert.deepEqual(kinds(play(state, [{ kind: 'tick', atMs: 55_000 }]).effects), ['refuse']);
});

test('a slow engine that crashes is restarted for requests that would not have waited for its start', () => {
  const slow = play(coldSlot([60_000]), [
    { kind: 'start', atMs: 0 },
    ...ready(20_000),
    requestEvent(20_000, 1),
    requestEvent(20_000, 2),
    { kind: 'exited', atMs: 21_000, epoch: 1, reason: 'exited with code 0' },
    { kind: 'gone', atMs: 21_000, epoch: 1 },
  ]);
  assert.deepEqual(slow.effects.slice(-2), [
    { kind: 'refuse', id: 2, retryAfterSec: 60 },
    { kind: 'spawn', epoch: 2, replica: 0 },
  ]);
});

test('a report of an earlier start changes nothing', () => {
  const second = play(idle(), [
    { kind: 'tick', atMs: 1400 },
    requestEvent(1400, 2),
    { kind: 'gone', atMs: 1450, epoch: 1 },
  ]);
  const late: readonly TimedSlotEvent[] = [
    { kind: 'probed', atMs: 1460, epoch: 1, result: 'ready' },
    { kind: 'exited', atMs: 1460, epoch: 1, reason: 'late' },
    { kind: 'gone', atMs: 1460, epoch: 1 },
  ];
  assert.deepEqual(play(second.state, late), { state: second.state, effects: [] });
});

test('an operator’s stop lets leases end, revokes them at the limit, and then serves waiting requests', () => {
  const two: readonly TimedSlotEvent[] = [
    requestEvent(500, 2),
    requestEvent(500, 3),
    { kind: 'stop', atMs: 600, drainMs: 1000 },
  ];
  const ended = play(idle(), [...two, { kind: 'leave', atMs: 700, id: 2, unreachable: false }]);
  assert.deepEqual(kinds(ended.effects), ['grant', 'terminate']);
  const taken = play(idle(), [...two, { kind: 'tick', atMs: 1600 }]);
  assert.deepEqual(kinds(taken.effects), ['grant', 'terminate', 'lose']);
  const next = play(taken.state, [{ kind: 'gone', atMs: 1700, epoch: 1 }, ...ready(1900, 2)]);
  assert.deepEqual(next.effects.at(-1), { kind: 'grant', id: 3, epoch: 2, baseUrl: engine.baseUrl });
});

test('an external engine that rejects a request is probed again, and its other leases continue', () => {
  const outside = { ...config, external: true, maxConcurrency: 2 };
  const { state, effects } = play(
    idle(outside),
    [requestEvent(500, 2), requestEvent(500, 3), { kind: 'leave', atMs: 600, id: 2, unreachable: true }],
    outside,
  );
  assert.deepEqual(kinds(effects), ['grant', 'grant', 'probe']);
  assert.deepEqual(state.replicas[0]?.leases, [3]);
  const failed = play(state, [{ kind: 'tick', atMs: 600 + outside.startBudgetMs }], outside);
  assert.deepEqual(failed.state.replicas[0]?.leases, [3]);
});

test('a closed slot rejects every request, stops its engine and starts nothing', () => {
  const { effects, state } = play(idle(), [
    requestEvent(500, 2),
    requestEvent(500, 3),
    { kind: 'close', atMs: 600 },
  ]);
  assert.deepEqual(kinds(effects).toSorted(), ['grant', 'lose', 'refuse', 'terminate']);
  const after = play(state, [
    { kind: 'gone', atMs: 700, epoch: 1 },
    requestEvent(800, 4),
    { kind: 'start', atMs: 900 },
  ]);
  assert.deepEqual(after.effects, [{ kind: 'refuse', id: 4, retryAfterSec: 1 }]);
  assert.equal(phaseOf(after.state), 'COLD');
});
