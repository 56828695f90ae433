import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, isRecent } from '../time/clock.ts';
import { codeOf } from './errors.ts';
import { identify, type ProcessIdentity, worksIn } from './process-identity.ts';
import type { Environment } from './run-command.ts';
import type { ServerUser } from './server-user.ts';

/**
 * The contents of `postmaster.pid`, which the postmaster writes. We read that file and never write
 * it.
 */
export interface PidFile {
  readonly pid: number;
  readonly port: number;
  readonly socketDir: string;
  /** `starting` is also recovery; the empty string is a postmaster that has only just begun. */
  readonly status: string;
}

/**
 * The user of a cluster: a live postmaster, or none. Then `stalePid` is the pid in an old pid file,
 * if there is one.
 */
export type RunningServer =
  | { readonly kind: 'postmaster'; readonly identity: ProcessIdentity }
  | { readonly kind: 'none'; readonly stalePid: number | null };

/**
 * The pid file of a cluster; null when there is none. Throws the file system's error when it may
 * not be read.
 */
export function readPidFile(clusterDir: string): PidFile | null {
  let text: string;
  try {
    text = readFileSync(join(clusterDir, 'postmaster.pid'), 'utf8');
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return null;
    throw thrown;
  }
  const [pid, , , port, socketDir, , , status] = text.split('\n');
  return {
    pid: Number.parseInt(pid ?? '', 10),
    port: Number.parseInt(port ?? '', 10),
    socketDir: socketDir ?? '',
    status: (status ?? '').trim(),
  };
}

/** A postmaster writes its pid in the moment in which it creates the file. */
const emptyForMs = 10_000;

/**
 * Removes a pid file that has been empty for 10 s: its postmaster died while creating it, and
 * PostgreSQL would never start beside it. An empty file protects nothing; PostgreSQL's interlock in
 * shared memory does, and stays in force.
 */
export function removeEmptyPidFile(clusterDir: string, clock: Clock): void {
  const path = join(clusterDir, 'postmaster.pid');
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.size === 0 && !isRecent(found.mtimeMs, clock.now(), emptyForMs)) rmSync(path, { force: true });
}

/**
 * Distinguishes a postmaster of this cluster from another process that has the pid of a dead one.
 * PostgreSQL itself cannot: it would refuse to start as long as that process runs.
 */
export async function findRunningServer(
  clusterDir: string,
  user: ServerUser | null,
  env: Environment,
): Promise<RunningServer> {
  const file = readPidFile(clusterDir);
  if (file === null || !(file.pid > 0)) return { kind: 'none', stalePid: null };
  const identity = await identify(file.pid, env);
  const isPostmaster =
    identity !== null &&
    identity.program === 'postgres' &&
    (await worksIn(file.pid, clusterDir, user, env)) !== false;
  return isPostmaster ? { kind: 'postmaster', identity } : { kind: 'none', stalePid: file.pid };
}
