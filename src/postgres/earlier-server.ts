import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedError } from './errors.ts';
import { readPidFile, removeEmptyPidFile } from './pid-file.ts';
import type { ClusterContext } from './postmaster.ts';
import { runCommand } from './run-command.ts';

/**
 * A server that is stopped while it recovers from the death of one of its processes waits without
 * end (seen with PostgreSQL 18). SIGQUIT only skips a checkpoint, which the next start makes up for.
 */
const fastShutdownMs = 5_000;
const quitMs = 30_000;

/**
 * Stops the server that a killed Naru left on a cluster, and what a killed server left of itself: a
 * process in a long calculation notices the death of its postmaster only at its end. Returns the pid
 * of an old pid file, null when there is none. Throws an `EmbeddedError` when they do not end.
 */
export async function stopEarlierServer(context: ClusterContext): Promise<number | null> {
  const { clusterDir, clock } = context;
  removeEmptyPidFile(clusterDir, clock);
  const file = readPidFile(clusterDir);
  if (file === null) return null;
  const beganMs = clock.monotonic();
  let sent: 'INT' | 'QUIT' | null = null;
  for (;;) {
    const left = await processesOf(context, file.pid);
    if (left.length === 0) return file.pid > 0 ? file.pid : null;
    const waitedMs = clock.monotonic() - beganMs;
    if (waitedMs > fastShutdownMs + quitMs)
      throw new EmbeddedError(
        `an earlier PostgreSQL still uses ${clusterDir} (process ${left.join(', ')}): stop it manually`,
      );
    const isServer = left.includes(file.pid) && waitedMs < fastShutdownMs;
    const signal = isServer ? 'INT' : 'QUIT';
    if (signal !== sent) await run(context, `kill -s ${signal} ${isServer ? file.pid : left.join(' ')}`);
    sent = signal;
    await sleep(20);
  }
}

/**
 * The processes of PostgreSQL that work in the cluster: a pid alone may be that of another process
 * by now. Where there is no /proc, the postmaster of the pid file if its command names the cluster.
 * They are looked for, and signalled, as the server's user, who sees its own processes and can
 * signal no others; a container's root may not see them.
 */
async function processesOf(context: ClusterContext, pid: number): Promise<readonly number[]> {
  const script = `if [ -d /proc/self ]; then
      for p in /proc/[0-9]*; do
        [ "$p/cwd" -ef "$1" ] && read -r name <"$p/comm" && [ "$name" = postgres ] && echo "\${p#/proc/}"
      done
    else
      case "$(ps -ww -o args= -p "$2")" in *"postgres -D $1 "*) echo "$2" ;; esac
    fi 2>/dev/null
    exit 0`;
  const output = await run(context, script, context.clusterDir, String(pid));
  return output.split('\n').filter(Boolean).map(Number);
}

async function run({ user, env }: ClusterContext, script: string, ...args: string[]): Promise<string> {
  const words = ['-c', script, 'naru', ...args];
  return (await runCommand('/bin/sh', words, { user, env, timeoutMs: 10_000 })).output;
}
