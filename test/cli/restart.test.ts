/** What the parent that bin/naru and `npm start` leave behind does when what it runs ends. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createTestDatabase } from '../harness/database.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { eventually } from '../harness/until.ts';
import { collectOutput, createInstallationOn, endOf, root } from './naru.ts';

/** The parent, with a program of a few lines below it. */
function supervise(t: TestContext, program: string) {
  const folder = mkdtempSync(join(tmpdir(), 'naru-restart-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'program.mjs');
  writeFileSync(file, `process.channel.unref();\nprocess.stdout.write('begun ');\n${program}\n`);
  const parent = spawn(process.execPath, [join(root, 'scripts/with-node.mjs'), relative(root, file)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => parent.kill('SIGKILL'));
  const { out, err } = collectOutput(parent);
  return { parent, out, err, ended: endOf(parent), starts: () => out().split('begun').length - 1 };
}

const serving = "process.send({ event: 'serving' });";

test('SIGTERM during the wait for a restart ends the parent at once and cleanly', async (t) => {
  const { parent, err, ended, starts } = supervise(t, `${serving} setTimeout(() => process.exit(70), 20);`);
  await eventually('a wait of a second', 20_000, () =>
    err().includes('restarting it in 1 s') ? true : null,
  );
  assert.equal(starts(), 4);
  const beganMs = performance.now();
  parent.kill('SIGTERM');
  assert.equal(await ended, 0);
  assert.ok(performance.now() - beganMs < scaledLimit(900));
  assert.equal(starts(), 4);
});

test('SIGHUP is forwarded without affecting restarts, and SIGTERM ends the running child', async (t) => {
  const program = `${serving} process.on('SIGHUP', () => process.exit(70));
    process.on('SIGTERM', () => process.exit(0)); setInterval(() => {}, 1000); process.stdout.write('ready ');`;
  const { parent, ended, starts, out } = supervise(t, program);
  const isReady = (n: number) => () => (out().split('ready').length - 1 === n ? true : null);
  for (const n of [1, 2, 3]) {
    await eventually(`start ${n}`, 20_000, isReady(n));
    parent.kill('SIGHUP');
  }
  await eventually('the last start', 20_000, isReady(4));
  parent.kill('SIGTERM');
  assert.equal(await ended, 0);
  assert.equal(starts(), 4);
});

test('a program that never served ends its parent with its own exit code', async (t) => {
  for (const code of [0, 1, 2, 70]) {
    const { ended, starts } = supervise(t, `process.exit(${code});`);
    assert.equal(await ended, code);
    assert.equal(starts(), 1);
  }
  const { ended, starts } = supervise(t, "process.kill(process.pid, 'SIGKILL');");
  assert.equal(await ended, 137);
  assert.equal(starts(), 1);
});

// Every user of the machine may use the debugger's port, and read the memory of the process through it.
test('SIGUSR1 opens no debugger in any process of a server', async (t) => {
  const shared = await createTestDatabase();
  const installation = createInstallationOn(shared.address, {});
  const config = ['--data-dir', installation.dataDir, '--config', join(installation.folder, 'naru.yaml')];
  const command = [join(root, 'bin/naru'), 'up', '--workers', '2', ...config];
  const parent = spawn('setpriv', ['--pdeathsig', 'TERM', '--', ...command], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { out, err } = collectOutput(parent);
  const ended = endOf(parent);
  t.after(async () => {
    parent.kill('SIGTERM');
    await ended;
    installation.remove();
    await shared.drop();
  });
  await eventually('it serves', 60_000, () => (out().includes('listening on http') ? true : null));
  const tree = (pid: number): number[] => [
    pid,
    ...readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .split(' ')
      .filter((child) => child.trim() !== '')
      .flatMap((child) => tree(Number(child))),
  ];
  const pids = tree(parent.pid ?? 0);
  assert.ok(pids.length >= 4, 'the launcher, the server and two workers');
  for (const pid of pids) process.kill(pid, 'SIGUSR1');
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  assert.doesNotMatch(err(), /Debugger/);
  assert.deepEqual(tree(parent.pid ?? 0), pids, 'none ended');
});
