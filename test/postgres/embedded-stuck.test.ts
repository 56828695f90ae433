import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { attachEmbedded } from '../../src/postgres/embedded.ts';

/* A server that hangs in mid-operation: scripted, since PostgreSQL does it too rarely. */

function folder(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'naru-stuck-'));
  t.after(() => rmSync(dir, { recursive: true }));
  return dir;
}

test('a server that accepts a connection and never responds counts as none', async (t) => {
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
  const cluster = join(dir, 'postgres');
  mkdirSync(cluster);
  const lines = [process.pid, cluster, 1_700_000_000, 5432, dir, '', '5432001 0', 'ready'];
  writeFileSync(join(cluster, 'postmaster.pid'), lines.join('\n'));
  assert.equal(await attachEmbedded(dir), null);
  assert.equal(open.size, 1);
});
