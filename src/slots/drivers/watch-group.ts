import { type Clock, pause } from '../../time/clock.ts';
import { groupMembers } from './process-table.ts';
import type { Processes } from './processes.ts';

/** A stopping group, and how to look at what belongs to it. */
export interface EndingGroup {
  readonly pgid: number;
  readonly processes: Processes;
  readonly clock: Clock;
  readonly guardPid: () => number | null;
  readonly leaderEnded: () => boolean;
  /** Whether the time for asking is over. */
  readonly forced: () => boolean;
  readonly releaseGuard: () => void;
  /** Called once when SIGKILL has not emptied the group for ten seconds. */
  readonly onOverdue: () => void;
}

const overdueMs = 10_000;

/**
 * Asks a process group to end and resolves when it was seen empty. SIGTERM first; SIGKILL as soon as `forced`, or when nobody but
 * the guard is left. There is no limit: a slot whose engine cannot be killed cannot be started again (design.md, X2).
 */
export async function watchGroupEnd(group: EndingGroup): Promise<void> {
  const { pgid, processes, clock } = group;
  // Timers of the clock do not keep Naru alive; an engine that is still to be seen dead does.
  const alive = setInterval(() => {}, 1_000_000);
  const never = new AbortController().signal;
  try {
    if (!group.forced()) processes.kill(-pgid, 'SIGTERM');
    let waitMs = 10;
    while (!group.forced() && !(await onlyGuardLeft(group))) {
      await pause(clock, waitMs, never);
      waitMs = Math.min(waitMs * 1.5, 100);
    }
    let overdueAtMs = clock.monotonic() + overdueMs;
    group.releaseGuard();
    waitMs = 5;
    while (processes.kill(-pgid, 'SIGKILL') && !(await everyMember(pgid, () => false))) {
      if (clock.monotonic() >= overdueAtMs) {
        group.onOverdue();
        overdueAtMs = Number.POSITIVE_INFINITY;
      }
      await pause(clock, waitMs, never);
      waitMs = Math.min(waitMs * 1.5, 200);
    }
  } finally {
    clearInterval(alive);
  }
}

async function onlyGuardLeft({ pgid, guardPid, leaderEnded }: EndingGroup): Promise<boolean> {
  if (!leaderEnded()) return false;
  const guard = guardPid();
  return everyMember(pgid, (pid) => pid === guard);
}

/** False also when nobody could look: then nothing is known, and the next look is soon. */
async function everyMember(pgid: number, holds: (pid: number) => boolean): Promise<boolean> {
  try {
    return (await groupMembers(pgid)).every(holds);
  } catch {
    return false;
  }
}
