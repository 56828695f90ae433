/** A server on a socket that another process opened, as systemd does for `naru.socket`. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createTestDatabase } from '../harness/database.ts';
import { freePort } from '../harness/free-port.ts';
import { byTier } from '../harness/tier.ts';
import { eventually, until } from '../harness/until.ts';
import { collectOutput, createInstallationOn, endOf, root } from './naru.ts';

const activate = ['/usr/bin/systemd-socket-activate', '/bin/systemd-socket-activate'].find(existsSync);
const launcher = [process.execPath, join(root, 'scripts/with-node.mjs'), 'src/main.ts'];
const clients = 8;

/** What stays while servers come and go, as systemd does: it holds the socket and starts the next one. */
const supervisor = 'while :; do (export LISTEN_PID=$BASHPID; exec setpriv --pdeathsig TERM -- "$@"); done';

/** `naru up` below systemd's tool, which opens the socket; it starts with the first connection. */
async function startActivated(t: TestContext, workers: number) {
  if (activate === undefined)
    throw new Error(
      'systemd-socket-activate is missing, and sockets cannot be tested: apt-get install systemd',
    );
  const shared = await createTestDatabase();
  const limits = { requests_per_second: 100_000, burst: 100_000 };
  const installation = createInstallationOn(shared.address, { limits });
  const { dataDir, folder } = installation;
  const port = await freePort();
  const naru = [...launcher, 'up', '--workers', `${workers}`, '--data-dir', dataDir];
  const command = [...naru, '--config', join(folder, 'naru.yaml')];
  const tool = [activate, '--listen', `127.0.0.1:${port}`, 'bash', '-c', supervisor, 'bash', ...command];
  // It ends with this process, and the server with it.
  const parent = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...tool], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { out, err } = collectOutput(parent);
  const ended = endOf(parent);
  const pid = parent.pid ?? 0;
  const server = (): number => Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
  t.after(async () => {
    parent.kill('SIGKILL');
    await ended;
    installation.remove();
    await shared.drop();
  });
  await until('the tool listens', () => err().includes('Listening on '));
  const starts = (): number => out().split(`listening on http://127.0.0.1:${port}\n`).length - 1;
  return { port, server, starts, err };
}

/** Requests over a new connection each until `stop`, which returns how each of them ended. */
function startLoad(port: number) {
  const ends: string[] = [];
  let isOver = false;
  const once = (): Promise<string> =>
    new Promise((resolve) => {
      const options = { host: '127.0.0.1', port, path: '/api/v1/models', agent: false };
      get(options, (response) => {
        response.on('error', ({ message }) => resolve(message));
        response.resume().on('end', () => resolve(`${response.statusCode}`));
      }).on('error', ({ message }) => resolve(message));
    });
  const client = async (): Promise<void> => {
    while (!isOver) ends.push(await once());
  };
  const running = Array.from({ length: clients }, client);
  return {
    ends,
    async stop() {
      isOver = true;
      await Promise.all(running);
      return ends;
    },
  };
}

for (const workers of byTier([1], [1, 2]))
  test(`no connection is refused while naru up --workers ${workers} restarts on its socket`, async (t) => {
    const { port, server, starts, err } = await startActivated(t, workers);
    const load = startLoad(port);
    const restarts = byTier(1, 3);
    for (let round = 0; round <= restarts; round += 1) {
      await until('it serves', () => starts() === round + 1, 60_000).catch((error) => {
        throw new Error(err(), { cause: error });
      });
      const before = load.ends.length;
      await until('the load goes on', () => load.ends.length > before + 100, 30_000);
      if (round < restarts) process.kill(server(), 'SIGTERM');
    }
    const ends = await load.stop();
    assert.deepEqual(
      ends.filter((end) => end !== '200'),
      [],
    );
    assert.ok(ends.length > 200);
    assert.equal(
      err().split(`serving on the socket that was passed, http://127.0.0.1:${port}`).length - 1,
      starts(),
    );
    t.diagnostic(`${ends.length} requests over ${restarts} restarts, 0 refused`);
  });

test(
  'a killed worker gets a successor on the same socket',
  byTier({ skip: 'npm run test:all runs it' }, {}),
  async (t) => {
    const { port, server, starts } = await startActivated(t, 2);
    const load = startLoad(port);
    await until('it serves', () => starts() === 1, 60_000);
    const childrenOf = (pid: number): readonly number[] =>
      readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
    const [main = 0] = childrenOf(server());
    const isWorker = (pid: number): boolean => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('\0worker\0');
      } catch {
        // It has ended since its parent was read.
        return false;
      }
    };
    const workers = (): readonly number[] => childrenOf(main).filter(isWorker);
    const first = workers();
    assert.equal(first.length, 2);
    // All at once: no other worker keeps the socket open.
    for (const pid of first) process.kill(pid, 'SIGKILL');
    await eventually('successors', 30_000, () =>
      workers().length === 2 && workers().every((pid) => !first.includes(pid)) ? true : null,
    );
    const before = load.ends.length;
    await until('they serve', () => load.ends.length > before + 100, 30_000);
    const ends = await load.stop();
    assert.deepEqual(
      ends.filter((end) => /REFUSED/.test(end)),
      [],
    );
    assert.equal(starts(), 1);
  },
);

test('a socket that is for another process is ignored, and the log says so', () => {
  const [command = '', ...args] = launcher;
  const { status, stderr } = spawnSync(command, [...args, 'up', '--config', '/nowhere/naru.yaml'], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, LISTEN_PID: '1', LISTEN_FDS: '1' },
  });
  assert.equal(status, 1);
  assert.match(
    stderr,
    /"message":"a socket was passed but is ignored: LISTEN_PID is \\"1\\", and this is process \d+"/,
  );
});
