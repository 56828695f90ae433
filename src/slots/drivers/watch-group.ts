import { type Clock, pause } from '../../time/clock.ts';
import { groupMembers } from './process-table.ts';
import type { Processes } from './processes.ts';

/** A stopping group, and how to check its processes. */
export interface EndingGroup {
  readonly pgid: number;
  readonly processes: Processes;
  readonly clock: Clock;
  readonly guardPid: () => number | null;
  readonly leaderEnded: () => boolean;
  /** Whether the grace is over. */
  readonly forced: () => boolean;
  readonly releaseGuard: () => void;
  /** Called once when the group is not empty ten seconds after SIGKILL. */
  readonly onOverdue: () => void;
}

const overdueMs = 10_000;

/**
 * Stops a process group and resolves when it was seen empty. Sends SIGTERM first, and SIGKILL as
 * soon as `forced`, or when only the guard is left. There is no limit: a slot whose engine cannot
 * be killed cannot be started again (design.md, X2).
 */
export async function watchGroupEnd(group: EndingGroup): Promise<void> {
  const { pgid, processes, clock } = group;
  // The clock's timers do not keep Naru alive; an engine that is still running must.
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

/** False also when the members cannot be read: the next check is soon. */
async function everyMember(pgid: number, isCounted: (pid: number) => boolean): Promise<boolean> {
  try {
    return (await groupMembers(pgid)).every(isCounted);
  } catch {
    return false;
  }
}
