import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../time/clock.ts';
import type { Binaries } from './binaries.ts';
import { embeddedError } from './errors.ts';
import { connectionIn, type EmbeddedConnection, identifyServer } from './identity.ts';
import { readPidFile } from './pid-file.ts';
import type { Progress } from './progress.ts';
import { type Environment, identityOf, postgresEnvironment } from './run-command.ts';
import { readFrom, sizeOf } from './server-log.ts';
import type { ServerUser } from './server-user.ts';
import { serverArguments, socketPort } from './settings.ts';
import { prepareSocketDir } from './socket-dir.ts';

/** Everything that a start of the server needs; the same for every start. */
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

/** A server that responded with our identity. */
export interface Running {
  readonly pid: number;
  readonly connection: EmbeddedConnection;
  /**
   * Resolves, never rejects, with a sentence when the process has ended. Waiting for it does not
   * keep Naru running.
   */
  readonly ended: Promise<string>;
  /**
   * SIGINT is a fast shutdown with a checkpoint; SIGQUIT an immediate one: what is committed is
   * recovered at the next start.
   */
  signal(name: 'SIGINT' | 'SIGQUIT'): void;
}

/**
 * `occupied`: PostgreSQL found that a process of an earlier server still uses the cluster; `output`
 * is its message.
 */
export type Launch =
  | { readonly kind: 'ready'; readonly running: Running }
  | { readonly kind: 'occupied'; readonly output: string };

/**
 * A shutdown begun during recovery may never end (see `maxWaitMs` in adopt-running.ts); any other
 * takes a checkpoint.
 */
export const fastShutdownMs = 20_000;

/** Recovery replays at most about `max_wal_size`; the limit only prevents an endless wait. */
const startLimitMs = 15 * 60_000;

/**
 * Starts a server and resolves when it responds. `stalePid` is the pid in an old pid file although
 * no postmaster has that pid any more: PostgreSQL accepts that through the variable that pg_ctl
 * uses, and still checks the shared memory itself. Throws the server's message when it ended
 * instead, and the signal's reason when that comes first.
 */
export async function launchPostmaster(
  context: ClusterContext,
  stalePid: number | null,
  signal: AbortSignal,
): Promise<Launch> {
  prepareSocketDir(context.socketDir, context.user);
  const logFrom = sizeOf(context.logPath);
  const child = spawnPostmaster(context, stalePid);
  context.onLaunch();
  const ended = endOf(child, context.logPath);
  let end: string | null = null;
  void ended.then((reason) => {
    end = reason;
  });
  const beganAt = context.clock.monotonic();
  while (end === null) {
    const waitedMs = context.clock.monotonic() - beganAt;
    if (signal.aborted || waitedMs > startLimitMs) {
      child.kill(signal.aborted ? 'SIGINT' : 'SIGQUIT');
      const impatience = context.clock.after(fastShutdownMs, () => child.kill('SIGQUIT'));
      await ended;
      impatience.cancel();
      signal.throwIfAborted();
      throw embeddedError('PostgreSQL was not ready after 15 minutes', readFrom(context.logPath, logFrom));
    }
    const file = readPidFile(context.clusterDir);
    if (
      file?.pid === child.pid &&
      file?.status === 'ready' &&
      (await identifyServer(file, context.clusterDir)) === 'ours'
    ) {
      child.unref();
      const connection = connectionIn(context.socketDir, socketPort);
      return {
        kind: 'ready',
        running: { pid: file.pid, connection, ended, signal: (name) => child.kill(name) },
      };
    }
    await sleep(waitedMs < 1_000 ? 5 : 50);
  }
  const output = readFrom(context.logPath, logFrom);
  if (/lock file "[^"]*" already exists|pre-existing shared memory block/.test(output))
    return { kind: 'occupied', output };
  throw embeddedError(
    `PostgreSQL did not start on ${context.clusterDir} (${end})`,
    output,
    context.clusterDir,
  );
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
