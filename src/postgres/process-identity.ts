import { existsSync, readFileSync, type Stats, statSync } from 'node:fs';
import { basename } from 'node:path';
import { type Environment, runCommand } from './run-command.ts';
import type { ServerUser } from './server-user.ts';

/** A running process. `born` distinguishes it from a later one with the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly born: string;
  /** The name of its program, without the folder. */
  readonly program: string;
}

/** The process that has this pid now; null when there is none, or only a zombie. */
export async function identify(pid: number, env: Environment = {}): Promise<ProcessIdentity | null> {
  if (existsSync('/proc/self/stat')) return identifyByProc(pid);
  const format = ['-o', 'stat=', '-o', 'lstart=', '-o', 'comm='];
  const ps = await runCommand('ps', [...format, '-p', String(pid)], { user: null, env, timeoutMs: 5_000 });
  const [, state, born, command] = /^(\S+)\s+(\S+ +\S+ +\S+ +\S+ +\S+)\s+(.*)/.exec(ps.output.trim()) ?? [];
  if (!ps.ok || born === undefined || command === undefined || state?.startsWith('Z')) return null;
  return { pid, born, program: basename(command.split(' ')[0] ?? '').replace(/:$/, '') };
}

/** Whether exactly this process still runs. */
export async function stillRuns(known: ProcessIdentity, env: Environment): Promise<boolean> {
  return (await identify(known.pid, env))?.born === known.born;
}

/**
 * Whether the working directory of a process is `dir`, as a postmaster's is its cluster; null where
 * the machine does not report it. A container's root often may not read another user's process (no
 * CAP_SYS_PTRACE), so the check runs as that user.
 */
export async function worksIn(
  pid: number,
  dir: string,
  user: ServerUser | null,
  env: Environment,
): Promise<boolean | null> {
  const link = `/proc/${pid}/cwd`;
  if (!existsSync('/proc/self/stat')) return null;
  try {
    return sameFolder(statSync(link), statSync(dir));
  } catch {
    const seen = await runCommand('readlink', [link], { user, env, timeoutMs: 5_000 });
    return seen.ok ? seen.output.trim() === dir : null;
  }
}

/** Whether two stats are of one folder, whatever paths they come from. */
export function sameFolder(a: Stats, b: Stats): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}

/**
 * The program's name in /proc/PID/stat may contain spaces and brackets; the start in clock ticks is
 * the 20th field after it.
 */
function identifyByProc(pid: number): ProcessIdentity | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const end = stat.lastIndexOf(')');
    const fields = stat.slice(end + 2).split(' ');
    if (fields[0] === 'Z' || fields[19] === undefined) return null;
    return { pid, born: `${boot}:${fields[19]}`, program: stat.slice(stat.indexOf('(') + 1, end) };
  } catch {
    return null;
  }
}
