import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, isRecent } from '../time/clock.ts';
import { codeOf } from './errors.ts';

/**
 * The contents of `postmaster.pid`, which the postmaster writes. We read that file and never write
 * it.
 */
export interface PidFile {
  readonly pid: number;
  /** The cluster of that postmaster: another one when the file was copied with its folder. */
  readonly clusterDir: string;
  readonly port: number;
  readonly socketDir: string;
  /** `starting` is also recovery; the empty string is a postmaster that has only just begun. */
  readonly status: string;
}

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
  const [pid, dir, , port, socketDir, , , status] = text.split('\n');
  return {
    pid: Number.parseInt(pid ?? '', 10),
    clusterDir: dir ?? '',
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
