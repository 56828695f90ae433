import { statSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from './errors.ts';
import { readPidFile } from './pid-file.ts';
import type { ClusterContext, Running } from './postmaster.ts';

const lookEveryMs = 1_000;

/**
 * Resolves with the reason when a running server accepts no new connections and never will again.
 * Does not resolve when the server ends or `signal` aborts first. This is the case after SIGTERM: a
 * smart shutdown waits for the open sessions, and ours stay. It is also the case when the socket or
 * pid file was deleted: clients cannot find the server.
 */
export function lockoutOf(context: ClusterContext, running: Running, signal: AbortSignal): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const { host, port } = running.connection;
  const socketPath = join(host, `.s.PGSQL.${port}`);
  const socket = inodeOf(socketPath);
  let isOver = signal.aborted;
  const look = (): void => {
    if (isOver) return;
    const reason = reasonNow();
    if (reason === null) timer = context.clock.after(lookEveryMs, look);
    else resolve(reason);
  };
  const reasonNow = (): string | null => {
    try {
      const file = readPidFile(context.clusterDir);
      if (file?.pid !== running.pid) return 'its pid file was deleted or replaced';
      if (file.status === 'stopping') return 'it is shutting down, and not by Naru';
      const inode = inodeOf(socketPath);
      // It may have been deleted before the first check.
      return inode !== null && inode === socket ? null : `its socket ${socketPath} was deleted or replaced`;
    } catch {
      // A file that cannot be read for the moment is no reason to restart a server.
      return null;
    }
  };
  let timer = context.clock.after(lookEveryMs, look);
  const end = (): void => {
    isOver = true;
    timer.cancel();
  };
  signal.addEventListener('abort', end, { once: true });
  void running.ended.then(end);
  return promise;
}

/** The inode of a socket; null when there is none. */
function inodeOf(path: string): number | null {
  try {
    const found = statSync(path);
    return found.isSocket() ? found.ino : null;
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return null;
    throw thrown;
  }
}
