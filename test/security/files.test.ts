/** What other users of the host may read and write, also with an open umask. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { type TestContext, test } from 'node:test';
import { writeWhole } from '../../src/catalogue/model-metadata-file.ts';
import { openLogFile } from '../../src/log/log-file.ts';
import { nodeDir } from '../../src/nodes/node-dir.ts';
import { lockDataDir } from '../../src/postgres/data-dir-lock.ts';
import { createInstallation } from '../cli/naru.ts';
import { eventually } from '../harness/until.ts';

const isRoot = process.getuid?.() === 0;

function tempDir(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'naru-files-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Every file below a folder whose name others can reach, with its mode. */
function open(dir: string, top = dir): readonly (readonly [string, number])[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name);
    const { mode } = lstatSync(path);
    const own = [[relative(top, path), mode & 0o777] as const];
    if (entry.isSymbolicLink()) return [];
    // Others cannot reach what is inside of an owner-only folder.
    return entry.isDirectory() && (mode & 0o007) !== 0 ? [...own, ...open(path, top)] : own;
  });
}

// security:38
test('a server with the umask 000 lets no other user write any file, or read personal data', async (t) => {
  const installation = createInstallation();
  t.after(() => installation.remove());
  // Created by another user, as by a package, and open to all.
  mkdirSync(installation.dataDir, { mode: 0o755 });
  chmodSync(installation.dataDir, 0o755);
  const before = process.umask(0);
  const serving = await installation.up().finally(() => process.umask(before));
  t.after(() => serving.stop());
  const line = serving.out().match(/^curl .*$/m)?.[0] ?? '';
  const key = /Bearer (\S+)'/.exec(line)?.[1];
  const body = /-d '(.*)'$/.exec(line)?.[1] ?? '';
  const response = await fetch(`${serving.origin}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
  });
  assert.equal(response.status, 200, await response.text());
  const all = await eventually('the files of a server and its slot', 20_000, () => {
    const seen = open(installation.dataDir);
    const names = seen.map(([name]) => name);
    return ['journal', 'node-id', 'postgres', 'slots'].every((name) => names.includes(name)) ? seen : null;
  });
  assert.deepEqual(
    all.filter(([, mode]) => (mode & 0o022) !== 0).map(([name, mode]) => `${name} ${mode.toString(8)}`),
    [],
    'others may write',
  );
  // The public metadata is public; the lock is empty; the rest is in a folder that is closed to
  // others.
  const readable = all.filter(([, mode]) => (mode & 0o004) !== 0).map(([name]) => name);
  assert.deepEqual(
    readable.filter((name) => name !== 'model-facts.json'),
    [],
    'others may read',
  );
  for (const [name, wanted] of [
    ['journal', 0o700],
    ['control', 0o700],
    ['postgres', 0o700],
    ['postgres-socket', 0o700],
  ] as const)
    assert.equal(lstatSync(join(installation.dataDir, name)).mode & 0o777, wanted, name);
  await serving.stop();
});

// security:38
test('a data directory that others may write to is closed to them', async (t) => {
  const dir = tempDir(t);
  chmodSync(dir, 0o777);
  const lock = await lockDataDir(dir, { pid: process.pid, describe: 'test' });
  lock.release();
  assert.equal(lstatSync(dir).mode & 0o002, 0);
});

// security:38
test('a data directory of another user is used by root only', { skip: !isRoot }, async (t) => {
  const dir = tempDir(t);
  chownSync(dir, 1, 1);
  const script = `import { lockDataDir } from ${JSON.stringify(join(import.meta.dirname, '../../src/postgres/data-dir-lock.ts'))};
process.setgid(65534); process.setuid(65534);
await lockDataDir(${JSON.stringify(dir)}, { pid: process.pid, describe: 'test' }).then(() => console.log('held'), (error) => console.log(error.message));`;
  chmodSync(dir, 0o777);
  const listing = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  assert.match(listing, /belongs to another user/);
});

// security:38
test('a symbolic link planted in the data directory is not written through', (t) => {
  const dir = tempDir(t);
  const victim = join(dir, 'victim');
  const data = join(dir, 'data');
  mkdirSync(data);
  for (const name of ['node-id', 'naru.log', 'model-facts.json']) {
    writeFileSync(victim, 'precious');
    symlinkSync(victim, join(data, name));
  }
  assert.throws(() => nodeDir(data), /ELOOP|link/);
  assert.throws(() => openLogFile(data, () => {}), /ELOOP|link/);
  writeWhole(join(data, 'model-facts.json'), '{}');
  assert.equal(readFileSync(victim, 'utf8'), 'precious');
  assert.equal(readFileSync(join(data, 'model-facts.json'), 'utf8'), '{}');
});
