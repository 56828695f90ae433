import { setTimeout as sleep } from 'node:timers/promises';
import { readControl } from './control-file.ts';
import { EmbeddedError, embeddedError } from './errors.ts';
import { connectionIn, identifyServer } from './identity.ts';
import { findRunningServer, type PidFile, readPidFile, removeEmptyPidFile } from './pid-file.ts';
import { type ClusterContext, launchPostmaster, type Running } from './postmaster.ts';
import { type ProcessIdentity, stillRuns } from './process-identity.ts';
import { reportWhenSlow } from './progress.ts';
import { runCommand } from './run-command.ts';

/**
 * How long an earlier server may take: to recover, to respond at all, to shut down, to end after
 * SIGQUIT; its orphans to notice its death, and to end. A shutdown gets little time: a server that
 * is stopped while it recovers from the death of one of its processes waits without end (seen with
 * PostgreSQL 18). SIGQUIT only skips a checkpoint, which the next start makes up for.
 */
const maxWaitMs = {
  starting: 15 * 60_000,
  silent: 60_000,
  busy: 5_000,
  stopping: 5_000,
  quitting: 30_000,
  orphans: 500,
  occupied: 60_000,
};

/**
 * Starts the server: adopts the one that an earlier Naru left, after it has proved to be ours, or
 * waits until that one has ended and starts another. Throws an `EmbeddedError`, or the signal's
 * reason when that comes first.
 */
export async function ensureRunning(context: ClusterContext, signal: AbortSignal): Promise<Running> {
  const { clock, progress } = context;
  let occupiedSince: number | null = null;
  for (;;) {
    signal.throwIfAborted();
    const occupant = await findRunningServer(context.clusterDir, context.user, context.env);
    if (occupant.kind === 'postmaster') {
      const waiting = `waiting for the earlier PostgreSQL (process ${occupant.identity.pid})`;
      const work = adoptOrWait(context, occupant.identity, signal);
      const running = await reportWhenSlow(work, waiting, progress, clock);
      if (running !== null) return running;
      continue;
    }
    removeEmptyPidFile(context.clusterDir, clock);
    if (occupiedSince === null && !readControl(context.clusterDir).cleanlyShutDown)
      progress('PostgreSQL did not shut down cleanly: everything that was committed is being recovered');
    const work = launchPostmaster(context, occupant.stalePid, signal);
    const launch = await reportWhenSlow(work, 'waiting for PostgreSQL to be ready', progress, clock);
    if (launch.kind === 'ready') return launch.running;
    occupiedSince ??= clock.monotonic();
    if (clock.monotonic() - occupiedSince > maxWaitMs.occupied)
      throw embeddedError(`an earlier PostgreSQL still uses ${context.clusterDir}`, launch.output);
    if (clock.monotonic() - occupiedSince > maxWaitMs.orphans) await endOrphans(context);
    await sleep(100, undefined, { signal });
  }
}

/**
 * The processes of a killed postmaster end by themselves at their next check; one in a long
 * calculation does not, and keeps the cluster occupied. SIGQUIT ends it at once, as a crash would:
 * nothing committed is lost. Sent as the server's own user, who can signal no other user's
 * processes; without /proc it finds none.
 */
async function endOrphans(context: ClusterContext): Promise<void> {
  const script = `for d in /proc/[0-9]*; do
    if [ "$(readlink "$d/cwd")" = "$1" ] && [ "$(cat "$d/comm")" = postgres ]; then kill -s QUIT "\${d#/proc/}"; fi
  done 2>/dev/null`;
  const args = ['-c', script, 'naru', context.clusterDir];
  await runCommand('/bin/sh', args, { user: context.user, env: context.env, timeoutMs: 10_000 });
}

/** Null when the process has ended. It is ended when it can neither be used nor ends by itself. */
async function adoptOrWait(
  context: ClusterContext,
  earlier: ProcessIdentity,
  signal: AbortSignal,
): Promise<Running | null> {
  let since = context.clock.monotonic();
  let status = readPidFile(context.clusterDir)?.status;
  let reported: 'nothing' | 'SIGINT' | 'SIGQUIT' = 'nothing';
  while (await stillRuns(earlier, context.env)) {
    const file = readPidFile(context.clusterDir);
    const identity = file === null ? 'busy' : await identifyServer(file, context.clusterDir);
    if (file !== null && identity === 'ours') return adopted(context, earlier, file);
    if (identity === 'other')
      throw new EmbeddedError(
        `process ${earlier.pid} uses ${context.clusterDir} but does not respond as its server: stop it, and restart Naru`,
      );
    if (file?.status !== status) since = context.clock.monotonic();
    status = file?.status;
    const waitedMs = context.clock.monotonic() - since;
    const limitMs = limitOf(status);
    if (waitedMs > limitMs + maxWaitMs.quitting)
      throw new EmbeddedError(
        `an earlier PostgreSQL (process ${earlier.pid}) does not stop: stop it manually`,
      );
    if (waitedMs > limitMs && reported !== 'SIGQUIT') {
      reported = 'SIGQUIT';
      await report(context, earlier, reported);
    } else if (
      identity === 'silent' &&
      status === 'ready' &&
      waitedMs > maxWaitMs.busy &&
      reported === 'nothing'
    ) {
      reported = 'SIGINT';
      await report(context, earlier, reported);
    }
    await sleep(25, undefined, { signal });
  }
  return null;
}

function limitOf(status: string | undefined): number {
  if (status === 'starting') return maxWaitMs.starting;
  return status === 'stopping' ? maxWaitMs.stopping : maxWaitMs.silent;
}

/** A server that is not our child: its end is detected by polling. */
function adopted(context: ClusterContext, earlier: ProcessIdentity, file: PidFile): Running {
  const ended = new Promise<string>((resolve) => {
    const look = async (): Promise<void> => {
      if (await stillRuns(earlier, context.env)) context.clock.after(200, () => void look());
      else resolve(`process ${earlier.pid} is gone`);
    };
    void look();
  });
  return {
    pid: earlier.pid,
    connection: connectionIn(file.socketDir, file.port),
    ended,
    signal: (name) => void report(context, earlier, name),
  };
}

async function report(
  context: ClusterContext,
  earlier: ProcessIdentity,
  name: 'SIGINT' | 'SIGQUIT',
): Promise<void> {
  if (!(await stillRuns(earlier, context.env))) return;
  const script = `kill -s ${name.slice(3)} ${earlier.pid}`;
  await runCommand('/bin/sh', ['-c', script], { user: context.user, env: context.env, timeoutMs: 5_000 });
}
