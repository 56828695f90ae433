/**
 * nginx with deploy/nginx.conf in front of Naru: rates, sizes, and that no page of a proxy reaches
 * anybody.
 */

import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { Agent } from 'undici';
import { serveEcho } from '../harness/echo.ts';
import { freePort } from '../harness/free-port.ts';
import type { TestAccount, TestGateway, TestResponse } from '../harness/gateway.ts';
import { RawClient, rawly } from '../harness/raw-client.ts';
import { assertCommonHeaders, assertError } from '../harness/response-rules.ts';
import { byTier } from '../harness/tier.ts';
import { eventually, until } from '../harness/until.ts';
import { type Nginx, type NginxOptions, startNginx } from './nginx.ts';
import { asResponse, through } from './requests.ts';

const mb = 1024 * 1024;
let naru: TestGateway;
let account: TestAccount;
/** Without a limit of its rate; what is about the rate starts its own. */
let open: Nginx;

// Before the gateway, whose connections it keeps open.
after(() => open?.stop());
serveEcho(
  '100000000',
  async (echo) => {
    ({ naru, account } = echo);
    open = await startNginx({ behind: [naru.gateway.server.port], unlimited: true });
  },
  { config: { edge: { trusted_proxies: ['127.0.0.1'] } } },
);

async function limiting(t: TestContext, options: Partial<NginxOptions> = {}): Promise<Nginx> {
  const nginx = await startNginx({ behind: [naru.gateway.server.port], ...options });
  t.after(() => nginx.stop());
  return nginx;
}

async function atOnce(count: number, send: (n: number) => ReturnType<typeof through>) {
  return Promise.all(Array.from({ length: count }, (_, n) => send(n)));
}

/**
 * Fails unless one of 150 requests at once is refused. A slow machine may need so long for them that
 * the rate lets all of them pass: then there are more.
 */
async function assertLimited(what: string, send: () => Promise<readonly { readonly status: number }[]>) {
  const isRefused = async () => ((await send()).some(({ status }) => status === 429) ? true : null);
  await eventually(`${what}: a request that is refused`, 30_000, isRefused);
}

// spec:conformance/245
test('through the proxy: 61 concurrent requests after a pause all pass', async (t) => {
  const nginx = await limiting(t);
  const responses = await atOnce(61, () => through(`${nginx.url}/models`));
  assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]));
});

test('through the proxy: a client above its maximum of concurrent requests gets an error, and others do not', async (t) => {
  const nginx = await limiting(t, { unlimited: true, connections: 3 });
  const held: RawClient[] = [];
  t.after(() => {
    for (const client of held) client.close();
  });
  const port = Number(new URL(nginx.url).port);
  for (let n = 0; n < 3; n += 1) {
    const client = await RawClient.open(port);
    client.write('POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\n');
    client.write(`authorization: Bearer ${account.key}\r\ncontent-length: 99\r\n\r\n{`);
    held.push(client);
  }
  await until('three requests in flight', () => naru.gateway.server.inFlight() === 3);
  const refused = await through(`${nginx.url}/models`);
  assertError(refused, 429, 'rate_limit_exceeded');
  const other = await RawClient.open(port, '127.0.0.2');
  other.write('GET /api/v1/models HTTP/1.1\r\nhost: x\r\n\r\n');
  assert.equal((await other.response())?.status, 200);
  other.close();
});

// spec:conformance/246,247,3,224
test('through the proxy: of 200 concurrent requests over all paths, 61 and the refill pass; the rest get a JSON 429 with the currency', async (t) => {
  const nginx = await limiting(t);
  const paths = ['/models', '/nowhere', '/key', '/chat/completions'];
  const startMs = performance.now();
  const responses = await atOnce(200, (n) => through(`${nginx.url}${paths[n % 4]}`));
  const seconds = (performance.now() - startMs) / 1000;
  const refused = responses.filter(({ status }) => status === 429);
  const passed = responses.length - refused.length;
  assert.ok(passed >= 61 && passed <= 62 + 30 * seconds, `${passed} passed in ${seconds} s`);
  for (const response of refused)
    assert.deepEqual(assertError(response, 429, 'rate_limit_exceeded')['retry_after_sec'], 1);
  assert.equal(new Set(responses.map(({ headers }) => headers.get('x-service-request-id'))).size, 200);
  assert.equal(
    (await through(`http://127.0.0.1:${nginx.port}/healthz`)).status,
    200,
    'probes are not counted',
  );
});

test('through the proxy: the files of a page are not counted by rate, and what only looks like one is', async (t) => {
  const nginx = await limiting(t);
  const file = `http://127.0.0.1:${nginx.port}/dashboard/assets/none-1a2b.js`;
  const files = await atOnce(150, () => through(file));
  assert.ok(files.every(({ status }) => status !== 429));
  const target = '/dashboard/assets/../api/session';
  await assertLimited('what only looks like a file', () =>
    rawly(nginx.port, `GET ${target} HTTP/1.1\r\nhost: x\r\n\r\n`.repeat(150), 150),
  );
});

// spec:conformance/247
test('through the proxy: another address has its own budget, and every path is counted', async (t) => {
  const nginx = await limiting(t);
  const other = new Agent({ localAddress: '127.0.0.2' });
  t.after(() => other.close());
  const pipelined = (target: string) =>
    rawly(nginx.port, `GET ${target} HTTP/1.1\r\nhost: x\r\n\r\n`.repeat(150), 150);
  await assertLimited('a path that leaves by dots', () => pipelined('/api/v1/../x/%2e%2e/models'));
  assert.equal((await through(`${nginx.url}/models`, { dispatcher: other })).status, 200);
  await assertLimited('an absolute target', () => pipelined('http://evil.example/api/v1/models'));
});

// spec:conformance/248
test('through the proxy: no header that names another address raises the limit', async (t) => {
  const nginx = await limiting(t);
  const headersOf = (n: number) => ({
    'x-forwarded-for': `10.0.0.${n}`,
    forwarded: `for=10.0.1.${n}`,
    'x-real-ip': `10.0.2.${n}`,
  });
  await assertLimited('a client with headers of its own', () =>
    atOnce(150, (n) => through(`${nginx.url}/models`, { headers: headersOf(n) })),
  );
});

test("Naru uses the client's real address, whatever headers the client sends", async () => {
  const agent = new Agent({ localAddress: '127.0.0.9' });
  const headers = { 'x-forwarded-for': '10.1.1.1', forwarded: 'for=10.1.1.2' };
  const response = await through(`${open.url}/models`, { dispatcher: agent, headers });
  await agent.close();
  const id = response.headers.get('x-service-request-id');
  const line = naru.logged.find((each) => each['event'] === 'request' && each['request_id'] === id);
  assert.equal(line?.['client_ip'], '127.0.0.9');
});

test('behind another trusted proxy, its clients are counted one by one, IPv6 by network', async (t) => {
  const nginx = await limiting(t, { believes: '127.0.0.1' });
  const from = (address: string) =>
    through(`${nginx.url}/models`, { headers: { 'x-forwarded-for': address } });
  const spread = await atOnce(150, (n) => from(`10.0.0.${n}`));
  assert.deepEqual(new Set(spread.map(({ status }) => status)), new Set([200]));
  await assertLimited('one network, which is one client', () =>
    atOnce(150, (n) => from(`2001:db8:1:2::${n.toString(16)}`)),
  );
  assert.equal((await from('2001:db8:1:3::1')).status, 200, 'the next network is another');
  // What a client puts before itself is its own invention.
  await assertLimited('addresses before the real one', () =>
    atOnce(150, (n) => from(`10.9.9.${n}, 10.1.1.1`)),
  );
});

/** A valid chat body of this many bytes. */
function bodyOf(bytes: number): string {
  const frame = JSON.stringify({ model: 'test/echo', messages: [{ role: 'user', content: '' }] });
  return frame.replace('""', `"${'x'.repeat(bytes - frame.length)}"`);
}

const chat = (body: string, key: string) =>
  through(`${open.url}/chat/completions`, { method: 'POST', key, body });

// spec:conformance/249
test('through the proxy: a body of 24 MB, and of exactly 26,214,400 bytes, reaches the application', async () => {
  for (const bytes of byTier([26_214_400], [24 * mb, 26_214_400]))
    assertError(await chat(bodyOf(bytes), account.key), 404, 'no_endpoints_found');
});

// spec:conformance/250,3 spec:errors/7.5
test('through the proxy: a body of 27 MB is a 413 that is neither JSON nor HTML, with and without a key, with and without Content-Length', async () => {
  const body = bodyOf(27 * mb);
  for (const key of [account.key, 'malformed']) {
    const whole = await chat(body, key);
    const client = await RawClient.open(open.port);
    const head = `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n`;
    client.write(`${head}transfer-encoding: chunked\r\n\r\n`);
    for (let n = 0; n < 27; n += 1) client.write(`100000\r\n${body.slice(n * mb, (n + 1) * mb)}\r\n`);
    const inChunks = await client.response();
    client.close();
    assert.ok(inChunks !== null);
    // A wrong key is rejected before that many bytes have arrived.
    const wrongKeyFirst = inChunks.status === 401 && key === 'malformed';
    for (const response of wrongKeyFirst ? [whole] : [whole, asResponse(inChunks)]) {
      assert.equal(response.status, 413);
      assertCommonHeaders(response);
      assert.match(response.headers.get('content-type') ?? '', /^text\/plain/);
      assert.throws(() => response.json);
      assert.doesNotMatch(response.text, /</);
    }
  }
  assert.equal((await chat(bodyOf(26_214_401), account.key)).status, 413);
});

// spec:conformance/251
test('through the proxy: 24 MB with an invalid key or an empty balance, again and again: a JSON 401 or 402 each time', async () => {
  const body = bodyOf(24 * mb);
  const poor = await naru.account({ credit: '0' });
  for (let n = 0; n < byTier(2, 50); n += 1) {
    if (n % 2 === 0) assertError(await chat(body, 'malformed'), 401, 'invalid_api_key');
    else assertError(await chat(body, poor.key), 402, 'insufficient_credits');
  }
});

// spec:conformance/3,7 spec:errors/12.2
test('without a running Naru a client gets the JSON 500 and no page of the proxy', async (t) => {
  const rejected = await startNginx({ behind: [await freePort()], unlimited: true });
  t.after(() => rejected.stop());
  for (const path of ['/models', '/chat/completions', '/../x'])
    assertError(await through(`${rejected.url}${path}`), 500, 'server');
  const body = JSON.stringify({ model: 'test/echo' });
  assertError(await through(`${rejected.url}/chat/completions`, { method: 'POST', body }), 500, 'server');
  const [trace] = await rawly(rejected.port, 'TRACE /api/v1/models HTTP/1.1\r\nhost: x\r\n\r\n');
  assertError(asResponse(trace ?? assert.fail('no response')), 500, 'server');
});

test('errors of Naru pass unchanged, and errors of nginx itself are JSON in the same shape', async () => {
  assertError(await chat('{', account.key), 400, 'invalid_request');
  const trace = async (path: string): Promise<TestResponse> => {
    const [response] = await rawly(open.port, `TRACE ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
    return asResponse(response ?? assert.fail('no response'));
  };
  for (const path of ['/api/v1/models', '/api/v1/chat/completions?x=1']) {
    const response = await trace(path);
    const { method, allow } = assertError(response, 405, 'not_supported');
    assert.equal(method, 'TRACE');
    assert.equal(response.headers.get('allow'), (allow as readonly string[]).join(', '));
    assert.equal(
      response.headers.get('allow'),
      path.includes('chat') ? 'POST, OPTIONS' : 'GET, HEAD, OPTIONS',
    );
  }
  assert.equal(
    assertError(await trace('/api/v1/a%2Fb/../c'), 404, 'not_supported')['path'],
    '/api/v1/a%2Fb/../c',
  );
  for (const head of [
    'GET /api/v1/mod els HTTP/1.1\r\nhost: x',
    'GARBAGE',
    'GET /api/v1/models HTTP/1.1',
    'GET models HTTP/1.1\r\nhost: x',
    'OPTIONS * HTTP/1.1\r\nhost: x',
    'CONNECT evil.example:443 HTTP/1.1\r\nhost: x',
    `GET /api/v1/models?${'q'.repeat(70_000)} HTTP/1.1\r\nhost: x`,
    `GET /api/v1/models HTTP/1.1\r\nhost: x\r\nx-a: ${'b'.repeat(70_000)}`,
    'GET /api/v1/models HTTP/3.0\r\nhost: x',
  ]) {
    const [response] = await rawly(open.port, `${head}\r\n\r\n`);
    assert.ok(response !== undefined, head.slice(0, 60));
    assertError(asResponse(response), 400, 'invalid_request');
  }
  for (const path of ['/-/edge/500', '/-/edge/429', '/-/edge/7', '/-/edge/'])
    assertError(await through(`http://127.0.0.1:${open.port}${path}`), 404, 'not_supported');
});

test('through the proxy: a query of 8 kB is answered, and a longer one is a JSON 400 of Naru or of nginx', async () => {
  const query = (bytes: number) => `${open.url}/models/count?q=x&z=${'a'.repeat(bytes - 6)}`;
  assert.equal((await through(query(8_192))).status, 200);
  const refused = assertError(await through(query(8_193)), 400, 'invalid_request');
  assert.deepEqual(refused, { error_type: 'invalid_request' });
  assertError(await through(query(63_000)), 400, 'invalid_request');
});

// spec:conformance/176 spec:errors/9.2
test('through the proxy: an unimplemented path is repeated as it was sent', async () => {
  for (const path of [
    '/a%2Fb',
    '/..%2fmodels',
    '/../x',
    '/./models',
    '//models',
    '/models//',
    '/x;x=1',
    '/%ED%95%9C',
    '/a+b%20c',
  ]) {
    const [response] = await rawly(open.port, `GET /api/v1${path}?q=1 HTTP/1.1\r\nhost: x\r\n\r\n`);
    assert.ok(response !== undefined);
    assert.equal(assertError(asResponse(response), 404, 'not_supported')['path'], `/api/v1${path}`);
  }
});
