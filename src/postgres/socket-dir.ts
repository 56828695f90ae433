import { chmodSync, chownSync, lstatSync, mkdirSync, mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { codeOf, EmbeddedError } from './errors.ts';
import { readPidFile } from './pid-file.ts';
import type { Environment } from './run-command.ts';
import type { ServerUser } from './server-user.ts';
import { isShortEnough } from './settings.ts';

/**
 * The folder for the socket: beside the cluster, or, when that path is too long for a socket, a new
 * one in a runtime folder. The postmaster records it in its pid file; one that a crashed server
 * of this cluster left there is reused.
 */
export function chooseSocketDir(
  clusterDir: string,
  uid: number,
  user: ServerUser | null,
  env: Environment,
): string {
  const beside = besideOf(clusterDir);
  if (isShortEnough(beside)) return beside;
  const file = readPidFile(clusterDir);
  const recorded = file?.clusterDir === clusterDir ? file.socketDir : '';
  if (recorded.startsWith('/') && isOwnersOnly(recorded, user?.uid ?? uid)) return recorded;
  const roots = [uid === 0 ? '/run' : env['XDG_RUNTIME_DIR'], env['TMPDIR'] ?? tmpdir(), '/tmp'];
  for (const root of roots) {
    if (root === undefined || !isShortEnough(join(root, 'naru-XXXXXX'))) continue;
    try {
      return mkdtempSync(join(root, 'naru-'));
    } catch {
      // The next one may exist and be writable.
    }
  }
  throw new EmbeddedError(
    `no folder for the socket of PostgreSQL: ${beside} is too long, and /tmp is not writable`,
  );
}

/**
 * Makes the folder if it does not exist, and gives it to the server's user: only that user and root
 * can reach the socket.
 */
export function prepareSocketDir(dir: string, user: ServerUser | null): void {
  try {
    mkdirSync(dir, { mode: 0o700 });
  } catch (thrown) {
    if (codeOf(thrown) !== 'EEXIST') throw thrown;
  }
  if (!lstatSync(dir).isDirectory()) throw new EmbeddedError(`${dir} is not a folder`);
  chmodSync(dir, 0o700);
  if (user !== null) chownSync(dir, user.uid, user.gid);
}

/** Removes a runtime folder after the server's end; one beside the cluster stays. */
export function removeSocketDir(dir: string, clusterDir: string): void {
  if (dir === besideOf(clusterDir)) return;
  try {
    rmdirSync(dir);
  } catch {
    // Leftover files in it do no harm.
  }
}

function besideOf(clusterDir: string): string {
  return join(dirname(clusterDir), 'postgres-socket');
}

function isOwnersOnly(dir: string, uid: number): boolean {
  const stat = lstatSync(dir, { throwIfNoEntry: false });
  return stat?.isDirectory() === true && stat.uid === uid && (stat.mode & 0o077) === 0;
}
