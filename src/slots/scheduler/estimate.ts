import { expectedStartMs } from '../history.ts';
import { applicationMs, type Replica, type SlotConfig, type SlotState } from './state.ts';

/** What may be hoped of a replica: when it is ready, and whether anybody may wait for that. */
interface Outlook {
  /** The best replica of a slot is the one with the lowest rank, then with the least time left. */
  readonly rank: number;
  readonly leftMs: number;
  /** For how long at least nothing is certain to come of it; infinite: not worth a wait (design.md, E3, E4 and R6). */
  readonly surelyMs: number;
}

const never = Number.POSITIVE_INFINITY;

/** What it takes to stop whoever has the memory. */
const stopGuessMs = 1000;

/** The slot's best outlook, from its own history. */
function outlook(state: SlotState, nowMs: number, config: SlotConfig): Outlook {
  let best: Outlook | null = null;
  for (const replica of state.replicas) {
    const one = outlookOf(replica, state, nowMs, config);
    if (best === null || one.rank < best.rank || (one.rank === best.rank && one.leftMs < best.leftMs))
      best = one;
  }
  return best ?? { rank: 9, leftMs: 0, surelyMs: never };
}

function outlookOf({ phase }: Replica, state: SlotState, nowMs: number, config: SlotConfig): Outlook {
  const startMs = expectedStartMs(state.history, config.startBudgetMs);
  // Of a first start nothing is known: it may be a fast one.
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
      return { rank: 2, leftMs: left(phase.untilMs), surelyMs: never };
    case 'STOPPING':
    case 'RECLAIMING':
      if (phase.backoffUntilMs > nowMs)
        return { rank: 2, leftMs: left(phase.backoffUntilMs), surelyMs: never };
      return { rank: 3, leftMs: startMs, surelyMs };
    case 'COLD':
    case 'DRAINING':
      return { rank: 3, leftMs: startMs, surelyMs };
  }
}

/** Whether a request that would wait `coldWaitMs` from now on should (design.md, E2 to E4). */
export function worthWaiting(
  state: SlotState,
  coldWaitMs: number,
  nowMs: number,
  config: SlotConfig,
): boolean {
  const { rank, surelyMs } = outlook(state, nowMs, config);
  return rank === 0 || (coldWaitMs > 0 && surelyMs <= coldWaitMs);
}

/** Whole seconds, at least 1, after which asking again makes sense: falls as the start or the back-off goes on. */
export function retryAfterSec(state: SlotState, nowMs: number, config: SlotConfig): number {
  // Monotonic time has a fraction: without the rounding, a second from now is at times 1000.0000000001 ms away, hence two.
  const leftMs = Math.min(maxMs, Math.round(outlook(state, nowMs, config).leftMs));
  return Math.max(1, Math.ceil(leftMs / 1000));
}

/** A day: nobody believes more. */
const maxMs = 86_400_000;

/** When the slot has something to do although nothing happens to it: the time of the next tick; infinite for never. */
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
