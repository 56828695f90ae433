import { retryAfterSec, worthWaiting } from './estimate.ts';
import { dequeue, enqueue, rework } from './queue.ts';
import type { SlotConfig, SlotEffect, SlotEvent, SlotState } from './state.ts';
import {
  begin,
  collide,
  crash,
  failStart,
  halt,
  hurryMs,
  rejudge,
  shut,
  succeed,
  type Turn,
} from './transitions.ts';

/** What an event comes to: the slot afterwards, and what the shell has to do, in this order. */
export interface Decision {
  readonly state: SlotState;
  readonly effects: readonly SlotEffect[];
}

/** Decides about one slot. Pure: all that it knows is in its arguments. The rules are in design.md. */
export function reduce(state: SlotState, event: SlotEvent, config: SlotConfig): Decision {
  const turn: Turn = { nowMs: event.atMs, config, out: [] };
  let next = apply(state, event, turn);
  for (;;) {
    const further = proceed(next, turn);
    if (further === next) break;
    next = further;
  }
  return { state: expire(next, turn), effects: turn.out };
}

/** What the event itself changes. */
function apply(state: SlotState, event: SlotEvent, turn: Turn): SlotState {
  const { phase } = state;
  switch (event.kind) {
    case 'tick':
      return state;
    case 'acquire':
      return acquire(state, event, turn);
    case 'leave':
      return leave(state, event, turn);
    case 'start':
      if (phase.kind === 'BACKOFF') return { ...state, phase: { kind: 'COLD' }, wanted: !state.closed };
      if (phase.kind === 'READY' || phase.kind === 'STARTING') return state;
      return { ...hurry(state, turn), wanted: !state.closed };
    case 'stop':
      return stop(state, event.drainMs, turn);
    case 'close':
      return shut(state, turn);
    case 'spawned':
      return event.epoch === state.epoch ? spawned(state, event, turn) : state;
    case 'probed':
      return event.epoch === state.epoch ? probed(state, event, turn) : state;
    case 'exited':
      return event.epoch === state.epoch ? exited(state, event, turn) : state;
    case 'gone': {
      if (event.epoch !== state.epoch || phase.kind !== 'STOPPING') return state;
      const untilMs = phase.backoffUntilMs;
      const after =
        untilMs > turn.nowMs ? ({ kind: 'BACKOFF', untilMs } as const) : ({ kind: 'COLD' } as const);
      return { ...state, phase: after, engine: null };
    }
  }
}

/** What follows from the state and the time alone, one step; the same object when there is nothing to do. */
function proceed(state: SlotState, turn: Turn): SlotState {
  const { phase } = state;
  const { nowMs, config, out } = turn;
  switch (phase.kind) {
    case 'COLD':
      return state.wanted || state.queue.size > 0 ? begin(state, turn) : state;
    case 'BACKOFF':
      return nowMs >= phase.untilMs ? { ...state, phase: { kind: 'COLD' } } : state;
    case 'STARTING':
      if (nowMs >= phase.startedMs + config.startBudgetMs)
        return failStart(state, `not ready within ${config.startBudgetMs} ms`, false, turn);
      if (nowMs < phase.probeAtMs) return state;
      out.push({ kind: 'probe', epoch: state.epoch });
      return { ...state, phase: { ...phase, probeAtMs: Number.POSITIVE_INFINITY } };
    case 'READY':
      return serve(state, phase, turn);
    case 'DRAINING':
      return state.leases.length === 0 || nowMs >= phase.untilMs ? halt(state, 'stopped', turn) : state;
    case 'STOPPING':
      if (nowMs < phase.killAtMs) return state;
      out.push({ kind: 'kill', epoch: state.epoch });
      return { ...state, phase: { ...phase, killAtMs: Number.POSITIVE_INFINITY } };
  }
}

/** A ready engine: lanes to those whose turn it is (Q1), and an end to idleness (X1). */
function serve(state: SlotState, phase: SlotState['phase'] & { kind: 'READY' }, turn: Turn): SlotState {
  const { nowMs, config, out } = turn;
  const next = state.leases.length < config.maxConcurrency ? dequeue(state.queue) : null;
  if (next !== null) {
    out.push({ kind: 'grant', id: next.item.id, baseUrl: state.engine?.baseUrl ?? '' });
    return { ...state, queue: next.rest, leases: [...state.leases, next.item.id] };
  }
  const busy = state.leases.length > 0 || state.queue.size > 0;
  const resting = phase.idleSinceMs !== Number.POSITIVE_INFINITY;
  if (busy === resting)
    return { ...state, phase: { ...phase, idleSinceMs: busy ? Number.POSITIVE_INFINITY : nowMs } };
  if (config.idleStopMs <= 0 || nowMs < phase.idleSinceMs + config.idleStopMs) return state;
  return halt(state, 'idle', turn);
}

/** Answers those whose patience is over (Q2). */
function expire(state: SlotState, { nowMs, config, out }: Turn): SlotState {
  if (state.phase.kind === 'READY' || nowMs < state.dueMs) return state;
  let dueMs = Number.POSITIVE_INFINITY;
  const queue = rework(state.queue, (waiter) => {
    if (waiter.deadlineMs > nowMs) {
      dueMs = Math.min(dueMs, waiter.deadlineMs);
      return waiter;
    }
    const { id } = waiter;
    out.push({ kind: 'refuse', id, retryAfterSec: retryAfterSec(state, nowMs, config) });
    return null;
  });
  return { ...state, queue, dueMs };
}

function acquire(
  state: SlotState,
  { id, accountId, coldWaitMs }: SlotEvent & { kind: 'acquire' },
  turn: Turn,
): SlotState {
  const { nowMs, config, out } = turn;
  if (state.closed || !worthWaiting(state, coldWaitMs, nowMs, config)) {
    out.push({ kind: 'refuse', id, retryAfterSec: retryAfterSec(state, nowMs, config) });
    return { ...hurry(state, turn), wanted: !state.closed };
  }
  const deadlineMs = nowMs + coldWaitMs;
  const queue = enqueue(state.queue, { id, accountId, coldWaitMs, deadlineMs });
  return { ...hurry(state, turn), queue, dueMs: Math.min(state.dueMs, deadlineMs) };
}

function leave(state: SlotState, { id, unreachable }: SlotEvent & { kind: 'leave' }, turn: Turn): SlotState {
  if (!state.leases.includes(id))
    return { ...state, queue: rework(state.queue, (waiter) => (waiter.id === id ? null : waiter)) };
  const left = { ...state, leases: state.leases.filter((lease) => lease !== id) };
  if (!unreachable || !turn.config.external || state.phase.kind !== 'READY') return left;
  const phase = { kind: 'STARTING', startedMs: turn.nowMs, probeAtMs: turn.nowMs } as const;
  return rejudge({ ...left, phase, reason: 'did not take a request' }, turn);
}

function stop(state: SlotState, drainMs: number, turn: Turn): SlotState {
  const { phase } = state;
  const unwanted = { ...state, wanted: false };
  switch (phase.kind) {
    case 'COLD':
    case 'STOPPING':
      return unwanted;
    case 'BACKOFF':
      return { ...unwanted, phase: { kind: 'COLD' }, reason: 'stopped' };
    case 'STARTING':
      return halt(unwanted, 'stopped', turn);
    case 'READY':
    case 'DRAINING': {
      const untilMs = Math.min(turn.nowMs + drainMs, phase.kind === 'DRAINING' ? phase.untilMs : Infinity);
      return rejudge({ ...unwanted, phase: { kind: 'DRAINING', untilMs }, reason: 'stopped' }, turn);
    }
  }
}

function spawned(state: SlotState, { engine }: SlotEvent & { kind: 'spawned' }, turn: Turn): SlotState {
  if (state.engine !== null) return state;
  if (state.phase.kind === 'STOPPING') return { ...state, engine };
  if (state.phase.kind !== 'STARTING') return state;
  return { ...state, engine, phase: { ...state.phase, probeAtMs: turn.nowMs }, reason: 'starting' };
}

function probed(state: SlotState, { answer }: SlotEvent & { kind: 'probed' }, turn: Turn): SlotState {
  const { phase } = state;
  if (phase.kind !== 'STARTING' || phase.probeAtMs !== Number.POSITIVE_INFINITY) return state;
  switch (answer) {
    case 'ready':
      return succeed(state, phase.startedMs, turn);
    case 'stranger':
      return collide(state, false, turn);
    case 'waiting': {
      // Every 50 ms at first, every 500 ms from the fifth second on.
      const pauseMs = Math.min(500, Math.max(50, (turn.nowMs - phase.startedMs) / 10));
      return { ...state, phase: { ...phase, probeAtMs: turn.nowMs + pauseMs } };
    }
  }
}

function exited(state: SlotState, event: SlotEvent & { kind: 'exited' }, turn: Turn): SlotState {
  const { phase } = state;
  if (phase.kind === 'STARTING')
    return event.collision ? collide(state, true, turn) : failStart(state, event.reason, true, turn);
  if (phase.kind === 'READY') return crash(state, phase.readyMs, event.reason, turn);
  if (phase.kind === 'DRAINING') return halt(state, event.reason, turn);
  return state;
}

function hurry(state: SlotState, { nowMs }: Turn): SlotState {
  const { phase } = state;
  if (phase.kind !== 'STOPPING' || phase.killAtMs === Number.POSITIVE_INFINITY) return state;
  return { ...state, phase: { ...phase, killAtMs: Math.min(phase.killAtMs, nowMs + hurryMs) } };
}
