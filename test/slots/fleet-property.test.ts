import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SlotConfig } from '../../src/slots/scheduler/state.ts';
import { type EngineAct, FleetSimulation } from '../harness/fleet-simulation.ts';
import { slotConfig } from '../harness/fleet-world.ts';
import { byTier } from '../harness/tier.ts';

/**
 * Sequences of random events, each from its own number: a failure names it, and it alone plays the
 * sequence again.
 */
const sequences = byTier(2_000, 100_000);

/** Whole numbers from 0 to below `n`, the same ones for the same seed (mulberry32). */
type Rng = (n: number) => number;

function rngOf(seed: number): Rng {
  let a = seed * 0x9e3779b9;
  return (n) => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

function oneOf<T>(rng: Rng, things: readonly [T, ...T[]]): T {
  return things[rng(things.length)] ?? things[0];
}

function randomConfig(rng: Rng): SlotConfig {
  const own = {
    maxConcurrency: 1 + rng(3),
    startBudgetMs: oneOf(rng, [1000, 30_000]),
    idleStopMs: oneOf(rng, [0, 500]),
    graceMs: oneOf(rng, [0, 5000]),
    circuitMs: oneOf(rng, [2000, 60_000]),
  };
  if (rng(8) === 0) return slotConfig({ ...own, external: true });
  const vramMb = oneOf(rng, [0, 4, 6, 8, 10]);
  const gpus = oneOf<readonly (readonly string[])[]>(rng, [
    [['0']],
    [['0']],
    [['1']],
    [['0', '1']],
    [['0'], ['1']],
    [['0'], ['0']],
    [[], []],
  ]);
  return slotConfig({
    ...own,
    replicas: gpus,
    vramMb,
    sleepVramMb: rng(3) === 0 ? Math.min(vramMb, rng(3)) : null,
    minResidentMs: oneOf(rng, [0, 1000, 10_000]),
    stallMs: oneOf(rng, [0, 5000]),
    warmUpMs: oneOf(rng, [0, 0, 2000]),
    reclaimMs: oneOf(rng, [0, 1000]),
  });
}

const common: readonly [EngineAct, ...EngineAct[]] = [
  'spawn',
  'ready',
  'end',
  'spawn',
  'ready',
  'warm',
  'turn',
  'reclaim',
];
const odd: readonly [EngineAct, ...EngineAct[]] = ['not yet', 'wrong', 'exit', 'turn badly', 'speak'];

function world(rng: Rng): { readonly fleet: FleetSimulation; readonly slots: number[] } {
  const budgets = new Map([['0', 10]]);
  if (rng(2) === 0) budgets.set('1', 12);
  const fleet = new FleetSimulation(budgets);
  const histories = [[], [400], [4000, 9000, 2500], [60_000]] as const;
  const slots = Array.from({ length: 1 + rng(3) }, () =>
    fleet.join(randomConfig(rng), oneOf<readonly number[]>(rng, histories)),
  );
  return { fleet, slots };
}

/** A failed start, and the next attempt: at random five in a row are rare. */
function misfortune(fleet: FleetSimulation, slot: number, rng: Rng): void {
  fleet.request(slot, rng(3), 5000);
  for (let n = 0; n < fleet.runs.length; n += 1) fleet.engine(n, 'exit');
  for (let n = fleet.runs.length - 1; n >= 0; n -= 1) fleet.engine(n, 'end');
  for (let n = fleet.runs.length - 1; n >= 0; n -= 1) fleet.engine(n, 'reclaim');
  fleet.request(slot, rng(3), 5000);
  fleet.pass(0, true);
}

function act(fleet: FleetSimulation, slots: number[], rng: Rng, isUnlucky: boolean): void {
  const at = rng(slots.length);
  const slot = slots[at] ?? 1;
  if (isUnlucky && rng(2) === 0) {
    misfortune(fleet, slot, rng);
    return;
  }
  const kind = rng(100);
  if (kind < 26) fleet.request(slot, rng(3), oneOf(rng, [0, 200, 5000, 60_000]));
  else if (kind < 40) fleet.leave(rng(50), rng(4) === 0);
  else if (kind < 52) fleet.pass(rng(2000), rng(2) === 0);
  else if (kind < 56) fleet.pass(rng(120_000), rng(2) === 0);
  else if (kind < 82) fleet.engine(rng(8), oneOf(rng, common));
  else if (kind < 89) fleet.engine(rng(8), oneOf(rng, odd));
  else if (kind < 91) fleet.dispatch({ slot, kind: 'start' });
  else if (kind < 93) fleet.dispatch({ slot, kind: 'stop', drainMs: oneOf(rng, [0, 1000]) });
  else if (kind < 98)
    fleet.late(slot, rng(6) - 1, oneOf(rng, ['gone', 'exited', 'probed', 'slept', 'reclaimed']));
  else if (kind < 99) {
    const member = fleet.fleet.members.get(slot);
    const idleStopMs = oneOf(rng, [0, 500]);
    if (member !== undefined)
      fleet.dispatch({ kind: 'configure', slot, config: { ...member.config, idleStopMs, minResidentMs: 0 } });
  } else {
    // Its settings change: the slot is removed, and another one of its name follows.
    fleet.dispatch({ slot, kind: 'retire', drainMs: oneOf(rng, [0, 5000]) });
    slots[at] = fleet.join(randomConfig(rng), [], slot);
  }
}

test('random sequences of events: no invalid state, no lost waiter, no double start, no busy slot evicted, no memory used twice, and every request ends', () => {
  const seen = new Set<string>();
  let events = 0;
  let starts = 0;
  for (let seed = 1; seed <= sequences; seed += 1) {
    const rng = rngOf(seed);
    try {
      const { fleet, slots } = world(rng);
      const isUnlucky = rng(8) === 0;
      for (let left = 6 + rng(36); left > 0; left -= 1) {
        act(fleet, slots, rng, isUnlucky);
        events += 1;
      }
      fleet.conclude(rng(3) > 0);
      for (const phase of fleet.seen) seen.add(phase);
      starts += fleet.starts;
    } catch (thrown) {
      throw new Error(`sequence ${seed}: ${thrown instanceof Error ? thrown.message : String(thrown)}`, {
        cause: thrown,
      });
    }
  }
  assert.ok(events > 20 * sequences && starts > sequences / 2, `${events} events, ${starts} starts`);
  assert.deepEqual([...seen].toSorted(), [
    'ADMITTING',
    'BACKOFF',
    'COLD',
    'DRAINING',
    'FAILED',
    'READY',
    'RECLAIMING',
    'SLEEPING',
    'STARTING',
    'STOPPING',
    'WARMING',
  ]);
});

test('a closed fleet rejects every request at once and never starts again, whatever happens', () => {
  for (let seed = 1; seed <= byTier(100, 2_000); seed += 1) {
    const rng = rngOf(seed);
    const { fleet, slots } = world(rng);
    const isUnlucky = rng(8) === 0;
    for (let left = 30; left > 0; left -= 1) act(fleet, slots, rng, isUnlucky);
    for (const slot of fleet.fleet.members.keys()) fleet.dispatch({ slot, kind: 'close' });
    assert.equal(fleet.requests.length, 0);
    const { starts } = fleet;
    const members = [...fleet.fleet.members.keys()];
    for (let left = 20; left > 0; left -= 1) {
      fleet.request(oneOf(rng, [members[0] ?? 0, ...members]), 1, 5000);
      fleet.engine(rng(8), oneOf(rng, common));
      fleet.pass(rng(5000), false);
    }
    assert.equal(fleet.starts, starts);
  }
});
