import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { wakeAtMs } from '../../src/slots/estimate.ts';
import { everyone } from '../../src/slots/queue.ts';
import { reduce } from '../../src/slots/reducer.ts';
import {
  coldSlot,
  type SlotConfig,
  type SlotEffect,
  type SlotEvent,
  type SlotState,
} from '../../src/slots/state.ts';

type Happening = SlotEvent extends infer E ? (E extends unknown ? Omit<E, 'atMs'> : never) : never;

/** Requests of one simulated world, from their question to their answer. */
interface Asked {
  readonly accountId: number;
  readonly coldWaitMs: number;
  place: 'waiting' | 'leased';
}

/**
 * A slot, its clients and its engine. The engine only does what an engine can do (`gone` comes after it was told to go), and
 * everything that the reducer answers is checked as it comes.
 */
class World {
  readonly config: SlotConfig;
  state: SlotState;
  nowMs = 143.092697;
  readonly asked = new Map<number, Asked>();
  #lastId = 0;
  /** Of an account that waits: how often each other one was served since its own last turn. */
  readonly #served = new Map<number, Map<number, number>>();
  run: { epoch: number; up: boolean; probing: boolean; told: boolean; ended: boolean } | null = null;

  constructor(config: SlotConfig, history: readonly number[]) {
    this.config = config;
    this.state = coldSlot(history);
  }

  ask(accountId: number, coldWaitMs: number): void {
    this.#lastId += 1;
    const id = this.#lastId;
    const waits = [...this.asked.values()].some((a) => a.place === 'waiting' && a.accountId === accountId);
    if (!waits) this.#served.set(accountId, new Map());
    this.asked.set(id, { accountId, coldWaitMs, place: 'waiting' });
    this.happen({ kind: 'acquire', id, accountId, coldWaitMs });
  }

  /** The n-th of the requests in being, counted around, leaves: as a waiter or with its lane. */
  leave(n: number, unreachable: boolean): void {
    const id = [...this.asked.keys()][n % Math.max(1, this.asked.size)];
    if (id === undefined) return;
    this.asked.delete(id);
    this.happen({ kind: 'leave', id, unreachable });
  }

  /** Time passes, not by whole milliseconds, and often to the very moment for which the slot asked. */
  pass(ms: number): void {
    const wakeMs = wakeAtMs(this.state, this.config);
    this.passTo(ms > 1000 && wakeMs !== Number.POSITIVE_INFINITY ? wakeMs : this.nowMs + ms * 1.000_123);
  }

  passTo(atMs: number): void {
    this.nowMs = atMs;
    this.happen({ kind: 'tick' });
  }

  /** What the engine does next, if it can. */
  engine(does: 'spawn' | 'ready' | 'not yet' | 'stranger' | 'exit' | 'collide' | 'end'): void {
    const { run } = this;
    if (run === null) return;
    const { epoch } = run;
    if (does === 'spawn' && !run.up) {
      run.up = true;
      this.happen({ kind: 'spawned', epoch, engine: { pid: 1, port: 2, baseUrl: 'http://e' } });
    } else if (does === 'end' && run.told) {
      this.run = null;
      this.happen({ kind: 'gone', epoch });
    } else if ((does === 'exit' || does === 'collide') && !run.ended && !this.config.external) {
      run.ended = true;
      this.happen({ kind: 'exited', epoch, reason: 'exited', collision: does === 'collide' });
    } else if (run.probing && (does === 'ready' || does === 'not yet' || does === 'stranger')) {
      run.probing = false;
      this.happen({ kind: 'probed', epoch, answer: does === 'not yet' ? 'waiting' : does });
    }
  }

  happen(happening: Happening): void {
    const { state, effects } = reduce(
      this.state,
      { ...happening, atMs: this.nowMs } as SlotEvent,
      this.config,
    );
    this.state = state;
    for (const effect of effects) this.#perform(effect);
    this.#check();
  }

  #perform(effect: SlotEffect): void {
    switch (effect.kind) {
      case 'spawn':
        assert.equal(this.run, null, 'a start while the last one was not seen gone');
        this.run = { epoch: effect.epoch, up: false, probing: false, told: false, ended: false };
        return;
      case 'probe':
        assert.ok(this.run?.up && !this.run.probing && this.run.epoch === effect.epoch, 'a probe of nothing');
        this.run.probing = true;
        return;
      case 'terminate':
      case 'kill':
        assert.ok(this.run?.epoch === effect.epoch, 'a signal to nobody');
        this.run.told = true;
        return;
      case 'grant':
        this.#granted(effect.id);
        return;
      case 'refuse':
        assert.ok(Number.isInteger(effect.retryAfterSec) && effect.retryAfterSec >= 1);
        assert.equal(this.asked.get(effect.id)?.place, 'waiting', 'an answer to nobody');
        this.asked.delete(effect.id);
        return;
      case 'lose':
        assert.equal(this.asked.get(effect.id)?.place, 'leased', 'a loss of nothing');
        this.asked.delete(effect.id);
        return;
      case 'remember':
        return;
    }
  }

  #granted(id: number): void {
    const asked = this.asked.get(id);
    assert.equal(asked?.place, 'waiting', 'a grant to nobody');
    asked.place = 'leased';
    const waiting = [...this.asked].filter(([, other]) => other.place === 'waiting');
    const earlier = waiting.find(([other, { accountId }]) => accountId === asked.accountId && other < id);
    assert.equal(earlier, undefined, 'somebody of the account was overtaken');
    this.#served.set(asked.accountId, new Map());
    for (const accountId of new Set(waiting.map(([, other]) => other.accountId))) {
      if (accountId === asked.accountId) continue;
      const seen: Map<number, number> = this.#served.get(accountId) ?? new Map();
      const times: number = (seen.get(asked.accountId) ?? 0) + 1;
      assert.ok(times <= 1, 'an account was served twice while another one waited');
      this.#served.set(accountId, seen.set(asked.accountId, times));
    }
  }

  #check(): void {
    const { state, config, nowMs } = this;
    const places = [...this.asked.values()].map(({ place }) => place);
    const leased = places.filter((place) => place === 'leased').length;
    assert.equal(state.leases.length, leased, 'the lanes in use are the lanes that were given');
    assert.ok(leased <= config.maxConcurrency, 'more grants than lanes');
    assert.equal(state.queue.size, places.length - leased, 'the queue is those who wait');
    assert.equal(everyone(state.queue).length, state.queue.size);
    assert.ok(wakeAtMs(state, config) > nowMs, 'a tick that would come at once, for ever');
    const late = everyone(state.queue).some(({ deadlineMs }) => deadlineMs <= nowMs);
    if (state.phase.kind === 'READY') {
      assert.ok(
        state.queue.size === 0 || leased === config.maxConcurrency,
        'a lane lies idle while one waits',
      );
      assert.ok(this.run !== null);
    } else assert.ok(!late, 'somebody waits beyond the cold wait');
    if (state.phase.kind === 'COLD')
      assert.ok(!state.wanted && state.queue.size === 0, 'wanted, not started');
    if (state.phase.kind === 'COLD' || state.phase.kind === 'BACKOFF') assert.equal(this.run, null);
  }

  /** Nobody comes any more, leases end, and the engine either comes up or never does: everybody is answered. */
  conclude(comesUp: boolean): void {
    for (let turns = 0; this.asked.size > 0; turns += 1) {
      assert.ok(turns < 20_000, 'somebody is never answered');
      const leased = [...this.asked].findIndex(([, { place }]) => place === 'leased');
      if (leased >= 0) this.leave(leased, false);
      this.engine('spawn');
      this.engine(comesUp ? 'ready' : 'not yet');
      this.engine('end');
      const wakeMs = wakeAtMs(this.state, this.config);
      if (wakeMs !== Number.POSITIVE_INFINITY && this.asked.size > 0) this.passTo(wakeMs);
    }
  }
}

const step: fc.Arbitrary<(world: World) => void> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(fc.nat(3), fc.constantFrom(0, 200, 5000, 60_000)).map(
      ([account, ms]) =>
        (w: World) =>
          w.ask(account, ms),
    ),
  },
  {
    weight: 5,
    arbitrary: fc.tuple(fc.nat(50), fc.boolean()).map(
      ([n, lost]) =>
        (w: World) =>
          w.leave(n, lost),
    ),
  },
  { weight: 4, arbitrary: fc.nat(2000).map((ms) => (w: World) => w.pass(ms)) },
  { weight: 1, arbitrary: fc.nat(120_000).map((ms) => (w: World) => w.pass(ms)) },
  {
    weight: 8,
    arbitrary: fc
      .constantFrom('spawn' as const, 'ready' as const, 'end' as const)
      .map((does) => (w: World) => w.engine(does)),
  },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom('not yet' as const, 'stranger' as const, 'exit' as const, 'collide' as const)
      .map((does) => (w: World) => w.engine(does)),
  },
  { weight: 1, arbitrary: fc.constant((w: World) => w.happen({ kind: 'start' })) },
  { weight: 1, arbitrary: fc.nat(3000).map((drainMs) => (w: World) => w.happen({ kind: 'stop', drainMs })) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom<Happening>(
        { kind: 'gone', epoch: -1 },
        { kind: 'exited', epoch: -1, reason: 'late', collision: true },
        { kind: 'probed', epoch: -1, answer: 'ready' },
        { kind: 'leave', id: -1, unreachable: true },
      )
      .map((late) => (w: World) => w.happen(late)),
  },
);

const world = fc
  .record({
    external: fc.boolean(),
    maxConcurrency: fc.integer({ min: 1, max: 3 }),
    startBudgetMs: fc.constantFrom(1000, 30_000),
    idleStopMs: fc.constantFrom(0, 500),
    graceMs: fc.constantFrom(0, 5000),
  })
  .chain((config) =>
    fc.array(fc.nat(20_000), { maxLength: 5 }).map((history) => () => new World(config, history)),
  );

test('no waiter is lost, no start is doubled, no lane is given twice, turns are kept, and everybody is answered', () => {
  const seen = new Set<string>();
  let acted = 0;
  fc.assert(
    fc.property(
      world,
      fc.array(step, { minLength: 40, maxLength: 160, size: 'max' }),
      fc.boolean(),
      (make, steps, comesUp) => {
        const w = make();
        for (const act of steps) {
          act(w);
          acted += 1;
          seen.add(w.state.phase.kind);
        }
        w.conclude(comesUp);
      },
    ),
    { numRuns: 4000 },
  );
  assert.ok(acted > 100_000);
  assert.deepEqual([...seen].toSorted(), ['BACKOFF', 'COLD', 'DRAINING', 'READY', 'STARTING', 'STOPPING']);
});

test('a closed slot answers everybody at once and never starts again, whatever happens', () => {
  fc.assert(
    fc.property(world, fc.array(step), fc.array(step), (make, before, after) => {
      const w = make();
      for (const act of before) act(w);
      w.happen({ kind: 'close' });
      assert.equal(w.asked.size, 0);
      const { epoch } = w.state;
      for (const act of after) act(w);
      assert.equal(w.state.epoch, epoch);
    }),
    { numRuns: 500 },
  );
});
