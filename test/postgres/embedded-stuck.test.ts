import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { identifyServer } from '../../src/postgres/identity.ts';
import { type ClusterContext, launchPostmaster } from '../../src/postgres/postmaster.ts';
import { type Clock, systemClock, within } from '../../src/time/clock.ts';
import { until } from '../harness/until.ts';

/* A server that hangs in mid-operation: scripted, since PostgreSQL does it too rarely. */

function folder(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'naru-stuck-'));
  t.after(() => rmSync(dir, { recursive: true }));
  return dir;
}

test('a server that accepts a connection and never responds counts as silent', async (t) => {
  const dir = folder(t);
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    // AuthenticationOk, and ReadyForQuery.
    socket.once('data', () => socket.write(Buffer.from('5200000008000000005a0000000549', 'hex')));
    socket.on('error', () => {});
  });
  server.listen(join(dir, '.s.PGSQL.5432'));
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  const file = { pid: process.pid, port: 5432, socketDir: dir, status: 'ready' };
  assert.equal(await identifyServer(file, dir), 'silent');
  assert.equal(open.size, 1);
});

test('a server that does not end when its start is cancelled is ended all the same', async (t) => {
  const dir = folder(t);
  const begun = join(dir, 'begun');
  mkdirSync(join(dir, 'postgres'));
  const binDir = join(dir, 'bin');
  mkdirSync(binDir);
  writeFileSync(
    join(binDir, 'postgres'),
    `#!/bin/sh\ntrap 'echo interrupted >> ${begun}' INT\ntrap 'exit 1' QUIT\necho begun > ${begun}\nwhile :; do sleep 0.05; done\n`,
    { mode: 0o755 },
  );
  const late: (() => void)[] = [];
  const clock: Clock = {
    ...systemClock,
    after(_delayMs, task) {
      late.push(task);
      return { cancel: () => {} };
    },
  };
  const site: ClusterContext = {
    clusterDir: join(dir, 'postgres'),
    socketDir: join(dir, 'postgres-socket'),
    logPath: join(dir, 'postgres.log'),
    binaries: { binDir, major: 18 } as ClusterContext['binaries'],
    user: null,
    env: process.env,
    setpriv: null,
    maxConnections: 100,
    clock,
    progress: () => {},
    onLaunch: () => {},
  };
  const stopping = new AbortController();
  const launched = launchPostmaster(site, null, stopping.signal).catch((error: Error) => error.message);
  const output = (): string => (existsSync(begun) ? readFileSync(begun, 'utf8') : '');
  await until('it runs', () => output() !== '');
  stopping.abort(new Error('called off'));
  await until('it was interrupted', () => output().includes('interrupted'));
  late[0]?.();
  assert.equal(await within(systemClock, 5_000, launched, 'it is still there'), 'called off');
});
