/**
 * A server that was ended from outside is reported, with everything that was committed; one that
 * accepts no new connections any more is ended first.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { type EmbeddedServer, startEmbedded } from '../../src/postgres/embedded.ts';
import { embeddedError } from '../../src/postgres/errors.ts';
import { readPidFile } from '../../src/postgres/pid-file.ts';
import { connect, type DatabaseAddress } from '../../src/store/connection.ts';
import { copyEmptyCluster } from '../harness/empty-cluster.ts';
import { until } from '../harness/until.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'naru-embedded-lockout-')));
const dataDir = join(root, 'data');
const ended: string[] = [];

before(() => chmodSync(root, 0o755));
after(() => rmSync(root, { recursive: true, force: true }));

function start(dir: string): Promise<EmbeddedServer> {
  if (!existsSync(join(dir, 'postgres'))) copyEmptyCluster(dir);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  return startEmbedded({
    dataDir: dir,
    uid: process.getuid?.() ?? -1,
    env: process.env,
    progress: () => {},
    onExit: (reason) => ended.push(reason),
  });
}

async function run(address: DatabaseAddress, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = await connect(address);
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

function postmaster(dir = dataDir): number {
  return readPidFile(join(dir, 'postgres'))?.pid ?? 0;
}

test('a server that is told to end is reported once, though sessions are open, and loses nothing', async () => {
  const signals = ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGKILL'] as const;
  for (const [n, signal] of signals.entries()) {
    const server = await start(dataDir);
    if (n === 0) await run(server.connection, 'CREATE TABLE paid (id int PRIMARY KEY)');
    // A session that would live on for ever, as those of a pool do.
    const old = await connect(server.connection);
    await old.query(`INSERT INTO paid VALUES (${n})`);
    process.kill(postmaster(), signal);
    await until(`it ended after ${signal}`, () => ended.length > 0, 20_000);
    await old.end().catch(() => {});
    await server.stop();
    assert.equal(ended.splice(0).length, 1, signal);
  }
  const server = await start(dataDir);
  assert.equal((await run(server.connection, 'SELECT FROM paid')).length, signals.length);
  await server.stop();
});

test('a server that is stopped on purpose stays stopped', async () => {
  const own = join(root, 'stopped');
  const other = await start(own);
  const old = await connect(other.connection);
  process.kill(postmaster(own), 'SIGTERM');
  await other.stop();
  await old.end().catch(() => {});
  assert.equal(postmaster(own), 0);
  assert.deepEqual(ended.splice(0), []);
});

test('an empty pid file, which PostgreSQL reads as a starting server, does not block a start', async () => {
  const own = join(root, 'empty');
  await (await start(own)).stop();
  const file = join(own, 'postgres/postmaster.pid');
  // Also one of a clock that has been set back since.
  for (const writtenAt of [new Date(0), new Date(Date.now() + 86_400_000)]) {
    writeFileSync(file, '');
    utimesSync(file, writtenAt, writtenAt);
    const other = await start(own);
    assert.equal((await run(other.connection, 'SELECT 1 AS one'))[0]?.['one'], 1);
    await other.stop();
  }
});

/** A small disk in memory; null where mounting is not allowed. */
function mountDisk(t: TestContext): string | null {
  const folder = join(root, 'disk');
  mkdirSync(folder);
  const args = ['-t', 'tmpfs', '-o', `size=${160 * 1024 * 1024},mode=0755`, 'naru-test', folder];
  if (spawnSync('mount', args).status !== 0) return null;
  t.after(() => void spawnSync('umount', ['-l', folder]));
  return folder;
}

test('a server that ended on a full disk starts again when the disk has room', async (t) => {
  const disk = mountDisk(t);
  if (disk === null) return t.skip('mounting is not allowed here');
  const other = await start(disk);
  await run(other.connection, 'CREATE TABLE paid AS SELECT 1 AS id');
  const ballast = join(disk, 'ballast');
  // Nothing is left for the log of the server either, which would show why it does not start.
  const fill = () =>
    spawnSync('dd', ['if=/dev/zero', `of=${ballast}`, 'bs=4096', 'oflag=append', 'conv=notrunc']);
  // PostgreSQL ends itself when it cannot write its log, and then cannot start for the same reason.
  const write = "SELECT pg_logical_emit_message(true, 'test', repeat('x', 1000000))";
  const endsFull = async (): Promise<boolean> => {
    fill();
    await run(other.connection, write).catch(() => {});
    return ended.length > 0;
  };
  await until('it ended', endsFull, 30_000);
  await other.stop();
  fill();
  await assert.rejects(start(disk), /the disk is full/);
  const unlogged = () => embeddedError('PostgreSQL did not start', '', disk).message;
  assert.match(unlogged(), /the disk is full/);
  rmSync(ballast);
  assert.doesNotMatch(unlogged(), /the disk is full/);
  const again = await start(disk);
  assert.equal((await run(again.connection, 'SELECT FROM paid')).length, 1);
  await again.stop();
  ended.splice(0);
});
