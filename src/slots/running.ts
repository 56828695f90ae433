import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { OperatorError } from '../errors/operator-error.ts';
import type { Log } from '../log/log.ts';
import { identify, type ProcessIdentity, stillRuns } from '../store/process-identity.ts';
import { type Clock, pause } from '../time/clock.ts';
import { groupMembers } from './drivers/process-table.ts';
import type { Processes } from './drivers/processes.ts';

/** The stored record of a running engine, for a later Naru that must stop it (design.md, O3). */
interface Running {
  readonly owner: ProcessIdentity;
  /** The pid of the leader is the group's. */
  readonly leader: ProcessIdentity;
  readonly guard: ProcessIdentity | null;
}

/** A group that survives SIGKILL for this long is stuck in the kernel. */
const sweepLimitMs = 10_000;

/**
 * How long a running owner may take to exit before it counts as alive: a killed process closes its
 * files, which ends its engines, some milliseconds before it is gone itself.
 */
const ownerEndMs = 1_000;

/**
 * Records that `leaderPid` leads an engine's group; does nothing where processes cannot be
 * identified.
 */
export function recordRunning(dir: string, leaderPid: number, guardPid: number | null): void {
  const owner = identify('self');
  const leader = identify(leaderPid);
  if (owner === null || leader === null) return;
  const running: Running = { owner, leader, guard: guardPid === null ? null : identify(guardPid) };
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  writeFileSync(join(dir, 'running.json'), `${JSON.stringify(running)}\n`, { mode: 0o600 });
}

/** Removes the record. */
export function forgetRunning(dir: string): void {
  rmSync(join(dir, 'running.json'), { force: true });
}

/**
 * The folders below `root`, to the second level, with the record of an engine: of removed and of
 * current slots.
 */
export function foldersWithRecords(root: string): readonly string[] {
  return globSync(['*/running.json', '*/*/running.json'], { cwd: root }).map((file) =>
    join(root, dirname(file)),
  );
}

/**
 * Kills what an earlier Naru left running in `dir` and waits until it is gone. Only a group whose
 * leader or guard is provably the recorded one is touched. Throws when the Naru that wrote the
 * record is still alive, or when SIGKILL does not help.
 */
export async function stopLeftovers(
  dir: string,
  processes: Processes,
  clock: Clock,
  log: Log,
): Promise<void> {
  const running = readRunning(dir);
  if (running === null) return;
  const { owner, leader, guard } = running;
  const ended = await becomes(clock, ownerEndMs, () => !stillRuns(owner));
  if (!ended)
    throw new OperatorError(
      `the Naru that started the engine of ${dir} still runs, pid ${owner.pid}: stop it first; if this is a copy of its data directory, delete ${join(dir, 'running.json')}`,
    );
  if (stillRuns(leader) || (guard !== null && stillRuns(guard))) {
    log.warn('slot.leftover_killed', { dir, pgid: leader.pid });
    processes.kill(-leader.pid, 'SIGKILL');
    const gone = await becomes(
      clock,
      sweepLimitMs,
      async () => (await groupMembers(leader.pid)).length === 0,
    );
    if (!gone) throw new Error(`process group ${leader.pid} of ${dir} survives SIGKILL`);
  }
  forgetRunning(dir);
}

/** Whether `condition` becomes true within `limitMs`; checked at once, and then every 20 ms. */
async function becomes(
  clock: Clock,
  limitMs: number,
  condition: () => boolean | Promise<boolean>,
): Promise<boolean> {
  const untilMs = clock.monotonic() + limitMs;
  while (!(await condition())) {
    if (clock.monotonic() > untilMs) return false;
    await pause(clock, 20, new AbortController().signal);
  }
  return true;
}

/** Parses a file that another process wrote, possibly while it was killed. */
function readRunning(dir: string): Running | null {
  try {
    const parsed: unknown = JSON.parse(readFileSync(join(dir, 'running.json'), 'utf8'));
    if (typeof parsed !== 'object' || parsed === null) return null;
    const owner = 'owner' in parsed ? parseIdentity(parsed.owner) : null;
    const leader = 'leader' in parsed ? parseIdentity(parsed.leader) : null;
    const guard = 'guard' in parsed ? parseIdentity(parsed.guard) : null;
    return owner === null || leader === null ? null : { owner, leader, guard };
  } catch {
    return null;
  }
}

function parseIdentity(value: unknown): ProcessIdentity | null {
  if (typeof value !== 'object' || value === null || !('pid' in value) || !('born' in value)) return null;
  const { pid, born } = value;
  return typeof pid === 'number' && pid > 1 && typeof born === 'string' ? { pid, born } : null;
}
