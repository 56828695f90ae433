/**
 * A client that resets its connection (TCP RST: SO_LINGER 0) before, during or after any kind of
 * response ends that connection and nothing else. The servers run in this process: an unhandled
 * error event fails the running test.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type NetConnectOpts, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { ClientAddresses } from '../../src/http/client-ip.ts';
import { type ControlServer, serveControl } from '../../src/http/control/serve.ts';
import type { Exchange } from '../../src/http/exchange.ts';
import { type Served, serve } from '../../src/http/serve.ts';
import { type AdminServer, serveAdmin } from '../../src/http/serve-admin.ts';
import { silentLog } from '../../src/log/log.ts';
import { systemClock } from '../../src/time/clock.ts';
import type { Reply } from '../../src/wire/reply.ts';
import { tempDir } from '../harness/fake-engine.ts';
import { until } from '../harness/until.ts';

const maxBodyBytes = 1_000;
const large = Buffer.alloc(8 * 1024 * 1024, 'x');
const host = 'host: localhost\r\n';
const get = (path: string): string => `GET ${path} HTTP/1.1\r\n${host}\r\n`;

/** What a client sends before it resets the connection. */
const requests: Readonly<Record<string, string>> = {
  nothing: '',
  'half a request line': 'GET /some',
  'half a head': `GET /some HTTP/1.1\r\n${host}`,
  'a head that comes to its end too late': `POST /some HTTP/1.1\r\n${host}x-slow: `,
  'an ordinary request': get('/some'),
  'a request of HTTP/1.0': 'GET /some HTTP/1.0\r\n\r\n',
  HEAD: `HEAD /some HTTP/1.1\r\n${host}\r\n`,
  CONNECT: 'CONNECT a:1 HTTP/1.1\r\n\r\n',
  'CONNECT with a host and more behind it': `CONNECT a:1 HTTP/1.1\r\n${host}\r\n${get('/some').repeat(50)}`,
  'CONNECT behind a request': `${get('/some')}CONNECT a:1 HTTP/1.1\r\n${host}\r\n`,
  'CONNECT behind a stream': `${get('/stream')}CONNECT a:1 HTTP/1.1\r\n${host}\r\n`,
  'an upgrade to a web socket': `GET /some HTTP/1.1\r\n${host}connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
  'an upgrade to HTTP/2': `GET /some HTTP/1.1\r\n${host}connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n\r\n`,
  'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0',
  'a TLS hello': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  garbage: '\0\x01\x02 garbage\r\n\r\n',
  'garbage behind a request': `${get('/some')}\0\x01 garbage\r\n\r\n`,
  'garbage behind a stream': `${get('/stream')}\0\x01 garbage\r\n\r\n`,
  'a head that is too large': `GET /some HTTP/1.1\r\n${host}x-large: ${'x'.repeat(100_000)}\r\n\r\n`,
  'a spoilt credential': `GET /some HTTP/1.1\r\n${host}authorization: Bearer \x01\r\n\r\n`,
  'an unknown expectation': `POST /some HTTP/1.1\r\n${host}expect: miracles\r\ncontent-length: 2\r\n\r\n{}`,
  'an expectation of 100': `POST /body HTTP/1.1\r\n${host}expect: 100-continue\r\ncontent-length: 2\r\n\r\n`,
  'a body that does not come': `POST /body HTTP/1.1\r\n${host}content-length: 100\r\n\r\n{`,
  'a body that is declared too large': `POST /body HTTP/1.1\r\n${host}content-length: 10000000\r\n\r\n{`,
  'a body that becomes too large': `POST /body HTTP/1.1\r\n${host}transfer-encoding: chunked\r\n\r\n1000\r\n${'x'.repeat(4096)}\r\n`,
  'chunks that are none': `POST /body HTTP/1.1\r\n${host}transfer-encoding: chunked\r\n\r\nzz\r\n`,
  'many requests at once': get('/some').repeat(200),
  'a large response': get('/large'),
  'large responses in a line': get('/large').repeat(4),
  'a stream': get('/stream'),
  'a response that takes long': get('/wait'),
  'responses that take long': get('/wait').repeat(3),
};

/** When the connection is reset. */
const moments: Readonly<Record<string, (socket: Socket) => Promise<unknown>>> = {
  'at once': async () => {},
  'after the first bytes of the response': (socket) => firstBytes(socket),
  'after more was sent behind the response': async (socket) => {
    await firstBytes(socket);
    socket.write(`more\r\n\r\n${get('/some')}`);
  },
};

interface Target {
  readonly name: string;
  readonly address: NetConnectOpts;
}

const targets: Target[] = [];
/** What would have ended a process. */
const uncaught: unknown[] = [];
process.on('uncaughtExceptionMonitor', (error) => uncaught.push(error));
let served: Served;
let admin: AdminServer;
let control: ControlServer | null;

before(async () => {
  served = await startPublic(300);
  admin = await serveAdmin(
    {
      pages: { '/some': () => 'some\n', '/large': () => large.toString(), '/wait': () => soon('waited\n') },
      clock: systemClock,
      log: silentLog,
    },
    { host: '127.0.0.1', port: 0 },
  );
  control = await serveControl({
    dataDir: tempDir(),
    roots: [],
    respond: async (_method, [path]) => {
      if (path === 'wait') await soon(null);
      return { status: 200, body: path === 'large' ? large.toString() : path };
    },
    log: silentLog,
  });
  assert.ok(control !== null);
  targets.push(
    { name: 'the public port', address: { port: served.port, host: '127.0.0.1' } },
    { name: 'the admin port', address: { port: admin.port, host: '127.0.0.1' } },
    { name: 'the control socket', address: { path: control.path } },
  );
});
after(async () => {
  await served?.close();
  await admin?.close();
  await control?.close();
});

function startPublic(clientStallMs: number): Promise<Served> {
  return serve(
    {
      respond: response,
      addresses: new ClientAddresses([]),
      rateLimit: null,
      maxBodyBytes,
      clientStallMs,
      idleWhileStoppingMs: 0,
      clock: systemClock,
      log: silentLog,
    },
    { host: '127.0.0.1', port: 0 },
    { headersMs: 500, requestMs: 1_000, idleMs: 60_000, checkEveryMs: 20 },
  );
}

async function response(exchange: Exchange): Promise<Reply> {
  switch (exchange.path) {
    case '/body':
      return { body: { bytes: (await exchange.body(maxBodyBytes)).length } };
    case '/large':
      return { body: large, contentType: 'text/plain' };
    case '/wait':
      return soon({ body: {} });
    case '/stream':
      return {
        headers: {},
        stream: async (sink) => {
          for (let pieces = 0; pieces < 20 && !exchange.signal.aborted; pieces += 1) {
            await sink.write('piece');
            await soon(null);
          }
        },
      };
    default:
      return { body: {} };
  }
}

function soon<T>(value: T): Promise<T> {
  return new Promise((resolve) => setTimeout(() => resolve(value), 30));
}

/**
 * The first bytes of a response, or the end of the connection; a server may also wait for more of
 * the request.
 */
async function firstBytes(socket: Socket): Promise<void> {
  await Promise.race([once(socket, 'data'), once(socket, 'close'), soon(null).then(() => soon(null))]);
}

async function open({ address }: Target): Promise<Socket> {
  const socket = connect({ ...address, allowHalfOpen: true });
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** A unix socket is reset by closing it while it has unread bytes. */
function reset(socket: Socket, { address }: Target): void {
  if ('path' in address) socket.pause().destroy();
  else socket.resetAndDestroy();
}

/**
 * On a busy machine the server may find that even this request comes too late: then it is repeated.
 */
async function assertResponds(target: Target, what: string): Promise<void> {
  let text = '';
  for (let tries = 0; tries < 20 && (tries === 0 || /did not arrive in time/.test(text)); tries += 1) {
    const socket = await open(target);
    socket.write(`GET /some HTTP/1.1\r\n${host}connection: close\r\n\r\n`);
    text = '';
    for await (const piece of socket) text += String(piece);
  }
  assert.match(text, /^HTTP\/1\.1 200 /, `${target.name} after ${what}`);
  assert.deepEqual(uncaught.splice(0), [], `${target.name} after ${what}`);
}

for (const [when, wait] of Object.entries(moments)) {
  // security:6
  test(`a connection that is reset ${when} affects no other, whatever was sent on it`, async () => {
    for (const target of targets) {
      for (const [what, bytes] of Object.entries(requests)) {
        const socket = await open(target);
        if (bytes !== '') {
          const sent = new Promise((resolve) => socket.write(Buffer.from(bytes, 'latin1'), resolve));
          await Promise.race([sent, once(socket, 'close')]);
        }
        await wait(socket);
        reset(socket, target);
        await assertResponds(target, what);
      }
    }
    await until('nothing is in flight', () => served.inFlight() === 0, 10_000);
  });
}

// security:6
test('a stopping server does not wait for a client that keeps its CONNECT or garbage connection open', async () => {
  const stopping = await startPublic(600_000);
  const target = { name: 'a server', address: { port: stopping.port, host: '127.0.0.1' } };
  const left: Socket[] = [];
  for (const what of ['CONNECT', 'malformed', 'a stream'] as const) {
    const socket = await open(target);
    left.push(socket);
    socket.write(requests[what] ?? '');
    await once(socket, 'data');
  }
  stopping.abort(new Error('the server is stopping'));
  await stopping.drain();
  await stopping.close();
  for (const socket of left) socket.destroy();
});
