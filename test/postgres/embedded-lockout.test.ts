/**
 * A running server that accepts no new connections locks the operator out: it is restarted, with
 * everything that was committed.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
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
import { lockoutOf } from '../../src/postgres/lockout.ts';
import { readPidFile } from '../../src/postgres/pid-file.ts';
import { connect, type DatabaseAddress } from '../../src/store/connection.ts';
import { systemClock } from '../../src/time/clock.ts';
import { copyEmptyCluster } from '../harness/empty-cluster.ts';
import { sample } from '../harness/tier.ts';
import { until } from '../harness/until.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'naru-embedded-lockout-')));
const dataDir = join(root, 'data');
const ended: string[] = [];
let server: EmbeddedServer;

before(async () => {
  chmodSync(root, 0o755);
  server = await start(dataDir);
  await run(server.connection, 'CREATE TABLE paid (id int PRIMARY KEY)');
});
after(async () => {
  await server?.stop();
  rmSync(root, { recursive: true, force: true });
});

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

/** Waits until another server accepts connections and has all rows. */
async function respondsAgain(before: number, rows: number): Promise<void> {
  await until(
    'another server responds',
    async () => {
      if ([0, before].includes(postmaster())) return false;
      const found = await run(server.connection, 'SELECT FROM paid').catch(() => null);
      return found?.length === rows;
    },
    30_000,
  );
}

/** What the operator's machine may do to a server, and how it is known that it was done. */
const faults: Readonly<Record<string, (pid: number) => void>> = {
  'SIGTERM (a smart shutdown)': (pid) => process.kill(pid, 'SIGTERM'),
  'SIGINT (a fast shutdown)': (pid) => process.kill(pid, 'SIGINT'),
  'SIGQUIT (an immediate shutdown)': (pid) => process.kill(pid, 'SIGQUIT'),
  'a deleted socket': () => rmSync(join(dataDir, 'postgres-socket/.s.PGSQL.5432')),
  'a replaced socket': () => {
    const path = join(dataDir, 'postgres-socket/.s.PGSQL.5432');
    rmSync(path);
    writeFileSync(path, '');
  },
  'a deleted folder of the socket': () => rmSync(join(dataDir, 'postgres-socket'), { recursive: true }),
  'a deleted pid file': () => rmSync(join(dataDir, 'postgres/postmaster.pid')),
};

let rows = 0;
for (const [what, fault] of sample(Object.entries(faults), 2)) {
  test(`after ${what} the server accepts new connections again, though old sessions stay`, async () => {
    rows += 1;
    // A session that would live on for ever, as those of a pool do.
    const old = await connect(server.connection);
    await old.query(`INSERT INTO paid VALUES (${rows})`);
    const pid = postmaster();
    fault(pid);
    await respondsAgain(pid, rows);
    await old.end().catch(() => {});
    assert.equal(ended.splice(0).length, 1, what);
  });
}

test('a socket that was deleted or replaced before the first check is detected', async () => {
  for (const isReplaced of [false, true]) {
    const clusterDir = mkdtempSync(join(root, 'cluster-'));
    const host = mkdtempSync(join(root, 'socket-'));
    copyFileSync(join(dataDir, 'postgres/postmaster.pid'), join(clusterDir, 'postmaster.pid'));
    if (isReplaced) writeFileSync(join(host, '.s.PGSQL.5432'), '');
    const running = { pid: postmaster(), connection: { host, port: 5432 }, ended: new Promise(() => {}) };
    const end = new AbortController();
    const reason = lockoutOf(
      { clusterDir, clock: systemClock } as unknown as Parameters<typeof lockoutOf>[0],
      running as unknown as Parameters<typeof lockoutOf>[1],
      end.signal,
    );
    assert.match(await reason, /was deleted or replaced/);
    end.abort();
  }
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

test('a server that ended on a full disk restarts when the disk has room', async (t) => {
  const disk = mountDisk(t);
  if (disk === null) return t.skip('mounting is not allowed here');
  const other = await start(disk);
  t.after(() => other.stop());
  await run(other.connection, 'CREATE TABLE paid AS SELECT 1 AS id');
  const ballast = join(disk, 'ballast');
  // Nothing is left for the log of the server either, which would show why it does not start.
  const fill = () =>
    spawnSync('dd', ['if=/dev/zero', `of=${ballast}`, 'bs=4096', 'oflag=append', 'conv=notrunc']);
  fill();
  // PostgreSQL ends itself when it cannot write its log, and then cannot start for the same reason.
  const write = "SELECT pg_logical_emit_message(true, 'test', repeat('x', 1000000))";
  await until(
    'a restart failed for lack of room',
    async () => {
      // A server that still found room serves again.
      await run(other.connection, write).catch(() => {});
      fill();
      return ended.some((reason) => reason.includes('the disk is full'));
    },
    30_000,
  );
  const unlogged = () => embeddedError('PostgreSQL did not start', '', disk).message;
  assert.match(unlogged(), /the disk is full/);
  rmSync(ballast);
  assert.doesNotMatch(unlogged(), /the disk is full/);
  await until(
    'it responds',
    async () => (await run(other.connection, 'SELECT FROM paid').catch(() => [])).length === 1,
    30_000,
  );
  ended.splice(0);
});
