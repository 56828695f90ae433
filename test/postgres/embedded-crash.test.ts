import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type EmbeddedServer, startEmbedded } from '../../src/postgres/embedded.ts';
import { readPidFile } from '../../src/postgres/pid-file.ts';
import { which } from '../../src/postgres/run-command.ts';
import { connect, type DatabaseAddress } from '../../src/store/connection.ts';
import { copyEmptyCluster } from '../harness/empty-cluster.ts';
import { fullOnly } from '../harness/tier.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { untilSucceeds } from '../harness/until.ts';

const uid = process.getuid?.() ?? -1;
const root = realpathSync(mkdtempSync(join(tmpdir(), 'naru-embedded-crash-')));
const dataDir = join(root, 'data');
const cluster = join(dataDir, 'postgres');
const door = new URL('../../src/postgres/embedded.ts', import.meta.url).href;
const setpriv = which('setpriv', process.env);

const fullWithSetpriv = setpriv === null ? { skip: 'needs setpriv' } : fullOnly;

before(async () => {
  chmodSync(root, 0o755);
  copyEmptyCluster(dataDir);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const server = await start();
  await run(server.connection, 'CREATE TABLE paid (id int PRIMARY KEY)');
  await server.stop();
});
after(() => rmSync(root, { recursive: true, force: true }));

function start(output: string[] = [], exits: string[] = []): Promise<EmbeddedServer> {
  const env = process.env;
  return startEmbedded({
    dataDir,
    uid,
    env,
    progress: (line) => output.push(line),
    onExit: (why) => exits.push(why),
  });
}

/**
 * Another process that owns the server until it is killed. Without setpriv on its PATH the server
 * outlives it.
 */
async function startOwner(env: NodeJS.ProcessEnv): Promise<ChildProcess> {
  const options = `{ dataDir: ${JSON.stringify(dataDir)}, uid: ${uid}, env: process.env, progress() {} }`;
  const script = `import { startEmbedded } from ${JSON.stringify(door)};
    await startEmbedded(${options});
    setInterval(() => {}, 1000);
    console.log('up');`;
  const owner = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(owner.stdout ?? assert.fail(), 'data');
  assert.equal(String(line).trim(), 'up');
  return owner;
}

async function killNow(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

async function run(address: DatabaseAddress, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = await connect(address);
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

function pid(): number {
  return readPidFile(cluster)?.pid ?? assert.fail('no pid file');
}

function assertGone(process: number): void {
  let stat = '';
  try {
    stat = readFileSync(`/proc/${process}/stat`, 'utf8');
  } catch {
    return;
  }
  assert.match(stat, /\) Z /, `process ${process} still runs`);
}

const ids = (rows: readonly Record<string, unknown>[]): unknown[] => rows.map((row) => row['id']);

test('a server that ends after its log file was removed is reported', async () => {
  const exits: string[] = [];
  const server = await start([], exits);
  rmSync(join(dataDir, 'postgres.log'));
  process.kill(pid(), 'SIGQUIT');
  await untilSucceeds('its end', 10_000, () => assert.match(exits.join(), /exit status/));
  await server.stop();
});

test('a killed server is reported once, and the next one has every committed row', async () => {
  const messages: string[] = [];
  const exits: string[] = [];
  const server = await start(messages, exits);
  await run(server.connection, 'INSERT INTO paid VALUES (1)');
  process.kill(pid(), 'SIGKILL');
  await untilSucceeds('its end', 10_000, () => assert.match(exits.join(), /SIGKILL/));
  await server.stop();
  const next = await start(messages);
  assert.deepEqual(ids(await run(next.connection, 'SELECT id FROM paid')), [1]);
  assert.equal(exits.length, 1, exits.join('\n'));
  assert.match(messages.join('\n'), /committed is being recovered/);
  await next.stop();
});

test('a query that outlives its killed server does not delay the next one', async () => {
  const exits: string[] = [];
  const server = await start([], exits);
  const busy = await connect(server.connection);
  const [self] = (await busy.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows;
  const endless = busy.query('DO $$ BEGIN LOOP END LOOP; END $$').catch(() => {});
  await untilSucceeds('the calculation runs', 10_000, async () => {
    const rows = await run(
      server.connection,
      `SELECT FROM pg_stat_activity WHERE pid = ${self?.pid} AND state = 'active'`,
    );
    assert.equal(rows.length, 1);
  });
  process.kill(pid(), 'SIGKILL');
  await untilSucceeds('its end', 10_000, () => assert.equal(exits.length, 1));
  const next = await start();
  await run(next.connection, 'SELECT 1');
  await endless;
  assertGone(self?.pid ?? 0);
  await busy.end().catch(() => {});
  await next.stop();
});

test('after Naru and its server die at once, as in a power cut, the committed rows exist', async () => {
  const owner = await startOwner(process.env);
  const client = await connect({
    host: join(dataDir, 'postgres-socket'),
    port: 5432,
    user: 'naru',
    database: 'postgres',
  });
  await client.query('INSERT INTO paid VALUES (2)');
  const postmaster = pid();
  owner.kill('SIGSTOP');
  process.kill(postmaster, 'SIGKILL');
  await killNow(owner);
  await client.end().catch(() => {});
  const messages: string[] = [];
  const server = await start(messages);
  assert.deepEqual(ids(await run(server.connection, 'SELECT id FROM paid ORDER BY id')), [1, 2]);
  assert.match(messages.join('\n'), /committed is being recovered/);
  await server.stop();
});

test('when Naru is killed its server stops too, and leaves nothing to recover', {
  skip: setpriv === null ? 'needs setpriv' : false,
}, async () => {
  const owner = await startOwner(process.env);
  const postmaster = pid();
  await killNow(owner);
  await untilSucceeds('the server is gone', 10_000, () => assertGone(postmaster));
  assert.equal(readPidFile(cluster), null, 'it shut down in order');
});

// With a real Naru and its ledger: test/chaos/kill.test.ts.
test('a start right after Naru was killed waits for the old server to end', fullWithSetpriv, async () => {
  const owner = await startOwner(process.env);
  const postmaster = pid();
  const exited = once(owner, 'exit');
  owner.kill('SIGKILL');
  const server = await start();
  await exited;
  await untilSucceeds('the old one is gone, ours responds', 10_000, async () => {
    assertGone(postmaster);
    assert.deepEqual(ids(await run(server.connection, 'SELECT id FROM paid ORDER BY id')), [1, 2]);
  });
  await server.stop();
});

test(
  'an earlier server that hangs while it stops does not block the next start',
  fullWithSetpriv,
  async () => {
    const owner = await startOwner(process.env);
    const postmaster = readPidFile(cluster)?.pid ?? assert.fail('no server');
    const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8')
      .trim()
      .split(' ');
    const checkpointer = children.find((pid) =>
      readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('checkpointer'),
    );
    process.kill(Number(checkpointer ?? assert.fail('no checkpointer')), 'SIGSTOP');
    // As PostgreSQL does when it gets a stop signal while it recovers from the death of one of its
    // processes: it waits forever.
    await killNow(owner);
    const beganMs = performance.now();
    const server = await start();
    const tookMs = performance.now() - beganMs;
    await run(server.connection, 'SELECT count(*) FROM paid');
    await server.stop();
    assert.ok(tookMs < scaledLimit(40_000), `up after ${Math.round(tookMs)} ms`);
  },
);

test('where the server outlives Naru, the next start stops it and starts another', async () => {
  const owner = await startOwner({ ...process.env, PATH: '/nonexistent' });
  const postmaster = pid();
  await killNow(owner);
  const messages: string[] = [];
  const server = await start(messages);
  assert.notEqual(pid(), postmaster);
  assertGone(postmaster);
  assert.deepEqual(ids(await run(server.connection, 'SELECT id FROM paid ORDER BY id')), [1, 2]);
  assert.doesNotMatch(messages.join('\n'), /recovered/, 'it was shut down in order');
  await server.stop();
  assert.equal(readPidFile(cluster), null);
});
