import { retryAfterSec, worthWaiting } from './estimate.ts';
import { withStart } from './history.ts';
import { emptyQueue, everyone, rework } from './queue.ts';
import type { SlotConfig, SlotEffect, SlotState } from './state.ts';

/** The grace that is left to a stopping engine once somebody waits for its successor (design.md, X3). */
export const hurryMs = 1000;

/** An engine that was ready for this long and then fell over is not one that falls over at once. */
const stableMs = 60_000;
const backoffMaxMs = 60_000;

/** Starts in a row that may meet a stranger on their port before it counts as a failure. */
const collisionsMax = 5;

/** What a transition gets to work with; it adds to `out` what the shell has to do. */
export interface Turn {
  readonly nowMs: number;
  readonly config: SlotConfig;
  readonly out: SlotEffect[];
}

/** Starts the engine: a new epoch. */
export function begin(state: SlotState, { nowMs, out }: Turn): SlotState {
  const epoch = state.epoch + 1;
  out.push({ kind: 'spawn', epoch });
  const phase = { kind: 'STARTING', startedMs: nowMs, probeAtMs: Number.POSITIVE_INFINITY } as const;
  return { ...state, phase, epoch, engine: null, wanted: false, reason: 'asked for' };
}

/** The engine serves. */
export function succeed(state: SlotState, startedMs: number, { nowMs, out }: Turn): SlotState {
  const history = withStart(state.history, nowMs - startedMs);
  out.push({ kind: 'remember', history });
  const phase = { kind: 'READY', readyMs: nowMs, idleSinceMs: Number.POSITIVE_INFINITY } as const;
  return { ...state, phase, history, wanted: false, collisions: 0, reason: 'ready' };
}

/** Stops an engine that did nothing wrong: whoever waits gets its successor. */
export function halt(state: SlotState, reason: string, turn: Turn): SlotState {
  const { nowMs, config, out } = turn;
  out.push({ kind: 'terminate', epoch: state.epoch });
  const awaited = state.wanted || state.queue.size > 0;
  const killAtMs = nowMs + (awaited ? Math.min(hurryMs, config.graceMs) : config.graceMs);
  const phase = { kind: 'STOPPING', killAtMs, backoffUntilMs: nowMs } as const;
  return loseLeases({ ...state, phase, failures: 0, reason }, turn);
}

/** The start came to nothing: everybody is told, and nobody tries again for a while. */
export function failStart(state: SlotState, reason: string, exited: boolean, turn: Turn): SlotState {
  const failures = state.failures + 1;
  const failed = { ...state, failures, collisions: 0, wanted: false };
  return rejudge(collapse(failed, reason, exited, backoffMs(failures), turn), turn);
}

/** A ready engine is gone without having been asked to go. The first time it is started again at once. */
export function crash(state: SlotState, readyMs: number, reason: string, turn: Turn): SlotState {
  const failures = (turn.nowMs - readyMs >= stableMs ? 0 : state.failures) + 1;
  const crashed = { ...state, failures, wanted: state.queue.size > 0 };
  const delayMs = failures === 1 ? 0 : backoffMs(failures - 1);
  return rejudge(collapse(crashed, reason, true, delayMs, turn), turn);
}

/** Somebody else has the port of this start: the next one takes another, and the waiters stay. */
export function collide(state: SlotState, exited: boolean, turn: Turn): SlotState {
  const reason = 'a stranger had the port of the start';
  if (state.collisions + 1 >= collisionsMax) return failStart(state, reason, exited, turn);
  const collided = { ...state, collisions: state.collisions + 1, wanted: true };
  return collapse(collided, reason, true, 0, turn);
}

/** Lets the waiters' patience begin now, and answers those whom it would not carry to a ready engine. */
export function rejudge(state: SlotState, { nowMs, config, out }: Turn): SlotState {
  const retryAfter = retryAfterSec(state, nowMs, config);
  let dueMs = Number.POSITIVE_INFINITY;
  const queue = rework(state.queue, (waiter) => {
    if (!worthWaiting(state, waiter.coldWaitMs, nowMs, config)) {
      out.push({ kind: 'refuse', id: waiter.id, retryAfterSec: retryAfter });
      return null;
    }
    const deadlineMs = nowMs + waiter.coldWaitMs;
    dueMs = Math.min(dueMs, deadlineMs);
    return { ...waiter, deadlineMs };
  });
  return { ...state, queue, dueMs };
}

/** Answers everybody and stops whatever runs; nothing begins any more. */
export function shut(state: SlotState, turn: Turn): SlotState {
  for (const { id } of everyone(state.queue)) turn.out.push({ kind: 'refuse', id, retryAfterSec: 1 });
  const alone = { ...state, queue: emptyQueue, wanted: false, closed: true };
  switch (state.phase.kind) {
    case 'COLD':
    case 'BACKOFF':
      return loseLeases({ ...alone, phase: { kind: 'COLD' } }, turn);
    case 'STOPPING':
      return loseLeases({ ...alone, phase: { ...state.phase, backoffUntilMs: turn.nowMs } }, turn);
    case 'STARTING':
    case 'READY':
    case 'DRAINING':
      return halt(alone, 'closed', turn);
  }
}

/** To STOPPING after something went wrong; what has exited is past asking, so the rest of its group is killed. */
function collapse(state: SlotState, reason: string, exited: boolean, delayMs: number, turn: Turn): SlotState {
  const { nowMs, config, out } = turn;
  out.push({ kind: exited ? 'kill' : 'terminate', epoch: state.epoch });
  const killAtMs = exited ? Number.POSITIVE_INFINITY : nowMs + config.graceMs;
  const phase = { kind: 'STOPPING', killAtMs, backoffUntilMs: nowMs + delayMs } as const;
  return config.external ? { ...state, phase, reason } : loseLeases({ ...state, phase, reason }, turn);
}

function loseLeases(state: SlotState, { out }: Turn): SlotState {
  for (const id of state.leases) out.push({ kind: 'lose', id });
  return { ...state, leases: [] };
}

function backoffMs(failures: number): number {
  return Math.min(backoffMaxMs, 1000 * 2 ** (failures - 1));
}
