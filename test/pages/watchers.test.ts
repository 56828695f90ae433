/** Live views: who may open how many, and when they end. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import { ClientAddresses } from '../../src/http/client-ip.ts';
import type { Exchange } from '../../src/http/exchange.ts';
import { type Served, serve } from '../../src/http/serve.ts';
import { silentLog } from '../../src/log/log.ts';
import { IdempotentChanges } from '../../src/pages/idempotency.ts';
import { pageRoute } from '../../src/pages/page-route.ts';
import { PageServer } from '../../src/pages/page-server.ts';
import { type WatchEvent, Watchers } from '../../src/pages/watchers.ts';
import { Database } from '../../src/store/database.ts';
import { systemClock } from '../../src/time/clock.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';
import { TestSessions } from '../harness/pages.ts';

const sessions = new TestSessions();
const pushes = new Set<(event: WatchEvent) => void>();
let testDatabase: TestDatabase;
let database: Database;

before(async () => {
  testDatabase = await createTestDatabase();
  database = new Database(testDatabase.address, 1);
});
after(async () => {
  await database?.close();
  await testDatabase?.drop();
});

/** A server with one live row. */
async function startLive(limits = {}): Promise<{ readonly server: Served; readonly watchers: Watchers }> {
  const watchers = new Watchers({ sessions, clock: systemClock, log: silentLog, limits });
  const row = pageRoute({
    method: 'GET',
    path: '/dashboard/api/live',
    summary: 'live',
    response: z.object({ n: z.int() }),
    format: 'stream',
    handle: (call) =>
      watchers.watch(call, (push) => {
        pushes.add(push);
        push({ event: 'opened', data: {} });
        return () => pushes.delete(push);
      }),
  });
  const pages = new PageServer({
    area: 'dashboard',
    publicOrigin: null,
    rows: [row],
    sessions,
    changes: new IdempotentChanges({ database, clock: systemClock }),
    log: silentLog,
    distFolder: '/nowhere',
  });
  const server = await serve(
    {
      styleOf: (exchange: Exchange) => pages.styleOf(exchange),
      respond: (exchange) => pages.respond(exchange),
      addresses: new ClientAddresses([]),
      rateLimit: null,
      idleWhileStoppingMs: 0,
      maxBodyBytes: 1_000,
      clientStallMs: 60_000,
      clock: systemClock,
      log: silentLog,
    },
    { host: '127.0.0.1', port: 0 },
  );
  return { server, watchers };
}

/** A watcher that reads what it gets, or nothing while paused. */
class Watcher {
  text = '';
  readonly socket: Socket;
  readonly ended: Promise<unknown>;
  #wake: () => void = () => {};

  constructor(port: number, token: string, method = 'GET') {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('error', () => {});
    this.socket.setEncoding('utf8').on('data', (text) => {
      this.text += text;
      this.#wake();
    });
    this.ended = once(this.socket, 'close');
    this.socket.write(
      `${method} /dashboard/api/live HTTP/1.1\r\nhost: localhost\r\ncookie: naru_session=${token}\r\nconnection: close\r\n\r\n`,
    );
  }

  async sees(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.text))
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
  }
}

test('a live view gets its events, with the headers of a page, and HEAD opens none', async () => {
  const { server, watchers } = await startLive();
  const watcher = new Watcher(server.port, sessions.owner(1));
  await watcher.sees(/event: opened/);
  assert.match(watcher.text, /^HTTP\/1\.1 200 /);
  assert.match(watcher.text, /content-type: text\/event-stream/i);
  assert.match(watcher.text, /cache-control: no-store/i);
  assert.match(watcher.text, /content-security-policy: /i);
  for (const push of pushes) push({ event: 'request', data: { n: 7 }, id: 'a1' });
  await watcher.sees(/id: a1\nevent: request\ndata: \{"n":7\}\n\n/);
  const head = new Watcher(server.port, sessions.owner(1), 'HEAD');
  await head.ended;
  assert.match(head.text, /text\/event-stream/);
  assert.equal(watchers.size, 1);
  watcher.socket.destroy();
  await server.close();
});

test('watchers share the text of an event, and get what one turn sends in one write', async () => {
  const { server } = await startLive();
  const watchers = [1, 2, 3].map((account) => new Watcher(server.port, sessions.owner(account)));
  for (const watcher of watchers) await watcher.sees(/event: opened/);
  let written = 0;
  const toJSON = (): object => {
    written += 1;
    return { n: 1 };
  };
  const events = ['first', 'second', 'third'].map((event) => ({ event, data: { toJSON } }));
  for (const event of events) for (const push of pushes) push(event);
  for (const watcher of watchers) {
    await watcher.sees(/event: third/);
    // Each write is a chunk of the response, with its length before it.
    assert.match(
      watcher.text,
      /\r\nevent: first\ndata: \{"n":1\}\n\nevent: second\ndata: \{"n":1\}\n\nevent: third\ndata: \{"n":1\}\n\n\r\n/,
    );
    watcher.socket.destroy();
  }
  assert.equal(written, 3);
  await server.close();
});

// security:35
test('an account and a process have a limit of live views; one that closes makes room', async () => {
  const { server, watchers } = await startLive({ perAccount: 2, total: 3 });
  const [one, two] = [sessions.owner(1), sessions.owner(2)];
  const open = [new Watcher(server.port, one), new Watcher(server.port, one)];
  for (const watcher of open) await watcher.sees(/event: opened/);
  const third = new Watcher(server.port, one);
  await third.ended;
  assert.match(third.text, /^HTTP\/1\.1 429 [\s\S]*too_many_watchers/);
  assert.match(third.text, /retry-after: 10/i);
  const other = new Watcher(server.port, two);
  await other.sees(/event: opened/);
  const full = new Watcher(server.port, two);
  await full.ended;
  assert.match(full.text, /too_many_watchers/);
  open[0]?.socket.destroy();
  while (watchers.size > 2) await new Promise((resolve) => setImmediate(resolve));
  const again = new Watcher(server.port, one);
  await again.sees(/event: opened/);
  for (const watcher of [...open, other, again]) watcher.socket.destroy();
  await server.close();
});

// security:36
test('a live view ends within about a second when its session ends, with the reason', async () => {
  const { server, watchers } = await startLive();
  const token = sessions.owner(1);
  const watcher = new Watcher(server.port, token);
  await watcher.sees(/event: opened/);
  const startedMs = systemClock.monotonic();
  sessions.end(token);
  await watcher.ended;
  assert.match(watcher.text, /event: end\ndata: \{"reason":"session_ended"\}/);
  assert.ok(systemClock.monotonic() - startedMs < 3_000);
  assert.equal(watchers.size, 0);
  assert.equal(pushes.size, 0);
  await server.close();
});

// security:35
test('a watcher that reads nothing is dropped before it takes memory', async () => {
  const { server, watchers } = await startLive({ maxWaitingBytes: 10_000 });
  const watcher = new Watcher(server.port, sessions.owner(1));
  await watcher.sees(/event: opened/);
  watcher.socket.pause();
  const [push] = pushes;
  const data = { text: 'x'.repeat(5_000) };
  let pushed = 0;
  while (pushes.size > 0) {
    push?.({ event: 'request', data });
    pushed += 1;
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(pushed < 20_000, 'it is never dropped');
  }
  watcher.socket.destroy();
  await watcher.ended;
  while (watchers.size > 0) await new Promise((resolve) => setImmediate(resolve));
  await server.close();
});

test('a draining server ends its live views, and opens no more', async () => {
  const { server, watchers } = await startLive();
  const watcher = new Watcher(server.port, sessions.owner(1));
  await watcher.sees(/event: opened/);
  watchers.close();
  await Promise.all([server.drain(), watcher.ended]);
  assert.match(watcher.text, /"reason":"stopping"/);
  await server.close();
});
