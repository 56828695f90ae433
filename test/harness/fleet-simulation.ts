import {
  emptyFleet,
  type FleetEffect,
  type FleetEvent,
  reduce,
  type TimedFleetEvent,
} from '../../src/slots/scheduler/fleet.ts';
import { everyone } from '../../src/slots/scheduler/queue.ts';
import type { Replica, SlotConfig } from '../../src/slots/scheduler/state.ts';
import { type FleetState, occupiedMb } from '../../src/slots/scheduler/vram.ts';

/** A request from its arrival to its result. */
interface QueuedRequest {
  readonly slot: number;
  readonly id: number;
  readonly accountId: number;
  /** Null while it waits; else the start that serves it. */
  epoch: number | null;
}

/** An engine as it really is, independent of the reducer's state. */
interface Run {
  readonly slot: number;
  readonly replica: number;
  readonly epoch: number;
  readonly gpus: readonly string[];
  /** MiB of each of its GPUs. */
  heldMb: number;
  up: boolean;
  probing: boolean;
  warming: boolean;
  turning: 'asleep' | 'awake' | null;
  sent: boolean;
  ended: boolean;
  /** Ended, and its memory is free by then at the latest. */
  reclaimedByMs: number | null;
}

/** What an engine may do next. */
export type EngineAct =
  | 'spawn'
  | 'ready'
  | 'not yet'
  | 'wrong'
  | 'warm'
  | 'turn'
  | 'turn badly'
  | 'exit'
  | 'end'
  | 'reclaim'
  | 'speak';

/** Throws with `words` unless `holds`: node:assert is too slow for millions of checks. */
export function claim(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Error(message);
}

/**
 * A fleet, its clients, its engines and the memory of its GPUs. An engine does only what a real one
 * can do (`gone` follows an order to stop), and every output of the reducer is checked as it
 * arrives against the real state.
 */
export class FleetSimulation {
  fleet: FleetState = emptyFleet;
  nowMs = 143.092697;
  readonly requests: QueuedRequest[] = [];
  readonly runs: Run[] = [];
  readonly seen = new Set<string>();
  readonly budgets: ReadonlyMap<string, number>;
  starts = 0;
  #wakeAtMs = Number.POSITIVE_INFINITY;
  #lastId = 0;
  #lastSlot = 0;

  constructor(budgets: ReadonlyMap<string, number>) {
    this.budgets = budgets;
    this.dispatch({ kind: 'budgets', budgets });
  }

  join(config: SlotConfig, history: readonly number[], after: number | null = null): number {
    this.#lastSlot += 1;
    this.dispatch({ kind: 'join', slot: this.#lastSlot, config, history, after });
    return this.#lastSlot;
  }

  request(slot: number, accountId: number, coldWaitMs: number): void {
    if (!this.fleet.members.has(slot)) return;
    this.#lastId += 1;
    this.requests.push({ slot, id: this.#lastId, accountId, epoch: null });
    this.dispatch({ slot, kind: 'acquire', id: this.#lastId, accountId, coldWaitMs });
  }

  /** The n-th of the requests in being, counted around, leaves: as a waiter or with its lane. */
  leave(n: number, unreachable: boolean): void {
    const [gone] = this.requests.splice(n % Math.max(1, this.requests.length), 1);
    if (gone !== undefined) this.dispatch({ slot: gone.slot, kind: 'leave', id: gone.id, unreachable });
  }

  /**
   * Advances time, not by whole milliseconds; with `toWake` exactly to the moment that the fleet
   * requested.
   */
  pass(ms: number, toWake: boolean): void {
    const wakeMs = this.#wakeAtMs;
    this.nowMs = toWake && wakeMs !== Number.POSITIVE_INFINITY ? wakeMs : this.nowMs + ms * 1.000_123;
    this.dispatch({ kind: 'time' });
  }

  /** Lets the n-th engine, counted around, do something, if it can. */
  engine(n: number, act: EngineAct): void {
    const run = this.runs[n % Math.max(1, this.runs.length)];
    if (run === undefined) return;
    const { slot, epoch } = run;
    const external = this.fleet.members.get(slot)?.config.external ?? false;
    if (run.reclaimedByMs !== null) {
      if (act !== 'reclaim') return;
      this.#forget(run);
      this.dispatch({ slot, kind: 'reclaimed', epoch });
    } else if (act === 'spawn' && !run.up) {
      run.up = true;
      this.dispatch({ slot, kind: 'spawned', epoch, engine: { pid: 1, port: 2, baseUrl: 'http://e' } });
    } else if (act === 'end' && run.sent) this.#end(run);
    else if (act === 'exit' && !run.ended && !external) {
      run.ended = true;
      this.dispatch({ slot, kind: 'exited', epoch, reason: 'exited' });
    } else if (act === 'warm' && run.warming) {
      run.warming = false;
      this.dispatch({ slot, kind: 'warmed', epoch });
    } else if ((act === 'turn' || act === 'turn badly') && run.turning !== null)
      this.#turn(run, act === 'turn');
    else if (act === 'speak') this.dispatch({ slot, kind: 'activity', epoch });
    else if (run.probing && ['ready', 'not yet', 'wrong'].includes(act)) {
      run.probing = false;
      const response = act === 'not yet' ? 'waiting' : act === 'wrong' ? { wrong: 'another model' } : act;
      this.dispatch({ slot, kind: 'probed', epoch, result: response as 'ready' });
    }
  }

  /** A report of an earlier start, or of none: it must change nothing at all. */
  late(slot: number, epoch: number, kind: 'gone' | 'exited' | 'probed' | 'slept' | 'reclaimed'): void {
    const member = this.fleet.members.get(slot);
    if (member === undefined || this.runs.some((run) => run.slot === slot && run.epoch === epoch)) return;
    const more = { reason: 'late', response: 'ready', ok: true };
    this.dispatch({ slot, kind, epoch, ...more } as FleetEvent);
    claim(this.fleet.members.get(slot)?.state === member.state, 'a late report changed something');
  }

  dispatch(event: FleetEvent): void {
    const { fleet, effects, wakeAtMs } = reduce(this.fleet, {
      ...event,
      atMs: this.nowMs,
    } as TimedFleetEvent);
    const before = this.fleet;
    this.fleet = fleet;
    this.#wakeAtMs = wakeAtMs;
    for (const run of this.runs.filter(({ reclaimedByMs }) => (reclaimedByMs ?? Infinity) <= this.nowMs))
      this.#forget(run);
    for (const effect of effects) this.#perform(effect, before);
    this.#check();
  }

  /**
   * No more requests arrive, leases end, engines follow their orders, and start or never do: every
   * request gets a response.
   */
  conclude(comesUp: boolean): void {
    let idle = 0;
    for (let turns = 0; this.requests.length > 0; turns += 1) {
      claim(turns < 3000, 'a request never gets a lane');
      const leased = this.requests.findIndex(({ epoch }) => epoch !== null);
      if (leased >= 0) this.leave(leased, false);
      for (let n = this.runs.length - 1; n >= 0; n -= 1)
        for (const act of ['spawn', comesUp ? 'ready' : 'not yet', 'warm', 'turn', 'end', 'reclaim'] as const)
          this.engine(n, act);
      if (this.requests.length === 0) return;
      // Real time reaches the fleet when the fleet requested it, and not otherwise.
      const sleepsOn = this.#wakeAtMs === Number.POSITIVE_INFINITY;
      idle = sleepsOn && leased < 0 ? idle + 1 : 0;
      claim(idle < 5, 'somebody waits, and nothing will ever happen');
      if (!sleepsOn) this.pass(0, true);
    }
  }

  #end(run: Run): void {
    const config = this.fleet.members.get(run.slot)?.config;
    // Its memory may be freed later than its processes end, where it is measured.
    if (config !== undefined && config.reclaimMs > 0 && config.vramMb > 0)
      run.reclaimedByMs = this.nowMs + config.reclaimMs;
    else this.#forget(run);
    this.dispatch({ slot: run.slot, kind: 'gone', epoch: run.epoch });
  }

  #turn(run: Run, ok: boolean): void {
    const { slot, epoch } = run;
    const config = this.fleet.members.get(slot)?.config;
    const falls = run.turning === 'asleep';
    run.turning = null;
    if (ok && falls) run.heldMb = config?.sleepVramMb ?? run.heldMb;
    this.dispatch({ slot, kind: falls ? 'slept' : 'woken', epoch, ok });
  }

  #forget(run: Run): void {
    const at = this.runs.indexOf(run);
    if (at >= 0) this.runs.splice(at, 1);
  }

  #perform(effect: FleetEffect, before: FleetState): void {
    const member = this.fleet.members.get(effect.slot) ?? before.members.get(effect.slot);
    claim(member !== undefined, 'an effect for an unknown slot');
    switch (effect.kind) {
      case 'spawn': {
        const { slot, replica, epoch } = effect;
        claim(!this.runs.some((run) => run.slot === slot && run.replica === replica), 'a double start');
        claim(
          member.after === null || !this.fleet.members.has(member.after),
          'started beside its predecessor',
        );
        const gpus = member.config.replicas[replica] ?? [];
        const fresh = { up: false, probing: false, warming: false, turning: null, sent: false, ended: false };
        this.runs.push({
          ...{ slot, replica, epoch, gpus, heldMb: member.config.vramMb },
          ...{ ...fresh, reclaimedByMs: null },
        });
        this.starts += 1;
        return;
      }
      case 'grant':
        this.#granted(effect.slot, effect.id, effect.epoch, before);
        return;
      case 'fail':
      case 'refuse': {
        if (effect.kind === 'refuse')
          claim(Number.isInteger(effect.retryAfterSec) && effect.retryAfterSec >= 1, 'no time to wait');
        const at = this.requests.findIndex(({ slot, id }) => slot === effect.slot && id === effect.id);
        claim(this.requests[at]?.epoch === null, 'a lane for no request');
        this.requests.splice(at, 1);
        return;
      }
      case 'lose': {
        const at = this.requests.findIndex(({ slot, id }) => slot === effect.slot && id === effect.id);
        claim((this.requests[at]?.epoch ?? null) !== null, 'a loss of nothing');
        claim(!/room|idle/.test(effect.reason), 'a busy slot was evicted');
        this.requests.splice(at, 1);
        return;
      }
      case 'evicted':
      case 'remember':
      case 'out':
        return;
      default:
        this.#sent(effect.slot, effect.epoch, effect.kind, member.state.replicas);
    }
  }

  #sent(
    slot: number,
    epoch: number,
    what: 'probe' | 'warm' | 'sleep' | 'wake' | 'terminate' | 'kill' | 'reclaim',
    replicas: readonly Replica[],
  ): void {
    const run = this.runs.find((each) => each.slot === slot && each.epoch === epoch);
    if (what === 'reclaim') return;
    claim(run !== undefined, 'an effect for an unknown engine');
    switch (what) {
      case 'probe':
        claim(run.up && !run.probing, 'a probe of nothing');
        run.probing = true;
        return;
      case 'warm':
        run.warming = true;
        return;
      case 'wake':
        run.turning = 'awake';
        run.heldMb = this.fleet.members.get(slot)?.config.vramMb ?? 0;
        return;
      case 'sleep':
        run.turning = 'asleep';
        break;
      case 'terminate':
      case 'kill':
        run.sent = true;
    }
    const reason = replicas.find((replica) => replica.epoch === epoch)?.reason ?? '';
    const busy = this.requests.some((request) => request.slot === slot && request.epoch === epoch);
    claim(!busy || (what !== 'sleep' && !/room|idle/.test(reason)), 'a busy slot was evicted');
  }

  #granted(slot: number, id: number, epoch: number, before: FleetState): void {
    const sent = this.requests.find((each) => each.slot === slot && each.id === id);
    claim(sent?.epoch === null, 'a grant to no request');
    sent.epoch = epoch;
    let lanes = 0;
    for (const other of this.requests) {
      if (other.slot !== slot) continue;
      if (other.epoch === epoch) lanes += 1;
      const overtaken = other.epoch === null && other.accountId === sent.accountId && other.id < id;
      claim(!overtaken, 'somebody of the account was overtaken');
    }
    const most = this.fleet.members.get(slot)?.config.maxConcurrency ?? 0;
    claim(lanes <= most, 'more grants than lanes');
    claim(before.members.has(slot), 'a grant of a slot that is out');
  }

  #check(): void {
    const { fleet, nowMs } = this;
    const used = new Map<string, number>();
    for (const { gpus, heldMb: mb } of this.runs)
      for (const gpu of gpus) used.set(gpu, (used.get(gpu) ?? 0) + mb);
    for (const [gpu, mb] of used)
      claim(mb <= (this.budgets.get(gpu) ?? Infinity), 'more memory than there is');
    claim(this.#wakeAtMs > nowMs, 'a look at the time that would come at once, for ever');
    this.#checkProgress();
    for (const [slot, { state, config }] of fleet.members) {
      const own = this.requests.filter((request) => request.slot === slot);
      const waiting = own.filter(({ epoch }) => epoch === null).length;
      const leases = state.replicas.reduce((sum, replica) => sum + replica.leases.length, 0);
      claim(state.queue.size === waiting, 'the queue is not those who wait');
      claim(leases === own.length - waiting, 'the lanes in use are not the lanes that were given');
      const isReady = state.replicas.some(({ phase }) => phase.kind === 'READY');
      if (waiting > 0) {
        const queued = everyone(state.queue);
        claim(queued.length === waiting, 'the size of the queue is wrong');
        if (!isReady)
          claim(
            queued.every(({ deadlineMs }) => deadlineMs > nowMs),
            'a wait beyond the cold wait',
          );
        claim(!state.closed, 'a closed slot lets somebody wait');
      }
      for (const [at, replica] of state.replicas.entries())
        this.#checkReplica(slot, at, replica, config, waiting);
    }
  }

  /**
   * A slot waits for memory whose owners are idle: then the fleet wakes when the last residency is
   * over.
   */
  #checkProgress(): void {
    let isWanted = false;
    let freeMs = Number.NEGATIVE_INFINITY;
    for (const { state, config } of this.fleet.members.values())
      for (const { phase, leases } of state.replicas) {
        const rests = !['STARTING', 'WARMING', 'DRAINING', 'STOPPING', 'RECLAIMING'].includes(phase.kind);
        if (!rests || leases.length > 0 || (phase.kind === 'SLEEPING' && phase.step !== 'asleep')) return;
        if (phase.kind === 'ADMITTING') isWanted = true;
        if (phase.kind === 'READY') freeMs = Math.max(freeMs, phase.readyMs + config.minResidentMs);
      }
    if (isWanted) claim(this.#wakeAtMs <= freeMs, 'memory is wanted, and nothing will see it free');
  }

  #checkReplica(slot: number, at: number, replica: Replica, config: SlotConfig, waiting: number): void {
    const { phase, leases, epoch } = replica;
    this.seen.add(phase.kind);
    const run = this.runs.find((each) => each.slot === slot && each.replica === at);
    const none =
      phase.kind === 'COLD' ||
      phase.kind === 'BACKOFF' ||
      phase.kind === 'FAILED' ||
      (phase.kind === 'ADMITTING' && !phase.asleep);
    claim(
      none ? run === undefined : run !== undefined && run.epoch === epoch,
      `${phase.kind} and its engine`,
    );
    if (run !== undefined)
      claim(occupiedMb(replica, config) >= run.heldMb, `${phase.kind} is believed to hold less than it does`);
    if (phase.kind === 'READY') {
      const free = leases.length < config.maxConcurrency && phase.yieldsFromMs === Infinity;
      claim(waiting === 0 || !free, 'a lane lies idle while somebody waits');
    } else if (!config.external && phase.kind !== 'DRAINING')
      claim(leases.length === 0, `${phase.kind} with leases`);
  }
}
