import { realpathSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, disconnect } from '../store/connection.ts';
import { type Clock, systemClock } from '../time/clock.ts';
import { findBinaries } from './binaries.ts';
import { clusterMajor, createCluster } from './cluster.ts';
import { chooseClusterDir, clusterDirOf } from './cluster-dir.ts';
import { stopEarlierServer } from './earlier-server.ts';
import { codeOf, EmbeddedError, embeddedError, messageOf } from './errors.ts';
import { type PidFile, readPidFile } from './pid-file.ts';
import { type ClusterContext, launchPostmaster } from './postmaster.ts';
import { type Progress, reportWhenSlow } from './progress.ts';
import { type Environment, runCommand, which } from './run-command.ts';
import { rotateLog } from './server-log.ts';
import { type ServerUser, serverUser } from './server-user.ts';
import { databaseUser, defaultMaxConnections, socketPort } from './settings.ts';
import { chooseSocketDir, removeSocketDir } from './socket-dir.ts';

export { EmbeddedError } from './errors.ts';

/** How to connect to an embedded server: over its unix socket only. */
export interface EmbeddedConnection {
  /** The folder of the socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
}

/** What the embedded database needs. */
export interface EmbeddedOptions {
  /**
   * Naru's data directory, which exists and is locked (`lockDataDir`). The cluster is
   * `<dataDir>/postgres`, the log `<dataDir>/postgres.log`.
   */
  readonly dataDir: string;
  /** The user id that Naru runs as. */
  readonly uid: number;
  /**
   * The environment for PATH and for the folders of caches and sockets. The server gets only PATH.
   */
  readonly env: Environment;
  /**
   * Called with a line about everything that takes more than a second, and about everything
   * unusual. Must not throw.
   */
  readonly progress: Progress;
  /**
   * Called with the reason when the server ended without `stop`. It is not started again. Must not
   * throw.
   */
  readonly onExit?: (reason: string) => void;
  /** Called when the server has been launched and is about to become ready. Must not throw. */
  readonly onLaunch?: () => void;
  readonly clock?: Clock;
  /** How many connections the server accepts at a time; 100 by default. */
  readonly maxConnections?: number;
  /**
   * The folder for a cluster when root runs Naru in a folder that PostgreSQL's user may not enter.
   * `/var/lib/naru`.
   */
  readonly reachableRoot?: string;
  /** A cluster to run, or to make, in the place of that of the data directory. */
  readonly other?: OtherCluster;
}

/** A cluster beside that of a data directory, whose user it shares. */
export interface OtherCluster {
  readonly dir: string;
  /** The major version of PostgreSQL that makes it if it does not exist. */
  readonly major: number;
}

/** A running embedded database. */
export interface EmbeddedServer {
  readonly connection: EmbeddedConnection;
  /**
   * Ends the server by a fast shutdown and resolves when it has ended. May be called more than
   * once.
   */
  stop(): Promise<void>;
}

/**
 * Starts the PostgreSQL of a data directory, and first stops one that a killed Naru left there;
 * resolves when it is ready. README.md beside this file is the contract. Call it on the main thread:
 * the kernel ends the server when the thread that started it ends. Throws an `EmbeddedError` that
 * names the remedy.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  try {
    const context = await prepare(options);
    const { clusterDir, socketDir, clock, progress } = context;
    const stopping = stopEarlierServer(context);
    const stalePid = await reportWhenSlow(stopping, 'waiting for the earlier PostgreSQL', progress, clock);
    const launching = launchPostmaster(context, stalePid);
    const server = await reportWhenSlow(launching, 'waiting for PostgreSQL to be ready', progress, clock);
    let stopped: Promise<void> | null = null;
    void server.ended.then((reason) => {
      if (stopped === null) options.onExit?.(reason);
    });
    return {
      connection: connectionIn(socketDir, socketPort),
      stop() {
        stopped ??= server.stop().then(() => removeSocketDir(socketDir, clusterDir));
        return stopped;
      },
    };
  } catch (thrown) {
    throw codeOf(thrown) === null
      ? thrown
      : embeddedError(`the database in ${options.dataDir} cannot be used`, messageOf(thrown));
  }
}

/**
 * The connection of the server that runs on a data directory, for processes that do not own it;
 * null when none runs. Waits up to 10 s for one that is starting. Throws an `EmbeddedError` when
 * this user may not use it.
 */
export async function attachEmbedded(dataDir: string): Promise<EmbeddedConnection | null> {
  try {
    const clusterDir = clusterDirOf(realpathSync(dataDir));
    const cluster = statSync(clusterDir);
    for (let waitedMs = 0; waitedMs < 10_000; waitedMs += 50) {
      const file = readPidFile(clusterDir);
      if (file === null) return null;
      const found = await connectionOf(file, cluster);
      if (found !== 'busy') return found;
      await sleep(50);
    }
    return null;
  } catch (thrown) {
    const code = codeOf(thrown);
    if (code === 'ENOENT') return null;
    if (code === 'EACCES' || code === 'EPERM')
      throw new EmbeddedError(`this user may not read ${dataDir}: use the user that Naru runs as`);
    throw thrown;
  }
}

/** A response takes a millisecond; a server that takes this long hangs. */
const responseTimeoutMs = 3_000;
/** Starting up or shutting down; all connections are taken; it began to shut down. */
const busyCodes: readonly (string | null)[] = ['57P03', '53300', '57P01', '57P02'];

/** Null when nothing responds, or the pid file was copied with its folder from another cluster. */
async function connectionOf(file: PidFile, cluster: Stats): Promise<EmbeddedConnection | 'busy' | null> {
  if (file.socketDir === '' || !(file.port > 0)) return 'busy';
  const own = statSync(file.clusterDir);
  if (own.dev !== cluster.dev || own.ino !== cluster.ino) return null;
  const connection = connectionIn(file.socketDir, file.port);
  try {
    await disconnect(await connect(connection, responseTimeoutMs));
    return connection;
  } catch (thrown) {
    const code = codeOf(thrown);
    if (code === 'EACCES') throw thrown;
    return busyCodes.includes(code) ? 'busy' : null;
  }
}

function connectionIn(host: string, port: number): EmbeddedConnection {
  return { host, port, user: databaseUser, database: 'postgres' };
}

async function prepare(options: EmbeddedOptions): Promise<ClusterContext> {
  const { uid, env, progress, clock = systemClock, maxConnections = defaultMaxConnections } = options;
  const dataDir = realpathSync(options.dataDir);
  const user = serverUser(uid, clusterDirOf(dataDir));
  const setpriv = await findSetpriv(user, env);
  // Where it ran, it ran as the user.
  if (user !== null && setpriv === null) await tryUser(user, env);
  const { other, reachableRoot = '/var/lib/naru' } = options;
  const clusterDir = other?.dir ?? chooseClusterDir(dataDir, user, reachableRoot, progress);
  const madeBy = clusterMajor(clusterDir);
  const needMajor = madeBy ?? other?.major ?? null;
  const finding = findBinaries({ uid, user, env, dataDir, needMajor, progress });
  const binaries = await reportWhenSlow(finding, 'preparing the programs of PostgreSQL', progress, clock);
  if (madeBy === null) {
    const creating = createCluster(clusterDir, binaries, user, env);
    await reportWhenSlow(creating, 'creating the database', progress, clock);
  }
  const logPath = join(dataDir, 'postgres.log');
  rotateLog(logPath);
  const socketDir = chooseSocketDir(clusterDir, uid, user, env);
  return {
    clusterDir,
    socketDir,
    logPath,
    binaries,
    user,
    env,
    setpriv,
    maxConnections,
    clock,
    progress,
    onLaunch: options.onLaunch ?? (() => {}),
  };
}

/**
 * A container may run root without the right to change to another user; this reports it at once and
 * as what it is.
 */
async function tryUser(user: ServerUser, env: Environment): Promise<void> {
  const tried = await runCommand('/bin/sh', ['-c', 'exit 0'], { user, env, timeoutMs: 5_000 });
  if (!tried.ok) throw embeddedError(`nothing can be run as ${user.name}`, tried.output);
}

async function findSetpriv(user: ServerUser | null, env: Environment): Promise<string | null> {
  const setpriv = which('setpriv', env);
  if (setpriv === null) return null;
  const args = ['--pdeathsig', 'INT', 'true'];
  return (await runCommand(setpriv, args, { user, env, timeoutMs: 5_000 })).ok ? setpriv : null;
}
