import { expectedStartMs } from './history.ts';
import type { SlotConfig, SlotState } from './state.ts';

/** The time until the engine is expected to be ready, from the slot's own history; 0 when it is, or is overdue. */
function expectedLeftMs(state: SlotState, nowMs: number, config: SlotConfig): number {
  const expectedMs = expectedStartMs(state.history, config.startBudgetMs);
  switch (state.phase.kind) {
    case 'READY':
      return 0;
    case 'STARTING':
      return Math.max(0, state.phase.startedMs + expectedMs - nowMs);
    case 'BACKOFF':
      return Math.max(0, state.phase.untilMs - nowMs);
    case 'STOPPING':
      return state.phase.backoffUntilMs > nowMs ? state.phase.backoffUntilMs - nowMs : expectedMs;
    case 'COLD':
    case 'DRAINING':
      return expectedMs;
  }
}

/** Whether a request that would wait `coldWaitMs` from now on should (design.md, E2 to E4). */
export function worthWaiting(
  state: SlotState,
  coldWaitMs: number,
  nowMs: number,
  config: SlotConfig,
): boolean {
  const { phase } = state;
  if (phase.kind === 'READY') return true;
  if (coldWaitMs <= 0 || phase.kind === 'BACKOFF') return false;
  if (phase.kind === 'STOPPING' && phase.backoffUntilMs > nowMs) return false;
  if (phase.kind === 'STARTING') {
    const overdueMs = nowMs - phase.startedMs - expectedStartMs(state.history, config.startBudgetMs);
    if (overdueMs > coldWaitMs) return false;
  }
  return state.history.length === 0 || expectedLeftMs(state, nowMs, config) <= coldWaitMs;
}

/** Whole seconds, at least 1, after which asking again makes sense: falls as the start or the back-off goes on. */
export function retryAfterSec(state: SlotState, nowMs: number, config: SlotConfig): number {
  // Monotonic time has a fraction: without the rounding, a second from now is at times 1000.0000000001 ms away, hence two.
  return Math.max(1, Math.ceil(Math.round(expectedLeftMs(state, nowMs, config)) / 1000));
}

/** When the slot has something to do although nothing happens to it: the time of the next tick; infinite for never. */
export function wakeAtMs(state: SlotState, config: SlotConfig): number {
  const { phase } = state;
  const dueMs = state.queue.size > 0 ? state.dueMs : Number.POSITIVE_INFINITY;
  switch (phase.kind) {
    case 'COLD':
      return Number.POSITIVE_INFINITY;
    case 'READY':
      return config.idleStopMs > 0 ? phase.idleSinceMs + config.idleStopMs : Number.POSITIVE_INFINITY;
    case 'STARTING':
      return Math.min(dueMs, phase.probeAtMs, phase.startedMs + config.startBudgetMs);
    case 'DRAINING':
      return Math.min(dueMs, phase.untilMs);
    case 'STOPPING':
      return Math.min(dueMs, phase.killAtMs);
    case 'BACKOFF':
      return Math.min(dueMs, phase.untilMs);
  }
}
