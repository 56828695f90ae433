import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { FollowedConfiguration } from '../../src/app/running-configuration.ts';
import { startServer } from '../../src/app/server.ts';
import { InProcessWorker } from '../../src/app/workers/in-process-worker.ts';
import type { Config } from '../../src/config/config.ts';
import { silentLog } from '../../src/log/log.ts';
import { readNodes } from '../../src/nodes/nodes.ts';
import { createProcesses } from '../../src/slots/drivers/processes.ts';
import { Database } from '../../src/store/database.ts';
import { systemClock } from '../../src/time/clock.ts';
import { createTestDatabase } from '../harness/database.ts';
import { freePort } from '../harness/free-port.ts';
import { testConfig } from '../harness/gateway.ts';
import { TestClock } from '../harness/test-clock.ts';

/* What a start leaves behind that fails in the middle. */

let world: { readonly database: Database; readonly dataDir: string; close(): Promise<void> };
let taken: { readonly port: number; readonly server: Server };
before(async () => {
  const own = await createTestDatabase();
  const database = new Database(own.address, 8);
  const dataDir = mkdtempSync(join(tmpdir(), 'naru-test-'));
  world = {
    database,
    dataDir,
    async close() {
      await database.close();
      await own.drop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  taken = { server, port: (server.address() as { port: number }).port };
});
after(async () => {
  taken.server.close();
  await world.close();
});

function start(config: Config, stopRequested: Promise<void> = new Promise(() => {})) {
  return startServer({
    config,
    database: world.database,
    dataDir: world.dataDir,
    proc: { version: '0.0.0', uid: process.getuid?.() ?? -1, env: process.env },
    configuration: new FollowedConfiguration({
      file: null,
      describe: () => ({ ok: true, values: [] }),
      clock: systemClock,
    }),
    clock: new TestClock(),
    log: silentLog,
    processes: createProcesses((pid, signal) => process.kill(pid, signal)),
    workers: new InProcessWorker(async () => []),
    stopRequested,
    onPublished: () => {},
    onSuperseded: () => {},
    onHistoryChanged: () => {},
  });
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}

const host = '127.0.0.1';

test('a start whose port is in use leaves no node and no open journal', async () => {
  const config = testConfig({ config: { listen: { host, port: taken.port } } });
  await assert.rejects(start(config), { code: 'EADDRINUSE' });
  assert.deepEqual(await readNodes(world.database), []);
});

test('a start whose admin port is in use does not listen', async () => {
  const port = await freePort();
  const config = testConfig({ config: { listen: { host, port }, admin: { host, port: taken.port } } });
  await assert.rejects(start(config), { code: 'EADDRINUSE' });
  assert.equal(await accepts(port), false);
  assert.deepEqual(await readNodes(world.database), []);
});

test('a stop that is requested during the start ends it in order', async () => {
  const port = await freePort();
  assert.equal(await start(testConfig({ config: { listen: { host, port } } }), Promise.resolve()), null);
  assert.equal(await accepts(port), false);
  assert.deepEqual(await readNodes(world.database), []);
});

test('after failed starts the same directory serves', async () => {
  const server = await start(testConfig({}));
  assert.ok(server !== null);
  assert.equal(await accepts(server.port), true);
  await server.close(AbortSignal.abort());
  assert.equal(await accepts(server.port), false);
});
