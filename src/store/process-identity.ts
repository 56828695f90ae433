import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readlinkSync } from 'node:fs';

/**
 * A process that cannot be confused with a later one with the same pid: `born` is the boot and the
 * tick of its start.
 */
export interface ProcessIdentity {
  readonly pid: number;
  readonly born: string;
}

/** Whether this machine has /proc (Linux); elsewhere `ps` provides the few facts needed. */
export function hasProc(): boolean {
  return existsSync('/proc/self/stat');
}

/**
 * The identity of a running process, or of this one; null when it is not running, is a zombie, or
 * the machine reports neither.
 */
export function identify(pid: number | 'self'): ProcessIdentity | null {
  try {
    return hasProc() ? identifyByProc(pid) : identifyByPs(pid);
  } catch {
    return null;
  }
}

/** Whether exactly this process is still running. */
export function stillRuns({ pid, born }: ProcessIdentity): boolean {
  return identify(pid)?.born === born;
}

/** The needed fields of /proc/PID/stat; the name before them may contain spaces and brackets. */
export function parseStat(
  text: string,
): { pid: number; state: string; pgid: number; startTicks: string } | null {
  const end = text.lastIndexOf(')');
  if (end < 0) return null;
  const fields = text.slice(end + 2).split(' ');
  const [state, , pgid] = fields;
  return {
    pid: Number.parseInt(text, 10),
    state: state ?? '',
    pgid: Number(pgid),
    startTicks: fields[19] ?? '',
  };
}

/** The boot of this machine and its namespace of process ids; null where it has no /proc. */
export function processSpace(): string | null {
  try {
    return `${bootId()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return null;
  }
}

function identifyByProc(pid: number | 'self'): ProcessIdentity | null {
  const stat = parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  if (stat === null || stat.state === 'Z' || stat.state === 'X') return null;
  return { pid: stat.pid, born: `${bootId()}:${stat.startTicks}` };
}

function identifyByPs(pid: number | 'self'): ProcessIdentity | null {
  if (pid === 'self') return null;
  const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  const [, state, born] = /^(\S+)\s+(.+)$/.exec(line) ?? [];
  return born === undefined || state?.startsWith('Z') === true ? null : { pid, born };
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}
