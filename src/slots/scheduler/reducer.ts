import { slotReason } from '../reasons.ts';
import { applicationMs, type Phase, type Replica, type SlotState, type TimedSlotEvent } from './state.ts';
import {
  afterGone,
  crash,
  failStart,
  halt,
  idle,
  isAsleep,
  isIn,
  type ReducerContext,
  reschedule,
  serveFrom,
  shut,
  succeed,
  withReplica,
} from './transitions.ts';
import { acquire, expire, leave, serve, shortenGrace } from './waiters.ts';

/**
 * Consecutive failed probes after which a silent engine counts as dead, and the pause between them
 * (design.md, T2).
 */
const missesMax = 3;
const missPauseMs = 5000;

/** Reports of a start. */
type Report = TimedSlotEvent & { readonly epoch: number };

/**
 * Applies an event to one slot, except for memory, which the fleet plans (vram.ts). The rules are
 * in design.md.
 */
export function reduceSlot(state: SlotState, event: TimedSlotEvent, context: ReducerContext): SlotState {
  return advance(apply(state, event, context), context);
}

/** Applies what follows from the state and the time alone. */
export function advance(state: SlotState, context: ReducerContext): SlotState {
  let next = state;
  for (;;) {
    const further = proceed(next, context);
    if (further === next) return expire(next, context);
    next = further;
  }
}

/** Applies the event itself. */
function apply(state: SlotState, event: TimedSlotEvent, context: ReducerContext): SlotState {
  switch (event.kind) {
    case 'tick':
      return state;
    case 'acquire':
      return acquire(state, event, context);
    case 'leave':
      return leave(state, event, context);
    case 'start':
      return start(state, context);
    case 'stop':
      return stop(state, event.drainMs, context);
    case 'retire':
      return { ...state, target: false, retiringUntilMs: context.nowMs + event.drainMs };
    case 'close':
      return shut(state, context);
    default: {
      const at = event.epoch > 0 ? state.replicas.findIndex(({ epoch }) => epoch === event.epoch) : -1;
      const replica = state.replicas[at];
      return replica === undefined ? state : reported(state, at, replica, event, context);
    }
  }
}

/** One step; returns the same object when there is nothing to do. */
function proceed(state: SlotState, context: ReducerContext): SlotState {
  if (state.retiringUntilMs !== null && context.nowMs >= state.retiringUntilMs)
    return { ...shut(state, context), retiringUntilMs: Number.POSITIVE_INFINITY };
  const served = serve(state, context);
  if (served !== state) return served;
  for (const [at, replica] of state.replicas.entries()) {
    const next = step(state, at, replica, context);
    if (next !== state) return next;
  }
  const isServed = state.retiringUntilMs !== null || state.replicas.some((replica) => isIn(replica, 'READY'));
  if (state.target && isServed) return { ...state, target: false };
  return state.target || state.queue.size > 0 ? requestAdmission(state, context) : state;
}

/** Lets one replica request memory, unless one is already starting or failing (S4). */
function requestAdmission(state: SlotState, { nowMs }: ReducerContext): SlotState {
  const idle = (replica: Replica): boolean =>
    isIn(replica, 'COLD', 'STOPPING', 'RECLAIMING', 'DRAINING') ||
    (replica.phase.kind === 'SLEEPING' && replica.phase.step === 'asleep');
  if (!state.replicas.every(idle)) return state;
  const asleep = state.replicas.findIndex((replica) => isAsleep(replica));
  const at = asleep >= 0 ? asleep : state.replicas.findIndex((replica) => isIn(replica, 'COLD'));
  const phase = { kind: 'ADMITTING', sinceMs: nowMs, roomAtMs: nowMs, asleep: asleep >= 0 } as const;
  return at < 0 ? state : withReplica(state, at, { phase, reason: slotReason('waits_for_memory') });
}

function step(state: SlotState, at: number, replica: Replica, context: ReducerContext): SlotState {
  const { phase, epoch, leases } = replica;
  const { nowMs, config, effects: out } = context;
  const retires = state.retiringUntilMs !== null && state.queue.size === 0 && leases.length === 0;
  if (retires && !isIn(replica, 'COLD', 'STOPPING', 'RECLAIMING', 'DRAINING')) {
    if (isIn(replica, 'BACKOFF', 'FAILED', 'ADMITTING') && !isAsleep(replica))
      return withReplica(state, at, { phase: { kind: 'COLD' } });
    return halt(state, at, slotReason('removed'), context);
  }
  switch (phase.kind) {
    case 'COLD':
      return state;
    case 'ADMITTING':
      return expireAdmission(state, at, phase, context);
    case 'BACKOFF':
    case 'FAILED':
      return nowMs >= phase.untilMs ? withReplica(state, at, { phase: { kind: 'COLD' } }) : state;
    case 'STARTING':
      if (nowMs >= phase.startedMs + config.startBudgetMs)
        return failStart(state, at, slotReason('not_ready_in_time', config.startBudgetMs), false, context);
      if (nowMs < phase.probeAtMs) return state;
      out.push({ kind: 'probe', epoch });
      return withReplica(state, at, { phase: { ...phase, probeAtMs: Number.POSITIVE_INFINITY } });
    case 'WARMING':
      return nowMs >= phase.untilMs ? serveFrom(state, at, phase.startedMs, context) : state;
    case 'READY':
      return watch(state, at, replica, phase, context);
    case 'SLEEPING':
      if (phase.step === 'asleep' || nowMs < phase.untilMs) return state;
      return halt(
        state,
        at,
        slotReason(phase.step === 'falling' ? 'did_not_sleep' : 'did_not_wake'),
        context,
      );
    case 'DRAINING':
      return leases.length === 0 || nowMs >= phase.untilMs
        ? halt(state, at, slotReason('stopped'), context)
        : state;
    case 'STOPPING':
      if (nowMs < phase.killAtMs) return state;
      out.push({ kind: 'kill', epoch });
      return withReplica(state, at, { phase: { ...phase, killAtMs: Number.POSITIVE_INFINITY } });
    case 'RECLAIMING':
      return nowMs >= phase.untilMs ? afterGone(state, at, phase.backoffUntilMs, context) : state;
  }
}

/** Drops a memory request without waiters or new requests (R8). */
function expireAdmission(
  state: SlotState,
  at: number,
  phase: Phase & { kind: 'ADMITTING' },
  context: ReducerContext,
): SlotState {
  const { nowMs } = context;
  if (state.queue.size > 0 || nowMs < Math.max(phase.sinceMs, state.requestedAtMs) + applicationMs)
    return state;
  const back: Phase = phase.asleep
    ? { kind: 'SLEEPING', step: 'asleep', sinceMs: nowMs, untilMs: Number.POSITIVE_INFINITY }
    : { kind: 'COLD' };
  return {
    ...withReplica(state, at, { phase: back, reason: slotReason('no_longer_requested') }),
    target: false,
  };
}

/** Checks a ready engine: is it idle (X1), and is it alive (T)? */
function watch(
  state: SlotState,
  at: number,
  { leases, epoch }: Replica,
  phase: Phase & { kind: 'READY' },
  context: ReducerContext,
): SlotState {
  const { nowMs, config, effects: out } = context;
  const busy = leases.length > 0;
  if (busy === (phase.idleSinceMs !== Number.POSITIVE_INFINITY))
    return withReplica(state, at, {
      phase: { ...phase, idleSinceMs: busy ? Number.POSITIVE_INFINITY : nowMs },
    });
  if (nowMs >= phase.checkAtMs) {
    const aliveUntilMs = phase.misses === 0 ? phase.lastActivityMs + config.stallMs : nowMs;
    if (nowMs < aliveUntilMs) return withReplica(state, at, { phase: { ...phase, checkAtMs: aliveUntilMs } });
    out.push({ kind: 'probe', epoch });
    return withReplica(state, at, { phase: { ...phase, checkAtMs: Number.POSITIVE_INFINITY } });
  }
  if (config.idleStopMs <= 0 || nowMs < phase.idleSinceMs + config.idleStopMs) return state;
  return idle(state, at, slotReason('idle'), context);
}

function start(state: SlotState, context: ReducerContext): SlotState {
  if (state.closed || state.retiringUntilMs !== null) return state;
  let next = state;
  for (const [at, replica] of state.replicas.entries())
    if (isIn(replica, 'BACKOFF', 'FAILED')) next = withReplica(next, at, { phase: { kind: 'COLD' } });
  if (next.replicas.some((replica) => isIn(replica, 'READY', 'STARTING', 'WARMING'))) return next;
  return { ...shortenGrace(next, context), target: true, requestedAtMs: context.nowMs };
}

function stop(state: SlotState, drainMs: number, context: ReducerContext): SlotState {
  let next: SlotState = { ...state, target: false };
  for (const [at, replica] of state.replicas.entries()) {
    const { phase } = replica;
    switch (phase.kind) {
      case 'COLD':
      case 'STOPPING':
      case 'RECLAIMING':
        break;
      case 'BACKOFF':
      case 'FAILED':
        next = withReplica(next, at, { phase: { kind: 'COLD' }, reason: slotReason('stopped') });
        break;
      case 'ADMITTING':
        next = phase.asleep
          ? halt(next, at, slotReason('stopped'), context)
          : withReplica(next, at, { phase: { kind: 'COLD' }, reason: slotReason('stopped') });
        break;
      case 'STARTING':
      case 'WARMING':
      case 'SLEEPING':
        next = halt(next, at, slotReason('stopped'), context);
        break;
      case 'READY':
      case 'DRAINING': {
        const untilMs = Math.min(
          context.nowMs + drainMs,
          phase.kind === 'DRAINING' ? phase.untilMs : Infinity,
        );
        next = withReplica(next, at, { phase: { kind: 'DRAINING', untilMs }, reason: slotReason('stopped') });
      }
    }
  }
  const wasReady = state.replicas.some((replica) => isIn(replica, 'READY'));
  return wasReady ? reschedule(next, true, context) : next;
}

/** Applies a report of a start. */
function reported(
  state: SlotState,
  at: number,
  replica: Replica,
  event: Report,
  context: ReducerContext,
): SlotState {
  const { phase } = replica;
  const { nowMs } = context;
  switch (event.kind) {
    case 'spawned':
      if (replica.engine !== null) return state;
      if (phase.kind === 'STOPPING') return withReplica(state, at, { engine: event.engine });
      if (phase.kind !== 'STARTING') return state;
      return withReplica(state, at, {
        engine: event.engine,
        phase: { ...phase, probeAtMs: nowMs },
        reason: slotReason('starting'),
      });
    case 'probed':
      return probed(state, at, phase, event.result, context);
    case 'warmed':
      return phase.kind === 'WARMING' ? serveFrom(state, at, phase.startedMs, context) : state;
    case 'slept': {
      if (phase.kind !== 'SLEEPING' || phase.step !== 'falling') return state;
      if (!event.ok) return halt(state, at, slotReason('did_not_sleep'), context);
      return withReplica(state, at, {
        phase: { ...phase, step: 'asleep', sinceMs: nowMs, untilMs: Infinity },
      });
    }
    case 'woken': {
      if (phase.kind !== 'SLEEPING' || phase.step !== 'waking') return state;
      if (!event.ok) return halt({ ...state, target: true }, at, slotReason('did_not_wake'), context);
      return serveFrom({ ...state, wakeMs: nowMs - phase.sinceMs }, at, null, context);
    }
    case 'activity':
      if (phase.kind !== 'READY') return state;
      return withReplica(state, at, { phase: { ...phase, lastActivityMs: nowMs, misses: 0 } });
    case 'exited':
      if (phase.kind === 'STARTING' || phase.kind === 'WARMING')
        return failStart(state, at, event.reason, true, context);
      if (phase.kind === 'READY' || phase.kind === 'SLEEPING' || isAsleep(replica))
        return crash(state, at, event.reason, true, context);
      return phase.kind === 'DRAINING' ? halt(state, at, event.reason, context) : state;
    case 'gone': {
      if (phase.kind !== 'STOPPING') return state;
      const { reclaimMs, vramMb } = context.config;
      if (reclaimMs <= 0 || vramMb <= 0) return afterGone(state, at, phase.backoffUntilMs, context);
      context.effects.push({ kind: 'reclaim', epoch: replica.epoch });
      const { backoffUntilMs } = phase;
      const reclaiming = { kind: 'RECLAIMING', untilMs: nowMs + reclaimMs, backoffUntilMs } as const;
      return withReplica(state, at, { phase: reclaiming, engine: null });
    }
    case 'reclaimed':
      return phase.kind === 'RECLAIMING' ? afterGone(state, at, phase.backoffUntilMs, context) : state;
    default:
      return state;
  }
}

function probed(
  state: SlotState,
  at: number,
  phase: Phase,
  result: (TimedSlotEvent & { kind: 'probed' })['result'],
  context: ReducerContext,
): SlotState {
  const { nowMs, config } = context;
  if (phase.kind === 'READY' && phase.checkAtMs === Number.POSITIVE_INFINITY) {
    const checkAtMs = nowMs + config.stallMs;
    if (result === 'ready')
      return withReplica(state, at, { phase: { ...phase, lastActivityMs: nowMs, misses: 0, checkAtMs } });
    // It was active while the probe was in flight.
    if (nowMs < phase.lastActivityMs + config.stallMs)
      return withReplica(state, at, { phase: { ...phase, checkAtMs } });
    const misses = phase.misses + 1;
    if (misses < missesMax)
      return withReplica(state, at, {
        phase: { ...phase, misses, checkAtMs: nowMs + Math.min(missPauseMs, config.stallMs) },
      });
    return crash(state, at, slotReason('silent', config.stallMs), true, context);
  }
  if (phase.kind !== 'STARTING' || phase.probeAtMs !== Number.POSITIVE_INFINITY) return state;
  if (result === 'ready') return succeed(state, at, phase.startedMs, context);
  if (result === 'waiting') {
    // Every 50 ms at first, every 500 ms from the fifth second on.
    const pauseMs = Math.min(500, Math.max(50, (nowMs - phase.startedMs) / 10));
    return withReplica(state, at, { phase: { ...phase, probeAtMs: nowMs + pauseMs } });
  }
  return failStart(state, at, result.wrong, false, context);
}
