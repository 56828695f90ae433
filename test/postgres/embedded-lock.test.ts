import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { commandHolder, DataDirLockedError, lockDataDir } from '../../src/postgres/data-dir-lock.ts';
import { byTier } from '../harness/tier.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'naru-embedded-lock-')));
const door = new URL('../../src/postgres/data-dir-lock.ts', import.meta.url).href;
const ours = { pid: process.pid, describe: 'naru up, listening on http://127.0.0.1:8787' };

after(() => rmSync(root, { recursive: true, force: true }));

/** The result of a contender's attempt. */
interface Tried {
  readonly won: boolean;
  readonly message: string;
}

/** A process that tries to lock each directory it receives, and releases the lock on null. */
function contender(): ChildProcess {
  const script = `import { lockDataDir } from ${JSON.stringify(door)};
    let lock = null;
    process.on('message', async (dir) => {
      if (dir === null) return lock?.release();
      try {
        lock = await lockDataDir(dir, { pid: process.pid, describe: 'a contender' });
        process.send({ won: true, message: '' });
      } catch (error) {
        process.send({ won: false, message: error.message });
      }
    });
    process.on('disconnect', () => process.exit());
    process.send('ready');`;
  return spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
}

async function tryFor(process: ChildProcess, dir: string): Promise<Tried> {
  process.send(dir);
  const [response] = await once(process, 'message');
  return response;
}

test('the directory is created for its owner only, and locked by one process at a time', async () => {
  const dir = join(root, 'one');
  const lock = await lockDataDir(dir, ours);
  assert.equal(statSync(dir).mode & 0o777, 0o700);
  const isRefused = (isByCommand: boolean) => (error: unknown) =>
    error instanceof DataDirLockedError && error.isByCommand === isByCommand;
  await assert.rejects(lockDataDir(dir, ours), isRefused(false));
  lock.release();
  lock.release();
  const again = await lockDataDir(dir, commandHolder(process.pid));
  await assert.rejects(lockDataDir(dir, ours), isRefused(true));
  again.release();
});

test('the second process reports which process has the lock, since when and its address', async () => {
  const dir = join(root, 'told');
  const lock = await lockDataDir(dir, { pid: process.pid, describe: 'naru up' });
  lock.describe(ours.describe);
  const loser = contender();
  await once(loser, 'message');
  const { won, message } = await tryFor(loser, dir);
  assert.equal(won, false);
  assert.match(
    message,
    new RegExp(`process ${process.pid} \\(naru up, listening on http://127\\.0\\.0\\.1:8787\\)`),
  );
  assert.match(message, /since \d{4}-\d\d-\d\dT/);
  lock.release();
  assert.deepEqual(await tryFor(loser, dir), { won: true, message: '' });
  await assert.rejects(
    lockDataDir(dir, ours),
    (error) => error instanceof DataDirLockedError && error.pid === loser.pid,
  );
  loser.disconnect();
  await once(loser, 'exit');
});

test('of many processes that start together exactly one gets the lock, also after its owner was killed', async () => {
  const all = Array.from({ length: byTier(8, 20) }, contender);
  await Promise.all(all.map((each) => once(each, 'message')));
  const rest = new Set(all);
  for (let round = 0; round < 6; round += 1) {
    const dir = join(root, round < 3 ? 'killed' : `fresh-${round}`);
    const contenders = [...rest];
    const tried = await Promise.all(contenders.map((each) => tryFor(each, dir)));
    const winners = contenders.filter((_, i) => tried[i]?.won);
    assert.equal(winners.length, 1, `round ${round}: ${winners.length} winners`);
    const [winner] = winners;
    assert.ok(winner);
    for (const { won, message } of tried)
      if (!won) assert.match(message, new RegExp(`in use by process ${winner.pid} `));
    // Its lock file stays behind; the next round has to get past it.
    rest.delete(winner);
    winner.kill('SIGKILL');
    await once(winner, 'exit');
  }
  for (const each of rest) each.disconnect();
  await Promise.all([...rest].map((each) => once(each, 'exit')));
});

test('the lock file of a dead process does not block, nor does one whose pid was reused', async () => {
  const dir = join(root, 'stale');
  (await lockDataDir(dir, ours)).release();
  for (const pid of [process.pid, 1, 4_194_303]) {
    const stale = {
      pid,
      born: 'an earlier boot:1',
      since: '2020-01-01T00:00:00.000Z',
      describe: 'long dead',
    };
    writeFileSync(join(dir, 'naru.lock.json'), JSON.stringify(stale));
    const lock = await lockDataDir(dir, ours);
    assert.equal(JSON.parse(readFileSync(join(dir, 'naru.lock.json'), 'utf8')).describe, ours.describe);
    lock.release();
  }
});

test('the lock is kept when its handle is garbage-collected', async () => {
  const dir = join(root, 'forgotten');
  const holder = spawn(
    process.execPath,
    [
      '--expose-gc',
      '--input-type=module',
      '-e',
      `import { lockDataDir } from ${JSON.stringify(door)};
       // In a separate function, whose frame is gone when the collector runs.
       await (async () => { await lockDataDir(${JSON.stringify(dir)}, { pid: process.pid, describe: 'forgetful' }); })();
       setInterval(gc, 5);
       setTimeout(() => process.send('collected'), 50);`,
    ],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  );
  await once(holder, 'message');
  await assert.rejects(lockDataDir(dir, ours), new RegExp(`process ${holder.pid} \\(forgetful\\)`));
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  (await lockDataDir(dir, ours)).release();
});

test('a directory that cannot be created is rejected with the reason', async () => {
  writeFileSync(join(root, 'file'), '');
  await assert.rejects(lockDataDir(join(root, 'file', 'data'), ours), /cannot be used: .*ENOTDIR/);
});
