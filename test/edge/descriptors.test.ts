/* A process that may open too few files, as under a low `ulimit -n`: what it does with connections that it has no descriptor for. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { createInstallation } from '../cli/naru.ts';
import { createTestDatabase, urlOf } from '../harness/database.ts';
import { eventually } from '../harness/until.ts';

const request = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

test('a server without file descriptors responds on its open connections, and accepts again', async (t) => {
  const { address, drop } = await createTestDatabase();
  t.after(drop);
  const installation = createInstallation();
  t.after(() => installation.remove());
  const file = installation.configure({ database: { url: urlOf(address) }, models: [] });
  const serving = await installation.up('--config', file);
  t.after(() => serving.stop());
  const pid = serving.child.pid ?? assert.fail('no process');
  const port = Number(new URL(serving.origin).port);
  const open = (): number => readdirSync(`/proc/${pid}/fd`).length;
  const responseOn = async (socket: Socket): Promise<string> => {
    socket.write(request);
    const [data] = (await once(socket, 'data', { signal: AbortSignal.timeout(10_000) })) as [Buffer];
    return data.toString('latin1').split('\r\n')[0] ?? '';
  };
  const first = connect(port, '127.0.0.1');
  t.after(() => first.destroy());
  assert.equal(await responseOn(first), 'HTTP/1.1 200 OK');
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${open() + 10}:`]);

  const sockets = Array.from({ length: 60 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  const isClosed = new Set<Socket>();
  for (const socket of sockets) socket.once('close', () => isClosed.add(socket)).resume();
  // Those above the limit are closed at once; no client waits for a response that never arrives.
  await eventually('they are closed', 10_000, () => (isClosed.size >= 45 ? true : null));
  assert.ok(isClosed.size < 60, 'up to the limit they are accepted');
  assert.equal(await responseOn(first), 'HTTP/1.1 200 OK');
  assert.equal(serving.child.exitCode, null);

  const accepted = sockets.filter((socket) => !isClosed.has(socket));
  for (const socket of accepted) socket.destroy();
  const again = await eventually('a connection is accepted', 10_000, async () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    t.after(() => socket.destroy());
    return await responseOn(socket).catch(() => null);
  });
  assert.equal(again, 'HTTP/1.1 200 OK');
});
