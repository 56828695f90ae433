import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type ControlCall, callControl } from '../../src/http/control/call.ts';
import { type ControlServer, serveControl } from '../../src/http/control/serve.ts';
import { createLog, silentLog } from '../../src/log/log.ts';
import { handleSlots } from '../../src/slots/control.ts';
import type { SlotLease, Slots } from '../../src/slots/slots.ts';
import { systemClock } from '../../src/time/clock.ts';
import { engineSlot, openSlots, tempDir } from '../harness/fake-engine.ts';
import { until } from '../harness/until.ts';

/* The control socket: who can connect, where it is, and how it handles invalid input. */

interface Opened {
  readonly dataDir: string;
  readonly slots: Slots;
  readonly server: ControlServer | null;
  readonly logged: string[];
}

async function open(
  t: TestContext,
  dataDir = tempDir(),
  roots: readonly string[] = [tmpdir()],
): Promise<Opened> {
  const slots = await openSlots(t, engineSlot(), { dataDir });
  const logged: string[] = [];
  const log = createLog((line) => logged.push(line), 'debug', systemClock.now);
  const response: Parameters<typeof serveControl>[0]['respond'] = (...request) =>
    handleSlots(slots, ...request);
  const server = await serveControl({ dataDir, roots, respond: response, log });
  t.after(() => server?.close());
  return { dataDir, slots, server, logged };
}

const call = (dataDir: string, method: ControlCall['method'], path: string) =>
  callControl(dataDir, { method, path, limitMs: 10_000 }, systemClock);

// security:39
test('only the owner can connect to the socket, whatever the umask and the mode of the data directory', async (t) => {
  const dataDir = tempDir();
  chmodSync(dataDir, 0o777);
  const before = process.umask(0);
  const { server } = await open(t, dataDir);
  process.umask(before);
  const path = server?.path ?? '';
  assert.equal(path, join(dataDir, 'control', 'main.sock'));
  assert.equal(lstatSync(path).mode & 0o777, 0o600);
  assert.equal(lstatSync(dirname(path)).mode & 0o777, 0o700);
  assert.equal((await call(dataDir, 'GET', '/slots')).status, 200);
});

// security:39
test('an existing folder with open permissions is closed, and a symbolic link is not used', async (t) => {
  const open1 = tempDir();
  mkdirSync(join(open1, 'control'));
  chmodSync(join(open1, 'control'), 0o777);
  await open(t, open1);
  assert.equal(lstatSync(join(open1, 'control')).mode & 0o777, 0o700);

  const linked = tempDir();
  const elsewhere = tempDir();
  symlinkSync(elsewhere, join(linked, 'control'));
  const { server, logged } = await open(t, linked);
  assert.equal(server, null);
  assert.match(logged.join(''), /control\.unavailable.*is not a folder/);
  assert.equal(existsSync(join(elsewhere, 'main.sock')), false);
});

test('a path that is too long for a socket falls back to a runtime folder, which is found again and removed at the end', async (t) => {
  const dataDir = join(tempDir(), 'd'.repeat(100));
  mkdirSync(dataDir);
  const { server } = await open(t, dataDir);
  const path = server?.path ?? '';
  assert.ok(path.startsWith(join(tmpdir(), 'naru-')), path);
  assert.equal(lstatSync(dirname(path)).mode & 0o777, 0o700);
  assert.equal((await call(dataDir, 'GET', '/slots')).status, 200);
  // A folder that others may enter could belong to another user: no request is sent there.
  chmodSync(dirname(path), 0o755);
  await assert.rejects(call(dataDir, 'GET', '/slots'), { why: 'none' });
  chmodSync(dirname(path), 0o700);
  await server?.close();
  assert.equal(existsSync(dirname(path)), false);
  await assert.rejects(call(dataDir, 'GET', '/slots'), { why: 'none' });
});

test('the socket of a killed server is replaced, in the data directory and in a runtime folder', async (t) => {
  const beside = tempDir();
  mkdirSync(join(beside, 'control'));
  writeFileSync(join(beside, 'control', 'main.sock'), 'left over');
  await assert.rejects(call(beside, 'GET', '/slots'), { why: 'none' });
  await open(t, beside);
  assert.equal((await call(beside, 'GET', '/slots')).status, 200);

  const far = join(tempDir(), 'd'.repeat(100));
  mkdirSync(join(far, 'control'), { recursive: true });
  const runtime = mkdtempSync(join(tmpdir(), 'naru-'));
  t.after(() => rmSync(runtime, { recursive: true, force: true }));
  writeFileSync(join(runtime, 'main.sock'), 'left over');
  writeFileSync(join(far, 'control', 'main.path'), `${join(runtime, 'main.sock')}\n`);
  const { server } = await open(t, far);
  assert.equal(server?.path, join(runtime, 'main.sock'));
});

test('if a location rejects a socket, the next one is tried', async (t) => {
  // Root may write everywhere, so the test runs as another user for a while.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    const dataDir = join(mkdtempSync(join(tmpdir(), 'naru-test-')), 'd'.repeat(100));
    mkdirSync(join(dataDir, 'control'), { recursive: true });
    const closed = mkdtempSync(join(tmpdir(), 'naru-'));
    writeFileSync(join(dataDir, 'control', 'main.path'), `${join(closed, 'main.sock')}\n`);
    chmodSync(closed, 0o500);
    const respond = async () => ({ status: 200, body: {} });
    const server = await serveControl({ dataDir, roots: [tmpdir()], respond: respond, log: silentLog });
    t.after(() => server?.close());
    assert.notEqual(dirname(server?.path ?? ''), closed);
    assert.equal((await call(dataDir, 'GET', '/slots')).status, 200);
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
});

test('if every location rejects a socket, the server runs without one and logs it', async (t) => {
  const dataDir = join(tempDir(), 'd'.repeat(100));
  mkdirSync(dataDir);
  const { server, logged } = await open(t, dataDir, ['/dev/null']);
  assert.equal(server, null);
  assert.match(logged.join(''), /control\.unavailable/);
});

test('every invalid request has its own error, and the slot is unchanged', async (t) => {
  const { dataDir, slots } = await open(t);
  const statuses: Record<string, number> = {};
  for (const [method, path] of [
    ['GET', '/'],
    ['POST', '/slots'],
    ['GET', '/slots/local-a'],
    ['GET', '/slots/local-a/start'],
    ['POST', '/slots/local-a'],
    ['POST', '/slots/local-a/dance'],
    ['POST', '/slots/nobody/start'],
    ['POST', '/slots/%2e%2e%2flocal-a/start'],
    ['POST', '/slots/%E0%A4%A/start'],
    ['POST', '/slots/local-a/start/now'],
    ['POST', '/slots/local-a/stop?drain_ms=-1'],
    ['POST', '/slots/local-a/stop?drain_ms=soon'],
    ['POST', '/slots/__proto__/start'],
  ] as const)
    statuses[`${method} ${path}`] = (await call(dataDir, method, path)).status;
  assert.deepEqual(
    Object.values(statuses),
    [404, 405, 200, 405, 405, 404, 404, 404, 404, 404, 400, 400, 404],
  );
  assert.equal(slots.status('local-a').starts, 0);
});

test('bytes that are not HTTP, and a client that never ends its request, do no harm', async (t) => {
  const { dataDir, server } = await open(t);
  const path = server?.path ?? '';
  const garbage = connect(path);
  garbage.on('error', () => {});
  garbage.end(Buffer.from([0, 255, 13, 10, 13, 10]));
  const slow = connect(path);
  slow.on('error', () => {});
  slow.write('POST /slots/local-a/start HTTP/1.1\r\nHost: x\r\n');
  assert.equal((await call(dataDir, 'GET', '/slots')).status, 200);
  await server?.close();
  slow.destroy();
});

test('a server that does not respond, breaks off or returns nonsense is an error within the time limit', async (t) => {
  const dataDir = tempDir();
  mkdirSync(join(dataDir, 'control'), { mode: 0o700 });
  const acts = [
    '',
    'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n[',
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello',
  ];
  let act = '';
  const server = createServer((socket) => {
    socket.on('error', () => {});
    if (act !== '') socket.end(act);
  });
  await new Promise<void>((resolve) => server.listen(join(dataDir, 'control', 'main.sock'), resolve));
  t.after(() => server.close());
  for (act of acts) {
    const request = callControl(dataDir, { method: 'GET', path: '/slots', limitMs: 300 }, systemClock);
    await assert.rejects(request, { why: 'silent' });
  }
});

test('a stop waits for the request in flight up to its limit, and then for the engine', async (t) => {
  const { dataDir, slots } = await open(t);
  const acquired = await slots.acquire('local-a', { accountId: 1, signal: new AbortController().signal });
  const lease = acquired as SlotLease;
  const stopping = call(dataDir, 'POST', '/slots/local-a/stop?drain_ms=60000');
  let isOver = false;
  void stopping.then(() => {
    isOver = true;
  });
  await until('DRAINING', () => slots.status('local-a').state === 'DRAINING');
  assert.equal(isOver, false);
  assert.equal(lease.cancelReason.aborted, false);
  lease.release();
  const { body } = await stopping;
  assert.deepEqual(
    { ...(body as object), last_start_ms: null },
    {
      name: 'local-a',
      driver: 'process',
      state: 'COLD',
      reason: 'stopped',
      pid: null,
      port: null,
      in_flight: 0,
      queued: 0,
      starts: 1,
      last_start_ms: null,
    },
  );
});

test('a client that disconnects during a stop does not cancel it', async (t) => {
  const { slots, server } = await open(t);
  await slots.acquire('local-a', { accountId: 1, signal: new AbortController().signal });
  const socket = connect(server?.path ?? '');
  socket.on('error', () => {});
  socket.write('POST /slots/local-a/stop?drain_ms=100 HTTP/1.1\r\nHost: x\r\n\r\n');
  await until('the stop', () => slots.status('local-a').state !== 'READY');
  socket.destroy();
  await until('COLD', () => slots.status('local-a').state === 'COLD');
});
