import { execFile } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';
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

/**
 * The owner of the listener that a connection to 127.0.0.1:`port` reaches: only processes of the
 * group, another process too, or none. `ours` also where this cannot be determined.
 */
export async function portOwner(port: number, pgid: number): Promise<'ours' | 'foreign' | 'none'> {
  if (!hasProc()) return 'ours';
  const tables = [await readOr('/proc/net/tcp', ''), await readOr('/proc/net/tcp6', '')];
  const inodes = new Set(tables.flatMap((table) => listeningInodes(table, port)));
  if (inodes.size === 0) return 'none';
  for (const pid of await groupMembers(pgid)) {
    let names: readonly string[];
    try {
      names = await readdir(`/proc/${pid}/fd`);
    } catch (thrown) {
      // An engine that hides its files cannot be told apart from others; one that has just exited
      // has none.
      if (thrown instanceof Error && 'code' in thrown && thrown.code === 'EACCES') return 'ours';
      if (isGone(thrown)) continue;
      throw thrown;
    }
    const links = await Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')));
    for (const link of links) inodes.delete(/^socket:\[(\d+)\]$/.exec(link)?.[1] ?? '');
  }
  return inodes.size === 0 ? 'ours' : 'foreign';
}

/**
 * Addresses in the kernel's notation that a connection to 127.0.0.1 may reach: that one, any, and
 * both in IPv6.
 */
const reachable = new Set([
  '0100007F',
  '00000000',
  '0'.repeat(32),
  '0000000000000000FFFF00000100007F',
  '0000000000000000FFFF000000000000',
]);

function listeningInodes(table: string, port: number): readonly string[] {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0');
  return table.split('\n').flatMap((line) => {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
    const [address, localPort] = local?.split(':') ?? [];
    const listens = state === '0A' && localPort === hexPort && reachable.has(address ?? '');
    return listens && inode !== undefined ? [inode] : [];
  });
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
