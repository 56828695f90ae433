import { slotReason } from '../reasons.ts';
import { refusal, worthWaiting } from './estimate.ts';
import { dequeue, enqueue, rework } from './queue.ts';
import type { SlotState, TimedSlotEvent } from './state.ts';
import { isIn, type ReducerContext, reschedule, shortGraceMs, withReplica } from './transitions.ts';

/** Adds a request to the queue, or responds at once when it would wait in vain. */
export function acquire(
  state: SlotState,
  { id, accountId, coldWaitMs }: TimedSlotEvent & { kind: 'acquire' },
  turn: ReducerContext,
): SlotState {
  const { nowMs, config, effects: out } = turn;
  const accepts = state.retiringUntilMs === null || state.replicas.some((replica) => isIn(replica, 'READY'));
  const requested = shortenGrace({ ...state, requestedAtMs: nowMs }, turn);
  if (state.closed || !accepts || !worthWaiting(state, coldWaitMs, nowMs, config)) {
    out.push(refusal(state, id, nowMs, config));
    return { ...requested, target: !state.closed && accepts };
  }
  const deadlineMs = nowMs + coldWaitMs;
  const queue = enqueue(state.queue, { id, accountId, requestedAtMs: nowMs, coldWaitMs, deadlineMs });
  return { ...requested, queue, dueMs: Math.min(state.dueMs, deadlineMs) };
}

/** A request has ended: as a waiter, or with its lane. */
export function leave(
  state: SlotState,
  { id, unreachable }: TimedSlotEvent & { kind: 'leave' },
  turn: ReducerContext,
): SlotState {
  const at = state.replicas.findIndex(({ leases }) => leases.includes(id));
  const replica = state.replicas[at];
  if (replica === undefined)
    return { ...state, queue: rework(state.queue, (waiter) => (waiter.id === id ? null : waiter)) };
  const left = withReplica(state, at, { leases: replica.leases.filter((lease) => lease !== id) });
  if (!unreachable || !turn.config.external || replica.phase.kind !== 'READY') return left;
  const phase = { kind: 'STARTING', startedMs: turn.nowMs, probeAtMs: turn.nowMs } as const;
  return reschedule(withReplica(left, at, { phase, reason: slotReason('refused_request') }), true, turn);
}

/**
 * Grants one lane to the next waiter, at the least busy replica (Q1, Q4); the same object when
 * there is none to grant.
 */
export function serve(state: SlotState, turn: ReducerContext): SlotState {
  if (state.queue.size === 0) return state;
  const free = [...state.replicas.entries()]
    .filter(([, { phase, leases }]) => phase.kind === 'READY' && leases.length < turn.config.maxConcurrency)
    .toSorted(([, a], [, b]) => a.leases.length - b.leases.length);
  for (const [at, { phase, leases, engine, epoch }] of free) {
    if (phase.kind !== 'READY') continue;
    const next = dequeue(state.queue, ({ requestedAtMs }) => requestedAtMs < phase.yieldsFromMs);
    if (next === null) continue;
    const { id } = next.item;
    turn.effects.push({ kind: 'grant', id, epoch, baseUrl: engine?.baseUrl ?? '' });
    return { ...withReplica(state, at, { leases: [...leases, id] }), queue: next.rest };
  }
  return state;
}

/** Responds to waiters whose deadline has passed (Q2). */
export function expire(state: SlotState, { nowMs, config, effects: out }: ReducerContext): SlotState {
  if (nowMs < state.dueMs || state.replicas.some((replica) => isIn(replica, 'READY'))) return state;
  let dueMs = Number.POSITIVE_INFINITY;
  const queue = rework(state.queue, (waiter) => {
    if (waiter.deadlineMs > nowMs) {
      dueMs = Math.min(dueMs, waiter.deadlineMs);
      return waiter;
    }
    out.push(refusal(state, waiter.id, nowMs, config));
    return null;
  });
  return { ...state, queue, dueMs };
}

/** Shortens the grace of stopping engines, because a request waits for a successor (X3). */
export function shortenGrace(state: SlotState, { nowMs }: ReducerContext): SlotState {
  let next = state;
  for (const [at, { phase }] of state.replicas.entries())
    if (phase.kind === 'STOPPING' && phase.killAtMs !== Number.POSITIVE_INFINITY)
      next = withReplica(next, at, {
        phase: { ...phase, killAtMs: Math.min(phase.killAtMs, nowMs + shortGraceMs) },
      });
  return next;
}
