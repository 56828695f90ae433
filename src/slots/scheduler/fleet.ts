import { wakeAtMs } from './estimate.ts';
import { advance, reduceSlot } from './reducer.ts';
import { coldSlot, type SlotConfig, type SlotEffect, type SlotEvent, type SlotState } from './state.ts';
import {
  admit,
  halt,
  idle,
  isAsleep,
  isIn,
  type ReducerContext,
  reschedule,
  withReplica,
} from './transitions.ts';
import { arrange, type FleetState, type Member, type Move, roomWakeAtMs } from './vram.ts';

/**
 * An event of the fleet: of one slot, of its configuration, or only time. `atMs` is monotonic and
 * never falls.
 */
export type TimedFleetEvent = { readonly atMs: number } & FleetEvent;

/** The same without its time. */
export type FleetEvent =
  | ({ readonly slot: number } & SlotEvent)
  /** `after`: starts nothing before that slot is removed. */
  | {
      readonly kind: 'join';
      readonly slot: number;
      readonly config: SlotConfig;
      readonly history: readonly number[];
      readonly after: number | null;
    }
  /** Settings that do not affect the engines. The number of replicas does not change. */
  | { readonly kind: 'configure'; readonly slot: number; readonly config: SlotConfig }
  | { readonly kind: 'budgets'; readonly budgets: ReadonlyMap<string, number> }
  | { readonly kind: 'time' };

/**
 * An effect that the shell must run for a slot. `out`: the slot was retired and nothing of it is
 * left.
 */
export type FleetEffect = { readonly slot: number } & (SlotEffect | { readonly kind: 'out' });

/** The result of an event: the new fleet, and the effects to run, in this order. */
export interface Decision {
  readonly fleet: FleetState;
  readonly effects: readonly FleetEffect[];
  /**
   * The time of the next `time` event, after this one, when the fleet must act without another
   * event; infinite for never.
   */
  readonly wakeAtMs: number;
}

/** A fleet without slots. */
export const emptyFleet: FleetState = { members: new Map(), budgets: new Map() };

/** Decides about all slots. Pure: depends only on its arguments. The rules are in design.md. */
export function reduce(fleet: FleetState, event: TimedFleetEvent): Decision {
  const turns = new Fleet(fleet, event.atMs);
  switch (event.kind) {
    case 'join': {
      const { config, history, after } = event;
      turns.set(event.slot, { config, state: coldSlot(history, config.replicas.length), after });
      break;
    }
    case 'configure': {
      const member = fleet.members.get(event.slot);
      if (member !== undefined) turns.set(event.slot, { ...member, config: event.config });
      turns.change(event.slot, (state, context) => advance(state, context));
      break;
    }
    case 'budgets':
      turns.budgets = event.budgets;
      break;
    case 'time':
      for (const slot of fleet.members.keys())
        turns.change(slot, (state, context) => advance(state, context));
      break;
    default:
      turns.change(event.slot, (state, context) => reduceSlot(state, event, context));
  }
  turns.settle();
  const { members, budgets, effects } = turns;
  // Part of the decision: computed a moment later, a residency that ended in between would be
  // missed.
  return { fleet: { members, budgets }, effects, wakeAtMs: fleetWakeAtMs({ members, budgets }, event.atMs) };
}

function fleetWakeAtMs(fleet: FleetState, nowMs: number): number {
  let atMs = roomWakeAtMs(fleet, nowMs);
  for (const { state, config } of fleet.members.values()) atMs = Math.min(atMs, wakeAtMs(state, config));
  return atMs;
}

/** A fleet while one event is being decided. */
class Fleet {
  members: ReadonlyMap<number, Member>;
  budgets: ReadonlyMap<string, number>;
  readonly effects: FleetEffect[] = [];
  readonly #nowMs: number;

  constructor({ members, budgets }: FleetState, nowMs: number) {
    this.members = members;
    this.budgets = budgets;
    this.#nowMs = nowMs;
  }

  set(slot: number, member: Member): void {
    this.members = new Map(this.members).set(slot, member);
  }

  change(slot: number, how: (state: SlotState, context: ReducerContext) => SlotState): void {
    const member = this.members.get(slot);
    if (member === undefined) return;
    const turn: ReducerContext = { nowMs: this.#nowMs, config: member.config, effects: [] };
    const state = how(member.state, turn);
    for (const effect of turn.effects) this.effects.push({ slot, ...effect });
    if (state !== member.state) this.set(slot, { ...member, state });
  }

  /** Runs the memory planner until it has no more moves, and removes slots that are gone. */
  settle(): void {
    for (;;) {
      for (const [slot, { state }] of this.members)
        if (state.retiringUntilMs !== null && isEmpty(state)) {
          const members = new Map(this.members);
          members.delete(slot);
          this.members = members;
          this.effects.push({ slot, kind: 'out' });
        }
      const moves = arrange(this, this.#nowMs);
      if (moves.length === 0) return;
      for (const move of moves)
        this.change(move.slot, (state, context) => advance(moved(state, move, context), context));
    }
  }
}

function isEmpty({ queue, replicas }: SlotState): boolean {
  return queue.size === 0 && replicas.every((each) => isIn(each, 'COLD') && each.leases.length === 0);
}

function moved(state: SlotState, move: Move, context: ReducerContext): SlotState {
  const { at } = move;
  const replica = state.replicas[at];
  if (replica === undefined) return state;
  const { phase } = replica;
  switch (move.kind) {
    case 'admit':
      return admit(state, at, context);
    case 'evict': {
      if (phase.kind === 'READY') {
        context.effects.push({ kind: 'evicted' });
        return reschedule(idle(state, at, move.why, context, true), true, context);
      }
      // Another slot that wants the memory may have been first.
      if (!isAsleep(replica) && !isIn(replica, 'STARTING', 'WARMING')) return state;
      return halt(
        { ...state, target: state.target || phase.kind === 'ADMITTING' },
        at,
        move.why,
        context,
        true,
      );
    }
    case 'reserve-later': {
      if (phase.kind !== 'ADMITTING') return state;
      const crowded = withReplica(state, at, { phase: { ...phase, roomAtMs: move.roomAtMs } });
      return move.roomAtMs > Math.max(phase.roomAtMs, context.nowMs) || phase.roomAtMs === phase.sinceMs
        ? reschedule(crowded, false, context)
        : crowded;
    }
    case 'stop-admitting':
      return phase.kind === 'READY'
        ? withReplica(state, at, { phase: { ...phase, yieldsFromMs: move.fromMs } })
        : state;
  }
}
