import { withStart } from '../history.ts';
import { slotReason } from '../reasons.ts';
import { circuitFailures, refusal, worthWaiting } from './estimate.ts';
import { emptyQueue, everyone, rework } from './queue.ts';
import type { Phase, Replica, SlotConfig, SlotEffect, SlotState } from './state.ts';

/**
 * The remaining grace of a stopping engine once a request waits for its successor (design.md, X3).
 */
export const shortGraceMs = 1000;

/** A crash after the engine was ready for this long does not count as a repeated crash. */
const stableMs = 60_000;

/** The longest that the circuit stays open (design.md, X6). */
const circuitMaxMs = 600_000;

/** The time to fall asleep, which at most copies the weights. */
const fallAsleepMs = 60_000;

const never = Number.POSITIVE_INFINITY;

/** The context of a transition, which adds effects for the shell. */
export interface ReducerContext {
  readonly nowMs: number;
  readonly config: SlotConfig;
  readonly effects: SlotEffect[];
}

/** The slot with its `at`-th replica changed. */
export function withReplica(state: SlotState, at: number, change: Partial<Replica>): SlotState {
  const replica = state.replicas[at];
  return replica === undefined
    ? state
    : { ...state, replicas: state.replicas.with(at, { ...replica, ...change }) };
}

/** Whether the replica is in one of the phases. */
export function isIn({ phase }: Replica, ...kinds: readonly Phase['kind'][]): boolean {
  return kinds.includes(phase.kind);
}

/** There is memory: starts the engine, with a new epoch, or wakes the existing one. */
export function admit(state: SlotState, at: number, context: ReducerContext): SlotState {
  const { nowMs, config, effects: out } = context;
  const replica = state.replicas[at];
  if (replica !== undefined && isAsleep(replica)) {
    out.push({ kind: 'wake', epoch: replica.epoch });
    const untilMs = nowMs + config.startBudgetMs;
    const phase = { kind: 'SLEEPING', step: 'waking', sinceMs: nowMs, untilMs } as const;
    return { ...withReplica(state, at, { phase, reason: slotReason('waking') }), target: false };
  }
  const epoch = state.epoch + 1;
  out.push({ kind: 'spawn', epoch, replica: at });
  const phase = { kind: 'STARTING', startedMs: nowMs, probeAtMs: never } as const;
  return {
    ...withReplica(state, at, { phase, epoch, engine: null, reason: slotReason('requested') }),
    epoch,
    target: false,
  };
}

/** Whether it has a sleeping engine. */
export function isAsleep({ phase }: Replica): boolean {
  return phase.kind === 'ADMITTING' ? phase.asleep : phase.kind === 'SLEEPING' && phase.step === 'asleep';
}

/**
 * The engine passed its probe: sends the warm-up request, if configured, then serves clients
 * (design.md, D7).
 */
export function succeed(state: SlotState, at: number, startedMs: number, context: ReducerContext): SlotState {
  const { nowMs, config, effects: out } = context;
  const epoch = state.replicas[at]?.epoch ?? 0;
  if (config.warmUpMs <= 0 || config.external) return serveFrom(state, at, startedMs, context);
  out.push({ kind: 'warm', epoch });
  const phase = { kind: 'WARMING', startedMs, untilMs: nowMs + config.warmUpMs } as const;
  return withReplica(state, at, { phase, reason: slotReason('warming') });
}

/** The engine serves clients; `startedMs` null: it was not started but woken. */
export function serveFrom(
  state: SlotState,
  at: number,
  startedMs: number | null,
  context: ReducerContext,
): SlotState {
  const { nowMs, config, effects: out } = context;
  const history = startedMs === null ? state.history : withStart(state.history, nowMs - startedMs);
  if (startedMs !== null) out.push({ kind: 'remember', history });
  const checks = config.stallMs > 0 && !config.external;
  const phase = {
    kind: 'READY',
    readyMs: nowMs,
    idleSinceMs: never,
    lastActivityMs: nowMs,
    checkAtMs: checks ? nowMs + config.stallMs : never,
    misses: 0,
    yieldsFromMs: never,
  } as const;
  return { ...withReplica(state, at, { phase, reason: slotReason('ready') }), history };
}

/**
 * Stops an engine that did not fail: waiters get its successor. `hurried`: a request waits for its
 * memory.
 */
export function halt(
  state: SlotState,
  at: number,
  reason: string,
  context: ReducerContext,
  graceShortened = false,
): SlotState {
  const { nowMs, config, effects: out } = context;
  out.push({ kind: 'terminate', epoch: state.replicas[at]?.epoch ?? 0 });
  const awaited = graceShortened || state.target || state.queue.size > 0;
  const killAtMs = nowMs + (awaited ? Math.min(shortGraceMs, config.graceMs) : config.graceMs);
  const phase = { kind: 'STOPPING', killAtMs, backoffUntilMs: nowMs } as const;
  return loseLeases(withReplica(state, at, { phase, failures: 0, reason }), at, context);
}

/** Puts an idle engine to sleep, or stops one that cannot sleep. */
export function idle(
  state: SlotState,
  at: number,
  reason: string,
  context: ReducerContext,
  graceShortened = false,
): SlotState {
  const replica = state.replicas[at];
  if (replica === undefined || context.config.sleepVramMb === null || replica.phase.kind !== 'READY')
    return halt(state, at, reason, context, graceShortened);
  context.effects.push({ kind: 'sleep', epoch: replica.epoch });
  const untilMs = context.nowMs + fallAsleepMs;
  const phase = { kind: 'SLEEPING', step: 'falling', sinceMs: context.nowMs, untilMs } as const;
  return withReplica(state, at, { phase, failures: 0, reason });
}

/** The start failed: all waiters get a response, and the next start backs off. */
export function failStart(
  state: SlotState,
  at: number,
  reason: string,
  exited: boolean,
  context: ReducerContext,
): SlotState {
  const failures = (state.replicas[at]?.failures ?? 0) + 1;
  const failed = { ...withReplica(state, at, { failures }), target: false };
  return reschedule(
    collapse(failed, at, reason, exited, delayMs(failures, failures, context.config), context),
    false,
    context,
  );
}

/** An engine that was up exited unexpectedly. After the first time it restarts at once. */
export function crash(
  state: SlotState,
  at: number,
  reason: string,
  exited: boolean,
  context: ReducerContext,
): SlotState {
  const replica = state.replicas[at];
  if (replica === undefined) return state;
  const { phase } = replica;
  const stable = phase.kind !== 'READY' || context.nowMs - phase.readyMs >= stableMs;
  const failures = (stable ? 0 : replica.failures) + 1;
  const crashed = { ...withReplica(state, at, { failures }), target: state.target || state.queue.size > 0 };
  const waitMs = failures === 1 ? 0 : delayMs(failures, failures - 1, context.config);
  return reschedule(collapse(crashed, at, reason, exited, waitMs, context), phase.kind === 'READY', context);
}

/** Nothing of the engine is left, nor of its memory. */
export function afterGone(
  state: SlotState,
  at: number,
  backoffUntilMs: number,
  context: ReducerContext,
): SlotState {
  const failures = state.replicas[at]?.failures ?? 0;
  const kind = failures >= circuitFailures ? 'FAILED' : 'BACKOFF';
  const phase: Phase = backoffUntilMs > context.nowMs ? { kind, untilMs: backoffUntilMs } : { kind: 'COLD' };
  return withReplica(state, at, { phase, engine: null });
}

/**
 * Responds to waiters that cannot wait until an engine is ready; `renewed`: their wait starts now,
 * because an engine was lost (Q2).
 */
export function reschedule(
  state: SlotState,
  renewed: boolean,
  { nowMs, config, effects: out }: ReducerContext,
): SlotState {
  if (state.queue.size === 0 || state.replicas.some((replica) => isIn(replica, 'READY'))) return state;
  let dueMs = never;
  const queue = rework(state.queue, (waiter) => {
    if (!worthWaiting(state, waiter.coldWaitMs, nowMs, config)) {
      out.push(refusal(state, waiter.id, nowMs, config));
      return null;
    }
    const deadlineMs = renewed ? nowMs + waiter.coldWaitMs : waiter.deadlineMs;
    dueMs = Math.min(dueMs, deadlineMs);
    return { ...waiter, deadlineMs };
  });
  return { ...state, queue, dueMs };
}

/** Responds to all waiters and stops all engines; nothing starts any more. */
export function shut(state: SlotState, context: ReducerContext): SlotState {
  for (const { id } of everyone(state.queue)) context.effects.push({ kind: 'refuse', id, retryAfterSec: 1 });
  let next: SlotState = { ...state, queue: emptyQueue, target: false, closed: true };
  for (const [at, replica] of state.replicas.entries()) {
    const { phase } = replica;
    if (phase.kind === 'STOPPING' || phase.kind === 'RECLAIMING')
      next = withReplica(next, at, { phase: { ...phase, backoffUntilMs: context.nowMs } });
    else if (isIn(replica, 'COLD', 'BACKOFF', 'FAILED') || (isIn(replica, 'ADMITTING') && !isAsleep(replica)))
      next = withReplica(next, at, { phase: { kind: 'COLD' } });
    else next = halt(next, at, slotReason('closed'), context);
    next = loseLeases(next, at, context);
  }
  return next;
}

/** Moves to STOPPING after a failure; the leader has exited, so the rest of the group is killed. */
function collapse(
  state: SlotState,
  at: number,
  reason: string,
  exited: boolean,
  waitMs: number,
  context: ReducerContext,
): SlotState {
  const { nowMs, config, effects: out } = context;
  out.push({ kind: exited ? 'kill' : 'terminate', epoch: state.replicas[at]?.epoch ?? 0 });
  const killAtMs = exited ? never : nowMs + config.graceMs;
  const phase = { kind: 'STOPPING', killAtMs, backoffUntilMs: nowMs + waitMs } as const;
  const next = withReplica(state, at, { phase, reason });
  return config.external ? next : loseLeases(next, at, context);
}

function loseLeases(state: SlotState, at: number, { effects: out }: ReducerContext): SlotState {
  const replica = state.replicas[at];
  if (replica === undefined || replica.leases.length === 0) return state;
  for (const id of replica.leases) out.push({ kind: 'lose', id, reason: replica.reason });
  return withReplica(state, at, { leases: [] });
}

/**
 * 1, 2, 4, 8 s by the failures of a start; from the fifth failure on the circuit's own time,
 * doubled each time.
 */
function delayMs(failures: number, doublings: number, { circuitMs }: SlotConfig): number {
  if (failures < circuitFailures) return 1000 * 2 ** (doublings - 1);
  return Math.min(
    Math.max(circuitMs, circuitMaxMs),
    circuitMs * 2 ** Math.min(20, failures - circuitFailures),
  );
}
