import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryAfterSec } from '../../src/slots/scheduler/estimate.ts';
import { reduce, type TimedFleetEvent } from '../../src/slots/scheduler/fleet.ts';
import { coldSlot, type SlotConfig, type SlotEvent } from '../../src/slots/scheduler/state.ts';
import type { FleetState } from '../../src/slots/scheduler/vram.ts';
import { phaseOf, slotConfig } from '../harness/fleet-world.ts';

/**
 * Slots 1, 2, … on GPU 0 of 10 MiB, whose engines start in their `startMs` when `run` plays them.
 */
class Play {
  fleet: FleetState;
  nowMs = 0;
  readonly log: string[] = [];
  #wakeAtMs = Number.POSITIVE_INFINITY;

  constructor(configs: readonly Partial<SlotConfig>[], histories: readonly (readonly number[])[] = []) {
    const members = configs.map((more, at) => {
      const config = slotConfig({ replicas: [['0']], vramMb: 6, minResidentMs: 10_000, ...more });
      return [
        at + 1,
        { config, state: coldSlot(histories[at] ?? [500], config.replicas.length), after: null },
      ] as const;
    });
    this.fleet = { members: new Map(members), budgets: new Map([['0', 10]]) };
  }

  do(slot: number, event: SlotEvent): void {
    this.#dispatch({ slot, ...event, atMs: this.nowMs });
  }

  request(slot: number, id: number, coldWaitMs = 60_000): void {
    this.do(slot, { kind: 'acquire', id, accountId: 1, coldWaitMs });
  }

  leave(slot: number, id: number): void {
    this.do(slot, { kind: 'leave', id, unreachable: false });
  }

  /** Time advances, with a wake-up whenever the fleet requests one. */
  to(atMs: number): void {
    for (;;) {
      const wakeMs = this.#wakeAtMs;
      if (wakeMs > atMs) break;
      this.nowMs = wakeMs;
      this.#dispatch({ kind: 'time', atMs: wakeMs });
    }
    this.nowMs = atMs;
    this.#dispatch({ kind: 'time', atMs });
  }

  /** The engine of the n-th start of a slot is up at once. */
  up(slot: number, epoch: number): void {
    this.do(slot, { kind: 'spawned', epoch, engine: { pid: 1, port: 2, baseUrl: 'http://e' } });
    this.do(slot, { kind: 'probed', epoch, result: 'ready' });
  }

  phase(slot: number): string {
    return phaseOf(this.fleet.members.get(slot)?.state);
  }

  retryAfterSec(slot: number): number {
    const member = this.fleet.members.get(slot);
    assert.ok(member !== undefined);
    return retryAfterSec(member.state, this.nowMs, member.config);
  }

  /** What was to be done since the last time, as `slot:kind`. */
  done(): readonly string[] {
    return this.log.splice(0);
  }

  #dispatch(event: TimedFleetEvent): void {
    const { fleet, effects, wakeAtMs } = reduce(this.fleet, event);
    this.fleet = fleet;
    this.#wakeAtMs = wakeAtMs;
    for (const { slot, kind } of effects)
      if (kind !== 'remember' && kind !== 'probe') this.log.push(`${slot}:${kind}`);
  }
}

test('a slot that does not fit beside another one waits out its residency, then replaces it', () => {
  const play = new Play([{}, {}]);
  play.request(1, 1);
  play.up(1, 1);
  play.leave(1, 1);
  play.request(2, 2);
  assert.deepEqual([play.phase(1), play.phase(2)], ['READY', 'ADMITTING']);
  play.to(9999);
  assert.equal(play.phase(1), 'READY');
  play.done();
  play.to(10_000);
  assert.deepEqual(play.done(), ['1:evicted', '1:terminate']);
  play.do(1, { kind: 'gone', epoch: 1 });
  assert.deepEqual(play.done(), ['2:spawn']);
  play.up(2, 1);
  assert.deepEqual(play.done(), ['2:grant']);
});

test('the time to wait includes the wait for memory, and falls', () => {
  const play = new Play([{}, {}], [[500], [4000]]);
  play.request(1, 1);
  play.up(1, 1);
  play.request(2, 2, 0);
  const reported: number[] = [];
  for (const atMs of [0, 2000, 5000, 9000, 9900]) {
    play.to(atMs);
    reported.push(play.retryAfterSec(2));
  }
  // Ten seconds of residency, one to stop, four to start.
  assert.deepEqual(reported, [15, 13, 10, 6, 6]);
  assert.deepEqual(
    play.done().filter((what) => what.startsWith('2')),
    ['2:refuse'],
  );
});

test('a busy engine is never evicted: it serves earlier requests, no later ones, and stops after its last request', () => {
  const play = new Play([{}, {}]);
  play.request(1, 1);
  play.up(1, 1);
  play.request(1, 2);
  play.to(5000);
  play.request(2, 3);
  play.to(6000);
  play.request(1, 4);
  play.to(60_000);
  assert.equal(play.phase(1), 'READY');
  play.done();
  play.leave(1, 1);
  assert.deepEqual(play.done(), ['1:grant'], 'the earlier request');
  play.leave(1, 2);
  assert.deepEqual(play.done(), ['1:evicted', '1:terminate']);
});

test('two models that do not fit together under constant load alternate once per residency, and both are served', () => {
  const play = new Play([{}, {}]);
  let id = 0;
  const served = [0, 0];
  const epochs = [0, 0];
  let swaps = 0;
  for (let atMs = 0; atMs < 600_000; atMs += 250) {
    play.to(atMs);
    for (const slot of [1, 2]) {
      id += 1;
      play.request(slot, id);
    }
    for (let what = play.log.shift(); what !== undefined; what = play.log.shift()) {
      const slot = Number(what[0]);
      const epoch = (epochs[slot - 1] ?? 0) + 1;
      if (what.endsWith('spawn')) {
        swaps += 1;
        epochs[slot - 1] = epoch;
        play.up(slot, epoch);
      } else if (what.endsWith('terminate')) play.do(slot, { kind: 'gone', epoch: epoch - 1 });
      else if (what.endsWith('grant')) served[slot - 1] = (served[slot - 1] ?? 0) + 1;
      for (const [member, { state }] of play.fleet.members)
        for (const lease of state.replicas.flatMap(({ leases }) => leases)) play.leave(member, lease);
    }
  }
  assert.ok(swaps >= 40 && swaps <= 61, `${swaps} starts in ten minutes`);
  for (const count of served) assert.ok(count > 1000, `served ${served}`);
});

test('of the evictable slots the longest idle for its start cost is evicted, and only as many as needed', () => {
  const play = new Play(
    [{ vramMb: 3 }, { vramMb: 3 }, { vramMb: 3 }, { vramMb: 4 }],
    [[500], [60_000], [500], [500]],
  );
  for (const slot of [1, 2, 3]) {
    play.to(slot * 1000);
    play.request(slot, slot, 90_000);
    play.up(slot, 1);
    play.leave(slot, slot);
  }
  play.to(100_000);
  play.done();
  play.request(4, 4);
  assert.deepEqual(play.done(), ['1:evicted', '1:terminate'], 'the oldest, not the one that starts slowly');
});

test('no request overtakes one that waits for memory, even if it would fit', () => {
  const play = new Play([{ vramMb: 6 }, { vramMb: 8 }, { vramMb: 2 }]);
  play.request(1, 1);
  play.up(1, 1);
  play.to(1000);
  play.request(2, 2);
  play.to(2000);
  play.request(3, 3);
  assert.deepEqual([play.phase(2), play.phase(3)], ['ADMITTING', 'ADMITTING']);
  assert.ok(play.retryAfterSec(3) > play.retryAfterSec(2));
});

test('an engine that can sleep sleeps when it is idle and when memory is needed, and wakes up for the next request', () => {
  const play = new Play([{ sleepVramMb: 1, idleStopMs: 1000 }, {}]);
  play.request(1, 1);
  play.up(1, 1);
  play.leave(1, 1);
  play.to(1000);
  assert.deepEqual(play.done(), ['1:spawn', '1:grant', '1:sleep']);
  play.do(1, { kind: 'slept', epoch: 1, ok: true });
  play.request(2, 2);
  assert.deepEqual(play.done(), ['2:spawn'], 'beside the one that sleeps');
  play.up(2, 1);
  play.leave(2, 2);
  play.to(2000);
  play.request(1, 3);
  assert.deepEqual([play.phase(1), play.done()], ['ADMITTING', ['2:grant']]);
  play.to(11_000);
  assert.deepEqual(play.done(), ['2:evicted', '2:terminate']);
  play.do(2, { kind: 'gone', epoch: 1 });
  assert.deepEqual(play.done(), ['1:wake']);
  play.do(1, { kind: 'woken', epoch: 1, ok: true });
  assert.deepEqual(play.done(), ['1:grant']);
});

test('an engine that does not enter sleep is stopped, and one that does not wake up is restarted', () => {
  const play = new Play([{ sleepVramMb: 0, idleStopMs: 1000 }]);
  play.request(1, 1);
  play.up(1, 1);
  play.leave(1, 1);
  play.to(1000);
  play.do(1, { kind: 'slept', epoch: 1, ok: false });
  assert.equal(play.phase(1), 'STOPPING');
  play.do(1, { kind: 'gone', epoch: 1 });
  play.request(1, 2);
  play.up(1, 2);
  play.leave(1, 2);
  play.to(3000);
  play.do(1, { kind: 'slept', epoch: 2, ok: true });
  play.request(1, 3);
  play.done();
  play.do(1, { kind: 'woken', epoch: 2, ok: false });
  play.do(1, { kind: 'gone', epoch: 2 });
  assert.deepEqual(play.done(), ['1:terminate', '1:spawn']);
});

test('memory is not reused before it is measured free, or its time is over', () => {
  for (const seen of [true, false]) {
    const play = new Play([{ reclaimMs: 5000, minResidentMs: 0 }, {}]);
    play.request(1, 1);
    play.up(1, 1);
    play.leave(1, 1);
    play.request(2, 2);
    play.do(1, { kind: 'gone', epoch: 1 });
    assert.equal(play.phase(1), 'RECLAIMING');
    play.to(4999);
    assert.equal(play.phase(2), 'ADMITTING');
    if (seen) play.do(1, { kind: 'reclaimed', epoch: 1 });
    else play.to(5000);
    assert.equal(play.phase(2), 'STARTING');
  }
});

test('an open circuit fails requests, is half-open then, and one success closes it', () => {
  const play = new Play([{ circuitMs: 60_000 }]);
  const fail = (epoch: number): void => {
    play.do(1, { kind: 'exited', epoch, reason: 'exited with code 1' });
    play.do(1, { kind: 'gone', epoch });
  };
  for (let epoch = 1; epoch <= 5; epoch += 1) {
    play.request(1, epoch);
    fail(epoch);
    if (epoch < 5) play.to(play.nowMs + 1000 * 2 ** (epoch - 1));
  }
  assert.deepEqual([play.phase(1), play.retryAfterSec(1)], ['FAILED', 60]);
  play.done();
  play.to(play.nowMs + 30_000);
  play.request(1, 6);
  assert.deepEqual([play.done(), play.retryAfterSec(1)], [['1:fail'], 30]);
  play.to(play.nowMs + 30_000);
  assert.deepEqual(play.done(), ['1:spawn'], 'one start, for the request');
  fail(6);
  assert.deepEqual([play.phase(1), play.retryAfterSec(1)], ['FAILED', 120]);
  play.to(play.nowMs + 120_000);
  assert.equal(play.phase(1), 'COLD');
  play.request(1, 7);
  play.up(1, 7);
  play.to(play.nowMs + 60_000);
  fail(7);
  assert.equal(play.phase(1), 'COLD', 'after a minute of service a crash is the first one again');
});

test('a silent engine is probed, busy or not, and replaced after three failed probes; any output resets the count', () => {
  const play = new Play([{ stallMs: 60_000, minResidentMs: 0 }]);
  play.request(1, 1);
  play.up(1, 1);
  play.request(1, 2);
  play.to(59_000);
  play.do(1, { kind: 'activity', epoch: 1 });
  play.done();
  const probes = (): number => {
    const phase = play.fleet.members.get(1)?.state.replicas[0]?.phase;
    return phase?.kind === 'READY' && phase.checkAtMs === Number.POSITIVE_INFINITY ? 1 : 0;
  };
  play.to(118_000);
  assert.equal(probes(), 0, 'activity was reported');
  for (const atMs of [119_000, 124_000, 129_000]) {
    play.to(atMs);
    assert.equal(probes(), 1);
    play.do(1, { kind: 'probed', epoch: 1, result: 'waiting' });
  }
  assert.deepEqual(play.done(), ['1:kill', '1:lose']);
  play.do(1, { kind: 'gone', epoch: 1 });
  assert.deepEqual(play.done(), ['1:spawn'], 'for the one that queued');
});

test('replicas share one queue; another one starts when lanes are short and memory is free; the least busy one serves', () => {
  const play = new Play([{ replicas: [['0'], ['1']], maxConcurrency: 2 }]);
  for (const id of [1, 2]) play.request(1, id);
  assert.deepEqual(play.done(), ['1:spawn']);
  play.request(1, 3);
  assert.deepEqual(play.done(), ['1:spawn']);
  play.up(1, 1);
  play.up(1, 2);
  const leases = (): readonly number[] =>
    play.fleet.members.get(1)?.state.replicas.map((replica) => replica.leases.length) ?? [];
  assert.deepEqual(leases(), [2, 1]);
  play.leave(1, 1);
  play.leave(1, 2);
  play.request(1, 4);
  assert.deepEqual(leases(), [1, 1]);
  assert.equal(play.fleet.members.get(1)?.state.epoch, 2);
});

test('an additional replica evicts no slot', () => {
  const play = new Play([{}, { vramMb: 4, replicas: [['0'], ['0']], minResidentMs: 0 }]);
  play.request(1, 1);
  play.up(1, 1);
  play.leave(1, 1);
  play.to(20_000);
  for (const id of [2, 3, 4]) play.request(2, id);
  play.up(2, 1);
  assert.equal(play.phase(1), 'READY');
  assert.deepEqual(play.done(), ['1:spawn', '1:grant', '2:spawn', '2:grant']);
});

test('a reservation of memory without waiting requests is dropped', () => {
  const play = new Play([{}, {}]);
  play.request(1, 1);
  play.up(1, 1);
  play.request(2, 2, 0);
  play.to(299_000);
  assert.equal(play.phase(2), 'ADMITTING');
  play.to(300_000);
  assert.equal(play.phase(2), 'COLD');
});
