import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { hasProc, parseStat } from '../../store/process-identity.ts';

/**
 * The pids in a process group without zombies, which hold nothing and which some containers never
 * reap. Throws when they cannot be read.
 */
export async function groupMembers(pgid: number): Promise<readonly number[]> {
  if (!hasProc()) return groupMembersByPs(pgid);
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(pids.map(async (pid) => parseStat(await readOr(`/proc/${pid}/stat`, ''))));
  return stats.flatMap((stat) =>
    stat !== null && stat.pgid === pgid && stat.state !== 'Z' ? [stat.pid] : [],
  );
}

/** The same by `ps`, where there is no /proc. */
export async function groupMembersByPs(pgid: number): Promise<readonly number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,pgid=,stat=']);
  const rows = stdout.split('\n').map((line) => line.trim().split(/\s+/));
  return rows.flatMap(([pid, group, state]) =>
    Number(group) === pgid && !state?.startsWith('Z') ? [Number(pid)] : [],
  );
}

async function readOr(path: string, otherwise: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    if (isGone(thrown)) return otherwise;
    throw thrown;
  }
}

/**
 * The process exited during the read. Any other error, such as a full table of open files, must not
 * count as "no process".
 */
function isGone(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && (thrown.code === 'ENOENT' || thrown.code === 'ESRCH');
}
