import { expectedStartMs } from '../history.ts';
import { applicationMs, type Replica, type SlotConfig, type SlotEffect, type SlotState } from './state.ts';

/** The estimate of a replica: when it is ready, and whether a request should wait for that. */
interface Outlook {
  /** The best replica of a slot has the lowest rank, then the least time left. */
  readonly rank: number;
  readonly leftMs: number;
  /** Until when nothing can come of it; infinite: not worth a wait (design.md, E3, E4 and R6). */
  readonly surelyMs: number;
}

const never = Number.POSITIVE_INFINITY;

/** Consecutive failures that open the circuit (design.md, X6). */
export const circuitFailures = 5;

/** Estimated time to stop the engine that occupies the memory. */
const stopGuessMs = 1000;

/** The rank of a replica that may not start yet. */
const backingOff = 2;

/** The slot's best estimate, from its own history. */
function outlook(state: SlotState, nowMs: number, config: SlotConfig): Outlook {
  let best: Outlook | null = null;
  for (const replica of state.replicas) {
    const one = outlookOf(replica, state, nowMs, config);
    // No replica starts before the last back-off is over.
    const isSooner =
      one.rank === backingOff ? one.leftMs > (best?.leftMs ?? 0) : one.leftMs < (best?.leftMs ?? 0);
    if (best === null || one.rank < best.rank || (one.rank === best.rank && isSooner)) best = one;
  }
  return best ?? { rank: 9, leftMs: 0, surelyMs: never };
}

function outlookOf({ phase }: Replica, state: SlotState, nowMs: number, config: SlotConfig): Outlook {
  const startMs = expectedStartMs(state.history, config.startBudgetMs);
  // The duration of a first start is unknown: it may be a fast one.
  const surelyMs = state.history.length === 0 ? 0 : startMs;
  const left = (untilMs: number): number => Math.max(0, untilMs - nowMs);
  switch (phase.kind) {
    case 'READY':
      return { rank: 0, leftMs: 0, surelyMs: 0 };
    case 'STARTING':
    case 'WARMING': {
      const dueMs = phase.startedMs + startMs;
      const leftMs = left(dueMs);
      const overdueMs = Math.max(0, nowMs - dueMs);
      return {
        rank: 1,
        leftMs,
        surelyMs: overdueMs > 0 ? overdueMs : state.history.length === 0 ? 0 : leftMs,
      };
    }
    case 'ADMITTING': {
      const roomMs = left(phase.roomAtMs) + stopGuessMs;
      if (phase.asleep) return { rank: 1, leftMs: roomMs + state.wakeMs, surelyMs: roomMs + state.wakeMs };
      return { rank: 1, leftMs: roomMs + startMs, surelyMs: roomMs + surelyMs };
    }
    case 'SLEEPING': {
      const leftMs = phase.step === 'waking' ? left(phase.sinceMs + state.wakeMs) : state.wakeMs;
      return { rank: 1, leftMs, surelyMs: leftMs };
    }
    case 'BACKOFF':
    case 'FAILED':
      return { rank: backingOff, leftMs: left(phase.untilMs), surelyMs: never };
    case 'STOPPING':
    case 'RECLAIMING':
      if (phase.backoffUntilMs > nowMs)
        return { rank: backingOff, leftMs: left(phase.backoffUntilMs), surelyMs: never };
      return { rank: 3, leftMs: startMs, surelyMs };
    case 'COLD':
    case 'DRAINING':
      return { rank: 3, leftMs: startMs, surelyMs };
  }
}

/** Whether a request that would wait `coldWaitMs` from now on should wait (design.md, E2 to E4). */
export function worthWaiting(
  state: SlotState,
  coldWaitMs: number,
  nowMs: number,
  config: SlotConfig,
): boolean {
  const { rank, surelyMs } = outlook(state, nowMs, config);
  return rank === 0 || (coldWaitMs > 0 && surelyMs <= coldWaitMs);
}

/**
 * Whole seconds, at least 1, after which a retry makes sense: falls as the start or the back-off
 * progresses.
 */
export function retryAfterSec(state: SlotState, nowMs: number, config: SlotConfig): number {
  // Monotonic time has a fraction: without the rounding, one second is sometimes 1000.0000000001
  // ms, and becomes two.
  const leftMs = Math.min(maxMs, Math.round(outlook(state, nowMs, config).leftMs));
  return Math.max(1, Math.ceil(leftMs / 1000));
}

/**
 * The response to a request that is not served: the wait, or the failure of an engine whose circuit is
 * open (design.md, X6).
 */
export function refusal(state: SlotState, id: number, nowMs: number, config: SlotConfig): SlotEffect {
  const broken = state.replicas.find(({ failures }) => failures >= circuitFailures);
  if (broken !== undefined && !state.closed && outlook(state, nowMs, config).rank === backingOff)
    return { kind: 'fail', id, reason: broken.reason };
  return { kind: 'refuse', id, retryAfterSec: retryAfterSec(state, nowMs, config) };
}

/** A day: the upper bound of a plausible value. */
const maxMs = 86_400_000;

/** The time of the slot's next tick, when it must act without an event; infinite for never. */
export function wakeAtMs(state: SlotState, config: SlotConfig): number {
  const isReady = state.replicas.some(({ phase }) => phase.kind === 'READY');
  let atMs = state.queue.size > 0 && !isReady ? state.dueMs : never;
  if (state.retiringUntilMs !== null) atMs = Math.min(atMs, state.retiringUntilMs);
  for (const { phase } of state.replicas) {
    atMs = Math.min(atMs, replicaWakeAtMs(phase, config));
    if (phase.kind === 'ADMITTING' && state.queue.size === 0)
      atMs = Math.min(atMs, Math.max(phase.sinceMs, state.requestedAtMs) + applicationMs);
  }
  return atMs;
}

function replicaWakeAtMs(phase: Replica['phase'], config: SlotConfig): number {
  switch (phase.kind) {
    case 'COLD':
    case 'ADMITTING':
      return never;
    case 'READY':
      return Math.min(phase.checkAtMs, config.idleStopMs > 0 ? phase.idleSinceMs + config.idleStopMs : never);
    case 'STARTING':
      return Math.min(phase.probeAtMs, phase.startedMs + config.startBudgetMs);
    case 'SLEEPING':
      return phase.step === 'asleep' ? never : phase.untilMs;
    case 'STOPPING':
      return phase.killAtMs;
    case 'WARMING':
    case 'DRAINING':
    case 'RECLAIMING':
    case 'BACKOFF':
    case 'FAILED':
      return phase.untilMs;
  }
}
