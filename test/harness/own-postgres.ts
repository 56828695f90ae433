import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { findBinaries } from '../../src/postgres/binaries.ts';
import { runCommand } from '../../src/postgres/run-command.ts';
import { serverUser } from '../../src/postgres/server-user.ts';
import type { DatabaseAddress } from '../../src/store/connection.ts';
import { freePort } from './free-port.ts';

/**
 * A PostgreSQL server of a test's own, as an administrator would set one up: passwords, TLS, a
 * language.
 */
export interface OwnPostgres {
  /** Over its unix socket, without a password. */
  readonly address: DatabaseAddress;
  /**
   * Over TCP with a password and TLS whose CA is `caFile`; over TCP no other connection is
   * accepted.
   */
  readonly url: string;
  readonly password: string;
  readonly caFile: string;
  readonly port: number;
  /** The data directory. */
  readonly data: string;
  /**
   * Kills it as a loss of power of its processes would (what was not flushed is gone), and starts
   * it again on the same data.
   */
  crash(): Promise<void>;
  /** Stops it in good order, calls `change` on its data directory, and starts it again. */
  restart(change?: (data: string) => void): Promise<void>;
  /**
   * Adds a standby that replicates asynchronously: a copy of the stopped server's data, which then
   * streams.
   */
  addStandby(): Promise<Standby>;
  /** Ends it at once and permanently, like a lost host: nothing more is sent to its standbys. */
  lose(): Promise<void>;
  stop(): Promise<void>;
}

/** A server that replicates from another one. */
export interface Standby {
  readonly address: DatabaseAddress;
  /**
   * Stops its replication until `resume`; what was sent meanwhile is lost to it if it is promoted
   * instead.
   */
  pause(): Promise<void>;
  resume(): void;
  /** Promotes it to a separate primary server. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

const waitMs = 60_000;

/**
 * The programs that the runner names, else those of the embedded server, which `folder` may
 * receive.
 */
export async function ownBinDir(folder: string): Promise<string> {
  const stated = process.env['NARU_TEST_POSTGRES_BIN'];
  if (stated !== undefined) return stated;
  const uid = process.getuid?.() ?? -1;
  const user = serverUser(uid, join(folder, 'none'));
  const options = { uid, user, env: process.env, dataDir: folder, needMajor: null, progress: () => {} };
  return (await findBinaries(options)).binDir;
}

/**
 * Starts a throw-away server from the programs in `binDir`, as `postgres` or `nobody` when we are
 * root. `locale` is initdb's language arguments, `settingsMore` is merged over the server's
 * settings. Throws with the server's output.
 */
export async function startOwnPostgres(
  binDir: string,
  locale: readonly string[] = ['--locale=C'],
  settingsMore: Readonly<Record<string, string>> = {},
): Promise<OwnPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'naru-postgres-'));
  chmodSync(folder, 0o755);
  const data = join(folder, 'data');
  const user = serverUser(process.getuid?.() ?? -1, data);
  const own = (path: string): void => {
    if (user !== null) chownSync(path, user.uid, user.gid);
  };
  const password = `pw-${Math.random().toString(36).slice(2)}`;
  const [passwordFile, key, certificate] = ['password', 'server.key', 'server.crt'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  for (const name of ['data', 'socket']) {
    mkdirSync(join(folder, name), { mode: 0o700 });
    own(join(folder, name));
  }
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  own(passwordFile);
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
      '-keyout',
      key,
      '-out',
      certificate,
      ...subject,
    ],
    { stdio: 'ignore' },
  );
  chmodSync(key, 0o600);
  own(key);
  const made = await runCommand(
    join(binDir, 'initdb'),
    [
      '-D',
      data,
      '-U',
      'naru',
      '--auth-local=trust',
      '--auth-host=scram-sha-256',
      `--pwfile=${passwordFile}`,
      '-E',
      'UTF8',
      '-N',
      ...locale,
    ],
    { user, env: process.env, timeoutMs: 120_000 },
  );
  if (!made.ok) throw new Error(made.output);
  writeFileSync(
    join(data, 'pg_hba.conf'),
    'local all all trust\nlocal replication all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n',
  );
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: join(folder, 'socket'),
    ssl: 'on',
    ssl_cert_file: certificate,
    ssl_key_file: key,
    fsync: 'off',
    max_connections: 200,
    ...settingsMore,
  };
  const become = user === null ? [] : [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'];
  const address = { host: join(folder, 'socket'), port, user: 'naru', database: 'postgres' };
  const launch = async (
    dir: string,
    its: Readonly<Record<string, string | number>>,
    at: DatabaseAddress,
  ): Promise<ChildProcess> => {
    const words = Object.entries(its).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    // A caller that ends before it stops it too.
    const started = spawn(
      'setpriv',
      ['--pdeathsig', 'INT', ...become, '--', join(binDir, 'postgres'), '-D', dir, ...words],
      { cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] },
    );
    try {
      await untilReady(started, at);
      return started;
    } catch (error) {
      await end(started, 'SIGINT');
      throw error;
    }
  };
  const start = (): Promise<ChildProcess> => launch(data, settings, address);
  let child: ChildProcess;
  try {
    child = await start();
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  const crash = async (): Promise<void> => {
    await end(child, 'SIGKILL');
    const untilMs = performance.now() + waitMs;
    for (;;) {
      try {
        child = await start();
        return;
      } catch (error) {
        // Its processes exit when they notice that their parent has, and use the shared memory
        // until then.
        if (performance.now() > untilMs || !/pre-existing shared memory/.test(String(error))) throw error;
      }
    }
  };
  const restart = async (change: (data: string) => void = () => {}): Promise<void> => {
    await end(child, 'SIGINT');
    change(data);
    child = await start();
  };
  const standbys: Standby[] = [];
  const addStandby = async (): Promise<Standby> => {
    const copy = join(folder, `standby-${standbys.length + 1}`);
    await restart(() => {
      execFileSync('cp', ['-a', data, copy]);
      writeFileSync(join(copy, 'standby.signal'), '');
      own(join(copy, 'standby.signal'));
    });
    const copyPort = await freePort();
    const source = `host=${address.host} port=${port} user=naru application_name=standby`;
    const its = { ...settings, port: copyPort, primary_conninfo: source };
    const copyAddress = { ...address, port: copyPort };
    const server = await launch(copy, its, copyAddress);
    let receiver: number | null = null;
    const queryOne = async <T extends object>(sql: string): Promise<T | undefined> => {
      const client = new Client(copyAddress);
      client.on('error', () => {});
      await client.connect();
      try {
        return (await client.query<T>(sql)).rows[0];
      } finally {
        await client.end();
      }
    };
    const standby: Standby = {
      address: copyAddress,
      async pause() {
        receiver = (await queryOne<{ pid: number }>('SELECT pid FROM pg_stat_wal_receiver'))?.pid ?? null;
        if (receiver === null) throw new Error('the standby receives nothing');
        process.kill(receiver, 'SIGSTOP');
      },
      resume() {
        if (receiver !== null) process.kill(receiver, 'SIGCONT');
        receiver = null;
      },
      async promote() {
        if (receiver !== null) {
          // What waits in its socket ends with it. The standby restarts after that.
          process.kill(receiver, 'SIGKILL');
          const killed = receiver;
          const untilMs = performance.now() + waitMs;
          while (isRunning(killed)) {
            if (performance.now() > untilMs) throw new Error('the receiver does not end');
            await new Promise((resolve) => setTimeout(resolve, 20));
          }
          receiver = null;
          await untilReady(server, copyAddress);
        }
        await queryOne('SELECT pg_promote(true)');
      },
      stop() {
        standby.resume();
        return end(server, 'SIGINT');
      },
    };
    standbys.push(standby);
    return standby;
  };
  const lose = (): Promise<void> => end(child, 'SIGKILL');
  const stop = async (): Promise<void> => {
    for (const standby of standbys) await standby.stop();
    await end(child, 'SIGINT');
    rmSync(folder, { recursive: true, force: true });
  };
  const query = `sslmode=verify-full&sslrootcert=${encodeURIComponent(certificate)}`;
  const url = `postgres://naru:${password}@localhost:${port}/postgres?${query}`;
  return { address, url, password, caFile: certificate, port, data, crash, restart, addStandby, lose, stop };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const over = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await over;
}

async function untilReady(child: ChildProcess, address: DatabaseAddress): Promise<void> {
  let printed = '';
  for (const output of [child.stdout, child.stderr])
    output?.on('data', (text) => (printed = `${printed}${text}`.slice(-10_000)));
  const untilMs = performance.now() + waitMs;
  for (;;) {
    const client = new Client(address);
    client.on('error', () => {});
    try {
      await client.connect();
      return;
    } catch (error) {
      if (child.exitCode !== null || performance.now() > untilMs)
        throw new Error(`${printed}${String(error)}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    } finally {
      await client.end().catch(() => {});
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
