import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { engineCommand } from '../harness/fake-engine.ts';
import { program } from '../harness/program.ts';
import { fullOnly } from '../harness/tier.ts';
import { eventually } from '../harness/until.ts';
import {
  collectOutput,
  createInstallation,
  type Ended,
  endOf,
  type Installation,
  type Serving,
  systemUser,
} from './naru.ts';

/* `naru slot`, beside a server and without one (spec:operator/1.9). */

let installation: Installation;
let config: string;
let serving: Serving;
let own: Installation;

before(async () => {
  installation = createInstallation({ hasCluster: true });
  own = createInstallation({ hasCluster: true });
  config = installation.configure({
    slots: [
      { name: 'fine', command: engineCommand({ spamMb: 1 }), max_concurrency: 2 },
      { name: 'broken', command: engineCommand({ crashAtStart: 3 }) },
      { name: 'slow', command: engineCommand({ delayMs: 600_000 }) },
    ],
  });
  serving = await installation.up('--config', config);
});
after(async () => {
  await serving?.stop();
  installation?.remove();
  own?.remove();
});

async function stateOf(name: string): Promise<string> {
  const rows = (await installation.json('slot', 'list')).rows;
  return rows.find((row) => row.name === name)?.state;
}

/** One line, and no stack. */
function assertPrinted({ code, out, err }: Ended, message: RegExp): void {
  assert.equal(code, 1, err);
  assert.equal(out, '');
  assert.match(err, message);
  assert.equal(err.split('\n').length, 2, err);
}

test('a slot is started and stopped, and each command waits for it', async () => {
  const started = await installation.run('slot', 'start', 'fine');
  assert.equal(started.code, 0, started.err);
  assert.match(started.out, /^fine: READY \(pid \d+, port \d+\); last start took \d+\.\d s\n$/);
  assert.match(started.err, /^fine: STARTING, /);
  const [row] = (await installation.json('slot', 'list')).rows;
  assert.deepEqual([row.name, row.state, row.starts, row.in_flight, row.queued], ['fine', 'READY', 1, 0, 0]);
  assert.equal((await fetch(`http://127.0.0.1:${row.port}/health`)).status, 200);

  const again = await installation.json('slot', 'start', 'fine');
  assert.deepEqual([again.code, again.err, again.rows[0].pid], [0, '', row.pid]);

  const stopped = await installation.json('slot', 'stop', 'fine', '--as', '김 운영');
  assert.deepEqual([stopped.code, stopped.err, stopped.rows[0].state], [0, '', 'COLD']);
  assert.throws(() => process.kill(row.pid, 0), { code: 'ESRCH' });
  assert.equal((await installation.run('slot', 'stop', 'fine')).code, 0);
  // spec:operator/1.18
  const { rows } = await installation.json('audit', '--lines', '4');
  assert.deepEqual(
    rows.map(({ act, who }) => [act, who]),
    [
      ['slot.stop', systemUser],
      ['slot.stop', '김 운영'],
      ['slot.start', systemUser],
      ['slot.start', systemUser],
    ],
  );
});

test('the list is a table for people and one JSON object a line for programs', async () => {
  const { out, err, code } = await installation.run('slot', 'list');
  assert.deepEqual([code, err], [0, '']);
  const [head = '', ...lines] = out.trimEnd().split('\n');
  assert.match(head, /^name\tdriver\tstate\tin_flight\tqueued\tstarts\tlast_start_ms\tpid\tport\treason$/);
  assert.equal(lines.length, 3);
  for (const line of lines) assert.equal(line.split('\t')[1], 'process');
  const { rows } = await installation.json('slot', 'list');
  assert.deepEqual(
    rows.map((row) => row.name),
    ['fine', 'broken', 'slow'],
  );
  assert.deepEqual(Object.keys(rows[0]), [
    'name',
    'driver',
    'state',
    'reason',
    'pid',
    'port',
    'in_flight',
    'queued',
    'starts',
    'last_start_ms',
  ]);
});

test('an engine that fails to start is exit code 1 with its last log lines, on each attempt', async () => {
  for (let n = 0; n < 2; n += 1) {
    const { code, out } = await installation.run('slot', 'start', 'broken');
    assert.equal(code, 1);
    // A busy machine prints it after the back-off of a second.
    assert.match(out, /^broken: (BACKOFF|COLD), the engine exited with code 3: no such model\n$/);
  }
});

test('a start without waiting continues, and so does one whose command was interrupted; a stop ends it', async () => {
  const { code, rows } = await installation.json('slot', 'start', 'slow', '--no-wait');
  assert.deepEqual([code, rows[0].state], [0, 'STARTING']);
  const waiting = spawn(
    process.execPath,
    [program(), 'slot', 'start', 'slow', '--data-dir', installation.dataDir],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const { err } = collectOutput(waiting);
  await eventually('progress', 20_000, () => (err().includes('STARTING') ? true : null));
  const ended = once(waiting, 'exit');
  waiting.kill('SIGINT');
  assert.deepEqual(await ended, [null, 'SIGINT']);
  assert.equal(await stateOf('slow'), 'STARTING');
  const stopped = await installation.run('slot', 'stop', 'slow', '--drain', '0');
  assert.deepEqual([stopped.code, stopped.out], [0, 'slow: COLD, stopped\n']);
});

test('a command that waits for a start reports that another command stopped it', fullOnly, async () => {
  const waiting = installation.run('slot', 'start', 'slow');
  await eventually('the start', 20_000, async () => ((await stateOf('slow')) === 'STARTING' ? true : null));
  assert.equal((await installation.run('slot', 'stop', 'slow')).code, 0);
  const { code, out } = await waiting;
  assert.deepEqual([code, out], [1, 'slow: COLD, stopped\n']);
});

test('an unknown slot is reported with the closest name', async () => {
  assertPrinted(
    await installation.run('slot', 'start', 'fien'),
    /^naru: no slot fien \(did you mean "fine"\?\)/,
  );
  assertPrinted(await installation.run('slot', 'stop', '../fine'), /no slot \.\.\/fine/);
  assertPrinted(await installation.run('slot', 'logs', '../../control'), /no slot/);
  assertPrinted(await installation.run('slot', 'logs', 'slow', '--start', '99'), /no log for s/);
});

test('logs are those of the newest start, of an earlier one, or its last lines', async () => {
  await installation.run('slot', 'start', 'fine');
  await installation.run('slot', 'stop', 'fine');
  const whole = await installation.run('slot', 'logs', 'broken');
  assert.deepEqual([whole.code, whole.out], [0, 'no such model\n']);
  const long = await installation.json('slot', 'logs', 'fine', '-n', '2');
  assert.equal(long.rows.length, 2);
  assert.deepEqual(Object.keys(long.rows[0]), ['slot', 'started_at', 'line']);
  assert.ok(Date.parse(long.rows[0].started_at) > 0);
  const earlier = await installation.json('slot', 'logs', 'fine', '-n', '1', '--start', '2');
  assert.ok(earlier.rows[0].started_at < long.rows[0].started_at);
});

test('followed logs print new lines', async () => {
  const folder = join(installation.dataDir, 'slots', 'broken');
  const newest = readdirSync(folder).findLast((name) => name.endsWith('.log')) ?? '';
  const args = ['slot', 'logs', 'broken', '-f', '-n', '1', '--data-dir', installation.dataDir];
  const child = spawn(process.execPath, [program(), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { out } = collectOutput(child);
  await eventually('what was there', 20_000, () => (out() === 'no such model\n' ? true : null));
  appendFileSync(join(folder, newest), '다음 줄\n');
  await eventually('what came', 20_000, () => (out() === 'no such model\n다음 줄\n' ? true : null));
  const ended = endOf(child);
  child.kill('SIGINT');
  await ended;
});

test('another user gets an error that names the owner, and nothing else', {
  skip: process.getuid?.() !== 0,
}, async () => {
  const args = [program(), 'slot', 'list', '--data-dir', installation.dataDir];
  const child = spawn(process.execPath, args, { uid: 65534, gid: 65534, stdio: ['ignore', 'pipe', 'pipe'] });
  const { out, err } = collectOutput(child);
  assert.equal(await endOf(child), 1);
  assert.equal(out(), '');
  assert.match(
    err(),
    /^naru: no permission to connect to the server of .*: run this command as the user that runs the server\n$/,
  );
});

test('without a server the configured slots are listed cold, their logs are readable, and none can be started', async () => {
  const slots = [{ name: 'fine', command: engineCommand({}) }];
  const file = own.configure({ slots });
  const listed = await own.json('slot', 'list', '--config', file);
  assert.deepEqual([listed.code, listed.err, listed.rows.length], [0, '', 1]);
  assert.deepEqual(
    [listed.rows[0].state, listed.rows[0].reason, listed.rows[0].starts],
    ['COLD', 'no server is running', 0],
  );
  assertPrinted(
    await own.run('slot', 'start', 'fine', '--config', file),
    /^naru: no server is running on .*naru up/,
  );
  assertPrinted(await own.run('slot', 'stop', 'fine', '--config', file), /^naru: no server is running on /);
  assertPrinted(await own.run('slot', 'logs', 'fine', '--config', file), /^naru: no log for slot fine/);
  mkdirSync(join(own.dataDir, 'slots/fine'), { recursive: true });
  appendFileSync(join(own.dataDir, 'slots/fine/2026-01-01T00-00-00.000Z.log'), 'once\n');
  assert.equal((await own.run('slot', 'logs', 'fine', '--config', file)).out, 'once\n');
  assert.equal(existsSync(join(own.dataDir, 'control')), false);
});

test('a server without a socket is not reported as no server', async () => {
  rmSync(join(installation.dataDir, 'control/main.sock'));
  assertPrinted(
    await installation.run('slot', 'list'),
    /^naru: cannot reach the server of .* \(process \d+\)/,
  );
});
