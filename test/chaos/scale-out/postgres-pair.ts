import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { runCommand } from '../../../src/postgres/run-command.ts';
import { serverUser } from '../../../src/postgres/server-user.ts';
import type { DatabaseAddress } from '../../../src/store/connection.ts';
import { ownBinDir } from '../../harness/own-postgres.ts';
import { until, untilSucceeds } from '../../harness/until.ts';
import { childrenOf, isRunning } from '../naru-process.ts';
import type { Host } from './network.ts';

const port = 5432;
const standbyName = 'standby';

/** A PostgreSQL server on a host of the drill. */
export interface PairServer {
  readonly host: Host;
  readonly address: DatabaseAddress;
  /** Resolves when it accepts connections. */
  start(): Promise<void>;
  /** SIGKILL to the server and all of its processes, as a lost machine. */
  kill(): Promise<void>;
  /** The first row, or undefined. */
  query<T extends object>(sql: string): Promise<T | undefined>;
}

/** A primary server whose commits wait until its standby has them. */
export interface Pair {
  readonly primary: PairServer;
  readonly standby: PairServer;
  /** Resolves when every commit is on both. */
  untilSynchronous(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts both on their hosts. Connections of `range` (CIDR) need no password. */
export async function startSynchronousPair(
  hosts: { readonly primary: Host; readonly standby: Host },
  range: string,
): Promise<Pair> {
  const folder = mkdtempSync(join(tmpdir(), 'naru-pair-'));
  chmodSync(folder, 0o755);
  const binDir = await ownBinDir(folder);
  const user = serverUser(process.getuid?.() ?? -1, join(folder, 'none'));
  if (user === null) throw new Error('the pair needs root, as its network does');
  const own = (path: string): void => chownSync(path, user.uid, user.gid);
  const [data, copy] = [join(folder, 'primary'), join(folder, 'standby')] as const;
  mkdirSync(data, { mode: 0o700 });
  own(data);
  const words = ['-D', data, '-U', 'naru', '--auth=trust', '-E', 'UTF8', '-N', '--locale=C'];
  const made = await runCommand(join(binDir, 'initdb'), words, {
    user,
    env: process.env,
    timeoutMs: 120_000,
  });
  if (!made.ok) throw new Error(made.output);
  writeFileSync(
    join(data, 'pg_hba.conf'),
    `local all all trust\nhost all all ${range} trust\nhost replication all ${range} trust\n`,
  );
  execFileSync('cp', ['-a', data, copy]);
  writeFileSync(join(copy, 'standby.signal'), '');
  own(join(copy, 'standby.signal'));

  const become = ['setpriv', '--pdeathsig', 'INT', `--reuid=${user.uid}`, `--regid=${user.gid}`];
  const server = (host: Host, dir: string, settings: Readonly<Record<string, string>>): PairServer => {
    const all = {
      listen_addresses: '*',
      port,
      unix_socket_directories: '',
      max_connections: 200,
      ...settings,
    };
    const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const started = [...become, '--clear-groups', '--', join(binDir, 'postgres'), '-D', dir, ...flags];
    return serverOn(host, [...host.within, ...started]);
  };
  // A standby that is promoted has no standby, and waits for none.
  const primary = server(hosts.primary, data, { synchronous_standby_names: standbyName });
  const source = `host=${hosts.primary.address} port=${port} user=naru application_name=${standbyName}`;
  const standby = server(hosts.standby, copy, { primary_conninfo: source });
  const pair: Pair = {
    primary,
    standby,
    async untilSynchronous() {
      const sql = `SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`;
      await until('the standby is synchronous', async () => (await primary.query(sql)) !== undefined, 60_000);
    },
    async stop() {
      await standby.kill();
      await primary.kill();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  await primary.start();
  await standby.start();
  await pair.untilSynchronous();
  return pair;
}

function serverOn(host: Host, argv: readonly string[]): PairServer {
  const address = { host: host.address, port, user: 'naru', database: 'postgres' };
  let child: ChildProcess | null = null;
  const query = async <T extends object>(sql: string): Promise<T | undefined> => {
    const client = new Client({ ...address, connectionTimeoutMillis: 5_000 });
    client.on('error', () => {});
    try {
      await client.connect();
      return (await client.query<T>(sql)).rows[0];
    } finally {
      await client.end().catch(() => {});
    }
  };
  return {
    host,
    address,
    query,
    async start() {
      const [command = '', ...args] = argv;
      child = spawn(command, args, { cwd: '/', stdio: 'ignore' });
      await untilSucceeds(`${host.name} accepts connections`, 60_000, () => query('SELECT 1'));
    },
    async kill() {
      const pid = child?.pid;
      if (child === null || pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const all = [pid, ...childrenOf(pid)];
      const ended = once(child, 'exit');
      for (const each of all) if (isRunning(each)) process.kill(each, 'SIGKILL');
      await ended;
      await until('its processes are gone', () => !all.some(isRunning));
    },
  };
}
