import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { proxiesOf } from '../../../src/config/proxies.ts';
import { type HttpFault, HttpStatusError } from '../../../src/http/client/http-error.ts';
import { sendThrough } from '../../../src/http/client/proxy.ts';
import {
  type RequestOptions,
  request,
  requestJson,
  requestStatus,
  requestText,
} from '../../../src/http/client/request.ts';
import { systemClock } from '../../../src/time/clock.ts';
import { makeCertificate } from '../../harness/certificate-server.ts';
import { tempDir } from '../../harness/fake-engine.ts';
import { startProxy, startTlsInFront } from '../../harness/proxy.ts';
import { until } from '../../harness/until.ts';

/* The one client for requests that are not calls of upstreams, against servers that do as they like. */

const options: RequestOptions = { clock: systemClock, timeoutMs: 20_000, maxBytes: 10_000 };
const head = (status: number, ...headers: readonly string[]): string =>
  [`HTTP/1.1 ${status} X`, ...headers, '', ''].join('\r\n');
const whole = (body: string | Buffer, ...headers: readonly string[]): Buffer =>
  Buffer.concat([
    Buffer.from(head(200, `content-length: ${Buffer.byteLength(body)}`, ...headers)),
    Buffer.from(body),
  ]);

/** What a server does with a connection after it received a request. */
type Act = (socket: Socket) => void;

const endless: Act = (socket) => {
  socket.write(head(200));
  const more = (): void => {
    while (!socket.destroyed && socket.write('x'.repeat(4_096)));
    if (!socket.destroyed) socket.once('drain', more);
  };
  more();
};

/** Each fault of a server, and the kind of the error. `hastily` is with a short time limit. */
const faults: Readonly<
  Record<string, { readonly act: Act; readonly kind: HttpFault; readonly hastily?: true }>
> = {
  silence: { act: () => {}, kind: 'timeout', hastily: true },
  'half a head': {
    act: (socket) => socket.write('HTTP/1.1 200 OK\r\nconte'),
    kind: 'timeout',
    hastily: true,
  },
  'a body that stops': {
    act: (socket) => socket.write(`${head(200, 'content-length: 99')}{`),
    kind: 'timeout',
    hastily: true,
  },
  'a body of a byte at a time': {
    act(socket) {
      socket.write(head(200, 'content-length: 9999'));
      const timer = setInterval(() => socket.write(' '), 10);
      socket.on('close', () => clearInterval(timer));
    },
    kind: 'timeout',
    hastily: true,
  },
  'a close without a response': { act: (socket) => socket.end(), kind: 'unreachable' },
  'a reset without a response': { act: (socket) => socket.resetAndDestroy(), kind: 'unreachable' },
  'something other than HTTP': {
    act: (socket) => socket.end('\0\x01\x02 hello\r\n\r\n'),
    kind: 'unreachable',
  },
  'a response that is too large': {
    act: (socket) => socket.end(whole('x'.repeat(10_001))),
    kind: 'too_large',
  },
  'a response without an end': { act: endless, kind: 'too_large' },
  'a body that is cut': { act: (socket) => socket.end(`${head(200, 'content-length: 99')}{`), kind: 'cut' },
  'a chunked body that is cut': {
    act: (socket) => socket.end(`${head(200, 'transfer-encoding: chunked')}5\r\n{"a":\r\n`),
    kind: 'cut',
  },
  'a body that is reset': {
    act: (socket) =>
      socket.write(`${head(200, 'content-length: 99')}{`, () => setImmediate(() => socket.resetAndDestroy())),
    kind: 'cut',
  },
  'a compressed body': {
    act: (socket) => socket.end(whole(gzipSync('{}'), 'content-encoding: gzip')),
    kind: 'not_text',
  },
  'bytes that are not UTF-8': {
    act: (socket) => socket.end(whole(Buffer.from([0x22, 0xe9, 0x22]))),
    kind: 'not_text',
  },
  'text that is not JSON': { act: (socket) => socket.end(whole('{"a":')), kind: 'not_json' },
  'an empty body': { act: (socket) => socket.end(whole('')), kind: 'not_json' },
  'an error status': { act: (socket) => socket.end(head(503, 'content-length: 0')), kind: 'status' },
  'an error status with an endless body': {
    act: (socket) => socket.write(`${head(500)}secret`),
    kind: 'status',
  },
  'a redirect': {
    act: (socket) => socket.end(head(302, 'location: /elsewhere', 'content-length: 0')),
    kind: 'status',
  },
};

let server: Server;
let url: string;
let act: Act;
/** The requests received, as text. */
let received: string[] = [];
const sockets = new Set<Socket>();

before(async () => {
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    let text = '';
    socket.setEncoding('latin1').on('data', (piece: string) => {
      if (text === '') received.push('');
      text += piece;
      received[received.length - 1] = text;
      const [, wanted = '0'] = /content-length: (\d+)/i.exec(text) ?? [];
      const bodyAt = text.indexOf('\r\n\r\n') + 4;
      if (bodyAt >= 4 && text.length - bodyAt === Number(wanted)) act(socket);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/some?a=b`;
});
after(() => {
  for (const socket of sockets) socket.destroy();
  server?.close();
});

for (const [name, { act: fault, kind, hastily }] of Object.entries(faults)) {
  test(`${name} is an error of the kind ${kind}, and leaves no connection behind`, async () => {
    act = fault;
    received = [];
    const limited = { ...options, timeoutMs: hastily === true ? 1_000 : 20_000 };
    await assert.rejects(requestJson(url, limited), (error: Error & { kind?: unknown }) => {
      assert.equal(error.kind, kind, `${error.name}: ${error.message}`);
      assert.doesNotMatch(error.message, /secret/);
      return error.message !== '';
    });
    assert.equal(received.length, 1, 'it is sent once, and no redirect is followed');
    await until('the end of its connection', () => sockets.size === 0);
  });
}

test('a request has its method, headers and body, and a response its status, headers and JSON', async () => {
  act = (socket) => socket.end(whole('{"name":"한글"}', 'x-some: y'));
  received = [];
  const response = await request(url, {
    ...options,
    method: 'PATCH',
    headers: { 'x-mine': 'z' },
    body: '{"한":1}',
  });
  assert.equal(response.status, 200);
  assert.equal(response.headers['x-some'], 'y');
  assert.deepEqual(await response.json(), { name: '한글' });
  const [sent = ''] = received;
  assert.match(sent, /^PATCH \/some\?a=b HTTP\/1\.1\r\n/);
  assert.match(sent, /\r\nx-mine: z\r\n/);
  assert.match(sent, /\r\nContent-Length: 9\r\n/i);
  assert.equal(Buffer.from(sent.split('\r\n\r\n')[1] ?? '', 'latin1').toString(), '{"한":1}');
  assert.equal(await requestText(url, options), '{"name":"한글"}');
});

test('a body of exactly the largest size is accepted', async () => {
  act = (socket) => socket.end(whole('x'.repeat(10_000)));
  assert.equal((await requestText(url, options)).length, 10_000);
});

test('an unexpected status has its headers; with `request` any status has a body', async () => {
  act = (socket) => socket.end(`${head(429, 'retry-after: 7', 'content-length: 2')}{}`);
  await assert.rejects(
    requestJson(url, options),
    (error) =>
      error instanceof HttpStatusError && error.status === 429 && error.headers['retry-after'] === '7',
  );
  const response = await request(url, options);
  assert.deepEqual([response.status, await response.json()], [429, {}]);
});

test('a status is known before the body, which is dropped: a body without an end holds no connection', async () => {
  const limited = { clock: systemClock, timeoutMs: 20_000 };
  for (const each of [endless, (socket: Socket) => socket.end(whole('ok'))]) {
    act = each;
    assert.equal(await requestStatus(url, limited), 200);
    await until('the end of its connection', () => sockets.size === 0);
  }
  act = (socket) => socket.write(`${head(204)}`);
  assert.equal(await requestStatus(url, { ...limited, timeoutMs: 200 }), 204);
  await until('the end of its connection', () => sockets.size === 0);
});

test('a response that is closed unread, or never read, keeps its connection no longer than the time limit', async () => {
  act = (socket) => socket.write(`${head(200, 'content-length: 99')}{`);
  (await request(url, options)).close();
  await until('the end of its connection', () => sockets.size === 0);
  await request(url, { ...options, timeoutMs: 200 });
  await until('the end of its connection', () => sockets.size === 0);
});

test('an abort ends a request with the reason of its signal, before, during and after the head', async () => {
  const reason = new Error('the server is stopping');
  received = [];
  await assert.rejects(requestText(url, { ...options, signal: AbortSignal.abort(reason) }), reason);
  assert.equal(received.length, 0);
  for (const early of [true, false]) {
    const stopping = new AbortController();
    act = (socket) => {
      if (!early) socket.write(`${head(200, 'content-length: 99')}{`);
      setImmediate(() => stopping.abort(reason));
    };
    await assert.rejects(requestText(url, { ...options, signal: stopping.signal }), reason);
    await until('the end of its connection', () => sockets.size === 0);
  }
});

test('an address without a server is named with the code of the system', async () => {
  for (const host of ['127.0.0.1', 'localhost'])
    await assert.rejects(requestStatus(`http://${host}:1/`, options), {
      kind: 'unreachable',
      code: 'ECONNREFUSED',
      message: /ECONNREFUSED/,
    });
  await assert.rejects(
    requestJson('http://naru/', { ...options, socketPath: join(tempDir(), 'none.sock') }),
    {
      kind: 'unreachable',
      code: 'ENOENT',
    },
  );
});

test('a unix socket is used in place of the host', async (t) => {
  const path = join(tempDir(), 'a.sock');
  const local = createServer((socket) => {
    socket.on('error', () => {}).once('data', () => socket.end(whole('[1]')));
  }).listen(path);
  t.after(() => local.close());
  await once(local, 'listening');
  assert.deepEqual(await requestJson('http://naru/x', { ...options, socketPath: path }), [1]);
});

test('TLS is verified, against the given certificates when there are some', async (t) => {
  const dir = tempDir();
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const names = ['-subj', '/CN=x', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', cert, ...names], {
    stdio: 'ignore',
  });
  const ca = readFileSync(cert, 'utf8');
  const secure = createHttps({ key: readFileSync(key), cert: ca }, (_, response) => response.end('[2]'));
  secure.listen(0, '127.0.0.1');
  t.after(() => secure.close());
  await once(secure, 'listening');
  const origin = `https://127.0.0.1:${(secure.address() as AddressInfo).port}/`;
  assert.deepEqual(await requestJson(origin, { ...options, ca, connectTimeoutMs: 20_000 }), [2]);
  await assert.rejects(requestJson(origin, options), {
    kind: 'unreachable',
    message: /self-signed certificate/,
  });
});

test('a connection that is not ready in time ends the request long before its own limit', async () => {
  act = () => {};
  const { port } = server.address() as AddressInfo;
  // A TLS handshake that nobody answers.
  await assert.rejects(requestJson(`https://127.0.0.1:${port}/`, { ...options, connectTimeoutMs: 150 }), {
    kind: 'unreachable',
    message: 'no connection within 150 ms',
  });
  await until('the end of its connection', () => sockets.size === 0);
  // Of a connection that is open, only the other limit is left.
  act = (socket) => setTimeout(() => socket.end(whole('[]')), 300);
  assert.deepEqual(await requestJson(url, { ...options, connectTimeoutMs: 150 }), []);
});

test('a request goes through the proxy of the process; one to an own machine does not', async (t) => {
  const certificate = makeCertificate(t, 30, 'store.test');
  act = (socket) => socket.end(whole('"here"'));
  const { port } = server.address() as AddressInfo;
  const secure = await startTlsInFront(t, port, certificate);
  const proxy = await startProxy(t, { 'store.test': secure, 'plain.test': port });
  const proxies = proxiesOf({
    HTTP_PROXY: proxy.url,
    HTTPS_PROXY: proxy.url,
    NO_PROXY: 'skipped.test,127.9.0.0/16,fd00::/8',
  });
  assert.ok(proxies !== null);
  let restore = await sendThrough(proxies);
  t.after(() => restore());
  const limits = { ...options, connectTimeoutMs: 5_000, ca: certificate.cert };
  assert.equal(await requestJson('https://store.test/', limits), 'here');
  assert.equal(await requestJson('http://plain.test/', limits), 'here');
  assert.deepEqual(proxy.seen.splice(0), ['CONNECT store.test:443', 'GET http://plain.test/']);
  assert.equal(await requestJson(url, limits), 'here');
  await assert.rejects(requestJson('https://plain.test/', { ...limits, direct: true }), {
    kind: 'unreachable',
  });
  for (const direct of ['https://api.skipped.test/', 'https://127.9.8.7:1/', 'https://[fd12::1]:1/'])
    await assert.rejects(requestJson(direct, limits), { kind: 'unreachable' });
  assert.deepEqual(proxy.seen, []);
  proxy.conduct = 'silence';
  const aborted = AbortSignal.abort(new Error('stop'));
  await assert.rejects(requestJson('https://store.test/', { ...limits, signal: aborted }), {
    message: 'stop',
  });
  await assert.rejects(requestJson('https://store.test/', { ...limits, timeoutMs: 200 }), {
    kind: 'timeout',
  });
  restore();
  restore = await sendThrough({ HTTPS_PROXY: proxy.wrongUrl, NO_PROXY: '' });
  await assert.rejects(requestJson('https://store.test/', limits), (error: Error) => {
    assert.match(error.message, /407/);
    assert.doesNotMatch(error.message, /wrong-password/);
    return true;
  });
});
