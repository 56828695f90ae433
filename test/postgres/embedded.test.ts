import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { attachEmbedded, type EmbeddedServer, startEmbedded } from '../../src/postgres/embedded.ts';
import { readPidFile } from '../../src/postgres/pid-file.ts';
import { connect, type DatabaseAddress } from '../../src/store/connection.ts';

const uid = process.getuid?.() ?? -1;
const isRoot = uid === 0;
const root = realpathSync(mkdtempSync(join(tmpdir(), 'naru-embedded-')));
const dataDir = join(root, 'data');

before(() => {
  // As root the server runs as another user, which must be able to traverse the folder that mkdtemp
  // made 0700.
  chmodSync(root, 0o755);
  mkdirSync(dataDir, { mode: 0o700 });
});
after(() => rmSync(root, { recursive: true, force: true }));

async function start(
  dir: string,
  output: string[] = [],
  reachableRoot = join(root, 'nowhere'),
): Promise<EmbeddedServer> {
  const onExit = (reason: string): void => assert.fail(`the server ended: ${reason}`);
  return startEmbedded({
    dataDir: dir,
    uid,
    env: process.env,
    progress: (line) => output.push(line),
    onExit,
    reachableRoot,
  });
}

async function query(address: DatabaseAddress, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = await connect(address);
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

function pidOf(cluster: string): number {
  return readPidFile(cluster)?.pid ?? assert.fail('no pid file');
}

// security:40
test('a first start creates a database on a private socket, without TCP', async (t) => {
  const server = await start(dataDir);
  t.after(() => server.stop());
  assert.deepEqual(await query(server.connection, 'SELECT 1 AS one'), [{ one: 1 }]);
  assert.equal(statSync(server.connection.host).mode & 0o777, 0o700);
  const [settings] = await query(
    server.connection,
    `SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit, current_setting('jit') AS jit,
       current_setting('server_encoding') AS encoding, current_setting('listen_addresses') AS listen, upper('ä') AS upper,
       current_setting('max_connections') AS connections,
       current_setting('data_checksums') AS checksums, (SELECT count(*)::int FROM pg_ls_dir('.') WHERE pg_ls_dir = 'PG_VERSION') AS files`,
  );
  assert.deepEqual(settings, {
    fsync: 'on',
    commit: 'on',
    jit: 'off',
    encoding: 'UTF8',
    listen: '',
    upper: 'Ä',
    connections: '100',
    checksums: 'on',
    files: 1,
  });
  const pid = pidOf(join(dataDir, 'postgres'));
  const [, , group, session] = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  assert.deepEqual([group, session], [`${pid}`, `${pid}`], 'a Ctrl-C in the terminal does not reach it');
  const sockets = socketsOf(pid);
  const listed = (table: string): string => readFileSync(`/proc/net/${table}`, 'utf8');
  assert.ok(
    sockets.some((inode) => listed('unix').includes(` ${inode} `)),
    'its unix socket is seen',
  );
  const tcp = listed('tcp') + (existsSync('/proc/net/tcp6') ? listed('tcp6') : '');
  assert.deepEqual(
    sockets.filter((inode) => tcp.includes(` ${inode} `)),
    [],
  );
});

function socketsOf(pid: number): readonly string[] {
  const links = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
  return links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []);
}

test('a later start keeps the data, and attach finds the server only while it runs', async () => {
  assert.equal(await attachEmbedded(dataDir), null);
  const first = await start(dataDir);
  assert.deepEqual(await attachEmbedded(dataDir), first.connection);
  await query(first.connection, 'CREATE TABLE kept AS SELECT 7 AS seven');
  await first.stop();
  await first.stop();
  assert.equal(await attachEmbedded(dataDir), null);
  assert.equal(await attachEmbedded(join(root, 'no such folder')), null);
  const second = await start(dataDir);
  assert.deepEqual(await query(second.connection, 'SELECT seven FROM kept'), [{ seven: 7 }]);
  await second.stop();
});

test('a pid file whose pid was reused does not block a start', async (t) => {
  const cluster = join(dataDir, 'postgres');
  const { uid: owner, gid } = statSync(cluster);
  // The same user as the server's: only then does PostgreSQL itself take the foreign process for a
  // live postmaster.
  const foreign = spawn('sleep', ['60'], { stdio: 'ignore', ...(isRoot ? { uid: owner, gid } : {}) });
  t.after(() => foreign.kill('SIGKILL'));
  const socketDir = join(dataDir, 'postgres-socket');
  const stale = `${foreign.pid}\n${cluster}\n1700000000\n5432\n${socketDir}\n\n  5432001 0\nready   \n`;
  for (const path of [join(cluster, 'postmaster.pid'), join(socketDir, '.s.PGSQL.5432.lock')]) {
    writeFileSync(path, stale, { mode: 0o600 });
    chownSync(path, owner, gid);
  }
  const server = await start(dataDir);
  assert.deepEqual(await query(server.connection, 'SELECT seven FROM kept'), [{ seven: 7 }]);
  assert.notEqual(pidOf(cluster), foreign.pid);
  assert.equal(foreign.exitCode, null, 'the foreign process lives');
  await server.stop();
});

test('a data directory too deep for a socket works, and a server that is not its own is recognised', async (t) => {
  const deep = join(root, 'd'.repeat(60), 'e'.repeat(60), 'data, "quoted"');
  mkdirSync(deep, { recursive: true });
  if (isRoot)
    for (const dir of [join(root, 'd'.repeat(60)), join(root, 'd'.repeat(60), 'e'.repeat(60))])
      chmodSync(dir, 0o755);
  const cluster = join(deep, 'postgres');
  execFileSync('cp', ['-a', join(dataDir, 'postgres'), cluster]);
  const server = await start(deep);
  const { host } = server.connection;
  assert.ok(Buffer.byteLength(host) < 90, host);
  assert.equal(statSync(host).mode & 0o777, 0o700);
  assert.deepEqual(await query(server.connection, 'SELECT seven FROM kept'), [{ seven: 7 }]);
  assert.deepEqual(await attachEmbedded(deep), server.connection);
  // A copy has the pid file of the original, with its socket.
  const copied = join(deep, '../copied');
  execFileSync('cp', ['-a', deep, copied]);
  assert.equal(await attachEmbedded(copied), null);
  const second = await start(copied);
  assert.notEqual(second.connection.host, host);
  await query(second.connection, 'DROP TABLE kept');
  await second.stop();
  assert.deepEqual(await query(server.connection, 'SELECT seven FROM kept'), [{ seven: 7 }]);
  await server.stop();
  assert.equal(existsSync(host), false, 'the runtime folder is gone');
  t.diagnostic(host);
});

test('as root in a directory that is closed to others, the directory stays closed and the database is found again', {
  skip: isRoot ? false : 'needs root',
}, async () => {
  const closed = join(root, 'closed');
  const dir = join(closed, 'data');
  mkdirSync(closed, { mode: 0o700 });
  mkdirSync(dir, { mode: 0o700 });
  const reachable = join(root, 'reachable');
  const messages: string[] = [];
  const first = await start(dir, messages, reachable);
  assert.match(messages.join('\n'), /the database goes to .*\/reachable\/data-[0-9a-f]{8}\/postgres/);
  assert.equal(statSync(closed).mode & 0o777, 0o700);
  await query(first.connection, 'CREATE TABLE kept AS SELECT 8 AS eight');
  assert.deepEqual(await attachEmbedded(dir), first.connection);
  await first.stop();
  const second = await start(dir, messages, reachable);
  assert.deepEqual(await query(second.connection, 'SELECT eight FROM kept'), [{ eight: 8 }]);
  await second.stop();
  const copy = join(root, 'copy');
  execFileSync('cp', ['-a', dir, copy]);
  await assert.rejects(start(copy, messages, reachable), /belongs to .*closed\/data.* is a copy of it/);
});

test('as root the data directory is opened only to the group of the server', {
  skip: isRoot ? false : 'needs root',
}, async () => {
  const { mode, gid, uid: owner } = statSync(dataDir);
  const server = statSync(join(dataDir, 'postgres'));
  assert.deepEqual([mode & 0o777, owner, gid], [0o710, 0, server.gid]);
  assert.notEqual(server.uid, 0);
  assert.equal(server.mode & 0o777, 0o700);
});
