import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { inheritedSocket } from '../../scripts/listen-fds.mjs';

const module = join(import.meta.dirname, '../../scripts/listen-fds.mjs');

/** What a process finds whose descriptor 3 is this one. */
function foundWith(third: number | 'ignore', env: (pid: number) => object): unknown {
  const script = `import { inheritedSocket } from ${JSON.stringify(module)};
    const env = (${env})(process.pid);
    process.stdout.write(JSON.stringify(inheritedSocket(env, process.pid)));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'pipe', third],
    encoding: 'utf8',
  });
  assert.equal(stderr, '');
  return JSON.parse(stdout);
}

const forThisProcess = (pid: number): object => ({ LISTEN_PID: String(pid), LISTEN_FDS: '1' });

test('a process finds the listening socket that it inherited, with its address', async (t) => {
  for (const host of ['127.0.0.1', '::1']) {
    const server = createServer().listen(0, host);
    t.after(() => server.close());
    await once(server, 'listening');
    const { port } = server.address() as { readonly port: number };
    // biome-ignore lint/suspicious/noExplicitAny: Node does not show the descriptor of a server.
    const { fd } = (server as any)._handle;
    assert.deepEqual(foundWith(fd, forThisProcess), { socket: { fd: 3, host, port }, trouble: null });
  }
});

test('a descriptor that is not a TCP socket is ignored', () => {
  for (const third of ['ignore', 2] as const)
    assert.deepEqual(foundWith(third, forThisProcess), {
      socket: null,
      trouble: 'descriptor 3 is no TCP socket',
    });
});

test('a socket for another process, or more than one, is ignored; without one there is no trouble', () => {
  const cases: readonly (readonly [string | undefined, string | undefined, string | null])[] = [
    [undefined, undefined, null],
    ['1', '1', 'LISTEN_PID is "1", and this is process 7'],
    ['x', '1', 'LISTEN_PID is "x", and this is process 7'],
    [undefined, '1', 'LISTEN_PID is "", and this is process 7'],
    ['7', undefined, 'LISTEN_FDS is "", and Naru listens on one socket'],
    ['7', '0', 'LISTEN_FDS is "0", and Naru listens on one socket'],
    ['7', '2', 'LISTEN_FDS is "2", and Naru listens on one socket'],
    ['7', '1e0', 'LISTEN_FDS is "1e0", and Naru listens on one socket'],
  ];
  for (const [LISTEN_PID, LISTEN_FDS, trouble] of cases)
    assert.deepEqual(inheritedSocket({ LISTEN_PID, LISTEN_FDS }, 7), { socket: null, trouble });
});
