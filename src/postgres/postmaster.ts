import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../time/clock.ts';
import type { Binaries } from './binaries.ts';
import { embeddedError } from './errors.ts';
import { readPidFile } from './pid-file.ts';
import { type Progress, reportWhenSlow } from './progress.ts';
import { type Environment, identityOf, postgresEnvironment } from './run-command.ts';
import { readFrom, sizeOf } from './server-log.ts';
import type { ServerUser } from './server-user.ts';
import { serverArguments } from './settings.ts';
import { prepareSocketDir } from './socket-dir.ts';

/** Everything that a start of the server needs. */
export interface ClusterContext {
  readonly clusterDir: string;
  readonly socketDir: string;
  readonly logPath: string;
  readonly binaries: Binaries;
  readonly user: ServerUser | null;
  readonly env: Environment;
  /** A `setpriv` that supports `--pdeathsig`; null where there is none. */
  readonly setpriv: string | null;
  readonly maxConnections: number;
  readonly clock: Clock;
  readonly progress: Progress;
  /** Called when the server has been launched and is about to become ready. */
  readonly onLaunch: () => void;
}

/** A server that accepts connections. */
export interface Postmaster {
  /**
   * Resolves, never rejects, with a sentence when the process has ended. Waiting for it does not
   * keep Naru running.
   */
  readonly ended: Promise<string>;
  /**
   * Ends the server by a fast shutdown, which takes a checkpoint, or by an immediate one after 20 s:
   * what is committed is then recovered at the next start. Resolves when it has ended.
   */
  stop(): Promise<void>;
}

const fastShutdownMs = 20_000;
/** Recovery replays at most about `max_wal_size`; the limit only prevents an endless wait. */
const startLimitMs = 15 * 60_000;
const checkEveryMs = 1_000;

/**
 * Starts a server and resolves when it is ready. `stalePid` is the pid in an old pid file although
 * no postmaster has that pid any more: PostgreSQL accepts that through the variable that pg_ctl
 * uses, and still checks the shared memory itself. Throws the server's message when it ended
 * instead.
 */
export async function launchPostmaster(
  context: ClusterContext,
  stalePid: number | null,
): Promise<Postmaster> {
  const { clusterDir, socketDir, logPath, clock, progress, user } = context;
  if (!wasShutDown(clusterDir))
    progress('PostgreSQL did not shut down cleanly: everything that was committed is being recovered');
  prepareSocketDir(socketDir, user);
  const logFrom = sizeOf(logPath);
  const child = spawnPostmaster(context, stalePid);
  context.onLaunch();
  const ended = endOf(child, logPath);
  let end: string | null = null;
  void ended.then((reason) => {
    end = reason;
  });
  const beganMs = clock.monotonic();
  while (statusOf(clusterDir, child) !== 'ready') {
    const waitedMs = clock.monotonic() - beganMs;
    if (waitedMs > startLimitMs) child.kill('SIGQUIT');
    if (end !== null)
      throw embeddedError(
        `PostgreSQL did not start on ${clusterDir} (${end})`,
        readFrom(logPath, logFrom),
        clusterDir,
      );
    await sleep(waitedMs < 1_000 ? 5 : 50);
  }
  child.unref();
  endWhenClosed(context, child, ended);
  return {
    ended,
    async stop() {
      // The child and a clock's timers do not keep Naru running, and this wait must finish.
      const alive = setInterval(() => {}, 1_000);
      const impatience = clock.after(fastShutdownMs, () => child.kill('SIGQUIT'));
      child.kill('SIGINT');
      await reportWhenSlow(ended, 'waiting for PostgreSQL to shut down', progress, clock);
      impatience.cancel();
      clearInterval(alive);
    },
  };
}

/**
 * Ends a server that accepts no new connections any more: after SIGTERM (a smart shutdown) it waits
 * for the open sessions, and ours stay.
 */
function endWhenClosed({ clusterDir, clock }: ClusterContext, child: ChildProcess, ended: Promise<string>) {
  const look = (): void => {
    if (statusOf(clusterDir, child) === 'stopping') child.kill('SIGINT');
    else timer = clock.after(checkEveryMs, look);
  };
  let timer = clock.after(checkEveryMs, look);
  void ended.then(() => timer.cancel());
}

/** The status of our server in the pid file; null when that is another's, or cannot be read. */
function statusOf(clusterDir: string, child: ChildProcess): string | null {
  try {
    const file = readPidFile(clusterDir);
    return file?.pid === child.pid ? (file?.status ?? null) : null;
  } catch {
    return null;
  }
}

/** Whether the last server of a cluster ended by a clean shutdown. */
function wasShutDown(clusterDir: string): boolean {
  // The layout is the same from version 9 to 18; 1 is DB_SHUTDOWNED.
  return readFileSync(join(clusterDir, 'global', 'pg_control')).readInt32LE(16) === 1;
}

/**
 * The server leads a session of its own; otherwise Ctrl-C in Naru's terminal would end it before
 * Naru has written its last settlement. When Naru dies the kernel sends it SIGINT: what is
 * committed is durable with any signal, and this one leaves nothing to recover. The program setpriv
 * runs as the dropped user, because a change of credentials would clear the death signal.
 */
function spawnPostmaster(context: ClusterContext, stalePid: number | null): ChildProcess {
  const postgres = join(context.binaries.binDir, 'postgres');
  const { clusterDir, socketDir, binaries, maxConnections } = context;
  const args = serverArguments(clusterDir, socketDir, binaries.major, maxConnections);
  const [file, before] =
    context.setpriv === null ? [postgres, []] : [context.setpriv, ['--pdeathsig', 'INT', postgres]];
  const log = openSync(context.logPath, 'a', 0o600);
  try {
    return spawn(file, [...before, ...args], {
      ...identityOf(context.user),
      cwd: '/',
      env: {
        ...postgresEnvironment(context.env),
        ...(stalePid === null ? {} : { PG_GRANDPARENT_PID: String(stalePid) }),
      },
      detached: true,
      stdio: ['ignore', log, log],
    });
  } finally {
    closeSync(log);
  }
}

function endOf(child: ChildProcess, logPath: string): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(`it could not be executed: ${error.message}`));
    child.once('exit', (code, signal) => {
      const last = readFrom(logPath, 0).trimEnd().split('\n').at(-1) ?? '';
      resolve(`${signal === null ? `exit status ${code}` : `ended by ${signal}`}; last output: ${last}`);
    });
  });
}
