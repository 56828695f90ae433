/**
 * What protects the handlers from the internet: rates, sizes, hostile bodies and bytes that are not
 * HTTP.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Agent, request } from 'undici';
import { serveEcho } from '../harness/echo.ts';
import {
  startTestGateway,
  type TestAccount,
  type TestGateway,
  type TestGatewayOptions,
} from '../harness/gateway.ts';
import { RawClient, rawly } from '../harness/raw-client.ts';
import { assertError } from '../harness/response-rules.ts';
import { eventsOf, textOf } from '../harness/stream.ts';
import { StoppedClock } from '../harness/test-clock.ts';
import { byTier, sample } from '../harness/tier.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { until } from '../harness/until.ts';
import { reply, type Upstream } from '../harness/upstream.ts';

const mb = 1024 * 1024;
const completion = { model: 'test/echo', messages: [{ role: 'user', content: 'hi' }] };
let upstream: Upstream;
let naru: TestGateway;
let account: TestAccount;

serveEcho('100000000', (echo) => {
  ({ upstream, naru, account } = echo);
});

/** A gateway that limits the rate itself. */
async function limited(
  t: { after(task: () => Promise<void>): void },
  edge: object = {},
  more: TestGatewayOptions = {},
) {
  const gateway = await startTestGateway({
    ...more,
    config: { ...more.config, edge: { rate_limit: 'builtin', ...edge } },
  });
  t.after(() => gateway.close());
  return gateway;
}

/** One GET from a loopback address of the test's choice; the status. */
async function statusFrom(agent: Agent, url: string, headers: Record<string, string> = {}): Promise<number> {
  const { statusCode, body } = await request(url, { dispatcher: agent, headers });
  await body.dump();
  return statusCode;
}

// spec:conformance/245,246,247,3,224
test('sixty concurrent requests pass, then thirty a second, over all paths of one address together', async (t) => {
  const gateway = await limited(t);
  const paths = ['/models', '/nowhere', '/key', '/chat/completions'];
  const startMs = gateway.clock.monotonic();
  const responses = await Promise.all(
    Array.from({ length: 200 }, (_, n) => gateway.send('GET', paths[n % 4] ?? '')),
  );
  const seconds = (gateway.clock.monotonic() - startMs) / 1000;
  const refused = responses.filter((response) => response.status === 429);
  const passed = responses.length - refused.length;
  assert.ok(passed >= 60 && passed <= 61 + 30 * seconds, `${passed} passed in ${seconds} s`);
  for (const response of refused) {
    const wait = assertError(response, 429, 'rate_limit_exceeded')['retry_after_sec'];
    assert.ok(Number.isInteger(wait) && Number(wait) >= 1);
  }
  assert.equal((await fetch(`${gateway.origin}/healthz`)).status, 200, 'probes are not limited');
  const asset = `${gateway.origin}/dashboard/assets/none-1a2b.js`;
  const files = await Promise.all(
    Array.from({ length: 150 }, () => fetch(asset).then(({ status }) => status)),
  );
  assert.ok(!files.includes(429), 'neither are the files of a page');
});

// spec:conformance/247
test('another address has its own bucket', async (t) => {
  const gateway = await limited(t, {}, { clock: new StoppedClock() });
  const [one, two] = ['127.0.0.1', '127.0.0.2'].map((localAddress) => new Agent({ localAddress }));
  assert.ok(one !== undefined && two !== undefined);
  t.after(() => Promise.all([one.close(), two.close()]).then(() => {}));
  const burst = await Promise.all(
    Array.from({ length: 150 }, () => statusFrom(one, `${gateway.url}/models`)),
  );
  assert.ok(burst.includes(429));
  assert.equal(await statusFrom(two, `${gateway.url}/models`), 200);
});

// spec:conformance/248
// security:19
test('no header that names another address raises the limit, unless a trusted proxy sends it', async (t) => {
  const agent = new Agent();
  t.after(() => agent.close());
  const spoof = (n: number) => ({
    'x-forwarded-for': `10.0.0.${n}`,
    forwarded: `for=10.0.1.${n}`,
    'x-real-ip': `10.0.2.${n}`,
  });
  const open = await limited(t, {}, { clock: new StoppedClock() });
  const spoofed = await Promise.all(
    Array.from({ length: 150 }, (_, n) => statusFrom(agent, `${open.url}/models`, spoof(n))),
  );
  assert.ok(spoofed.includes(429));
  const behind = await limited(t, { trusted_proxies: ['127.0.0.0/8'] }, { clock: new StoppedClock() });
  const forwarded = await Promise.all(
    Array.from({ length: 150 }, (_, n) => statusFrom(agent, `${behind.url}/models`, spoof(n))),
  );
  assert.ok(!forwarded.includes(429));
  // The address nearest to the proxy counts: a client can forge the ones before it.
  const invented = await Promise.all(
    Array.from({ length: 150 }, (_, n) =>
      statusFrom(agent, `${behind.url}/models`, { 'x-forwarded-for': `10.9.9.${n}, 10.1.1.1` }),
    ),
  );
  assert.ok(invented.includes(429));
});

// spec:conformance/70
test('behind a proxy that limits, a key has no fixed limit of its own', async () => {
  const responses = await Promise.all(
    Array.from({ length: 200 }, () => naru.send('GET', '/key', { key: account.key })),
  );
  assert.deepEqual(new Set(responses.map((response) => response.status)), new Set([200]));
});

/** A valid chat body of this many bytes. */
function bodyOf(bytes: number): string {
  const frame = JSON.stringify({ model: 'test/echo', messages: [{ role: 'user', content: '' }] });
  return frame.replace('""', `"${'x'.repeat(bytes - frame.length)}"`);
}

// spec:conformance/249
test('a body of 24 MB reaches the application', async () => {
  const response = await naru.send('POST', '/chat/completions', { key: account.key, body: bodyOf(24 * mb) });
  assertError(response, 404, 'no_endpoints_found');
});

// spec:conformance/250,3 spec:errors/7.5
test('a body of 27 MB returns a plain 413, with and without a key, with and without Content-Length', async () => {
  const body = bodyOf(27 * mb);
  for (const key of [account.key, 'malformed']) {
    const client = await RawClient.open(naru.gateway.server.port);
    client.write(
      `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-length: ${body.length}\r\n\r\n`,
    );
    const response = await client.response();
    client.close();
    assert.equal(response?.status, 413);
    assert.deepEqual(response.all('x-service-currency'), ['KRW']);
    assert.match(response.all('content-type')[0] ?? '', /^text\/plain/);
    assert.throws(() => JSON.parse(response.body));
  }
  const whole = await naru.send('POST', '/chat/completions', { key: account.key, body });
  assert.equal(whole.status, 413, 'also to a client that sends all of it first');
  const client = await RawClient.open(naru.gateway.server.port);
  client.write(
    `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\ntransfer-encoding: chunked\r\n\r\n`,
  );
  for (let n = 0; n < 27; n += 1) client.write(`100000\r\n${body.slice(n * mb, (n + 1) * mb)}\r\n`);
  assert.equal((await client.response())?.status, 413);
  client.close();
});

// spec:conformance/250 spec:errors/7.5
test('26,214,400 bytes are accepted and one more is not', async () => {
  const at = await naru.send('POST', '/chat/completions', { key: account.key, body: bodyOf(26_214_400) });
  assertError(at, 404, 'no_endpoints_found');
  assert.equal(
    (await naru.send('POST', '/chat/completions', { key: account.key, body: bodyOf(26_214_401) })).status,
    413,
  );
});

// spec:conformance/251
test('24 MB with an invalid key or without credit returns our error every time', async () => {
  const poor = await naru.account({ credit: '0' });
  const body = bodyOf(24 * mb);
  for (let n = 0; n < byTier(1, 5); n += 1) {
    assertError(
      await naru.send('POST', '/chat/completions', { key: 'malformed', body }),
      401,
      'invalid_api_key',
    );
    assertError(
      await naru.send('POST', '/chat/completions', { key: poor.key, body }),
      402,
      'insufficient_credits',
    );
  }
});

// spec:errors/5.5
// security:15
test('a body designed to parse slowly is rejected before it is parsed, while other requests succeed', async () => {
  const bodies = [
    '{},'.repeat((25 * mb) / 3 - 10),
    '['.repeat(1_000_000),
    '{"a":'.repeat(1_000_000),
    `{"model":"test/echo","messages":[${'1,'.repeat(12 * mb)}1]}`,
  ];
  for (const hostile of sample(bodies, 2)) {
    let slowestMs = 0;
    let over = false;
    const others = (async () => {
      while (!over) {
        const startMs = naru.clock.monotonic();
        assert.equal((await naru.send('GET', '/credits', { key: account.key })).status, 200);
        slowestMs = Math.max(slowestMs, naru.clock.monotonic() - startMs);
      }
    })();
    const startMs = naru.clock.monotonic();
    assertError(
      await naru.send('POST', '/chat/completions', { key: account.key, body: Buffer.from(hostile) }),
      400,
      'invalid_request',
    );
    const tookMs = naru.clock.monotonic() - startMs;
    over = true;
    await others;
    // Parsing the first of them takes six seconds on an idle host.
    assert.ok(tookMs < scaledLimit(4_000), `refused after ${tookMs} ms`);
    assert.ok(slowestMs < scaledLimit(3_000), `another request took ${slowestMs} ms`);
  }
});

/** What two parties could read in two ways, or is not HTTP. */
const smuggled: Readonly<Record<string, string>> = {
  'two lengths':
    'POST /api/v1/models HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ncontent-length: 50\r\n\r\nabcd',
  'a length and chunks':
    'POST /api/v1/models HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
  'a chunk size that is none':
    'POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nab\r\n0\r\n\r\n',
  'an encoding that is none':
    'POST /api/v1/models HTTP/1.1\r\nhost: x\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n',
  'a bare line feed': 'GET /api/v1/models HTTP/1.1\nhost: x\n\n',
  'a folded header': 'GET /api/v1/models HTTP/1.1\r\nhost: x\r\nx-a: b\r\n c: d\r\n\r\n',
  'a space before the colon': 'GET /api/v1/models HTTP/1.1\r\nhost: x\r\ncontent-length : 5\r\n\r\nabcde',
  'a NUL in a header': 'GET /api/v1/models HTTP/1.1\r\nhost: x\r\nx-a: b\0c\r\n\r\n',
  'a space in the target': 'GET /api/v1/mod els HTTP/1.1\r\nhost: x\r\n\r\n',
  'no HTTP at all': 'hello\r\n\r\n',
  'headers of 100 KB': `GET /api/v1/models HTTP/1.1\r\nhost: x\r\nx-a: ${'b'.repeat(100_000)}\r\n\r\n`,
};

// spec:conformance/259
for (const [what, bytes] of Object.entries(smuggled)) {
  test(`${what} ends the connection with at most a 400, and no later request gets another response`, async () => {
    const responses = await rawly(
      naru.gateway.server.port,
      `${bytes}GET /api/v1/nowhere HTTP/1.1\r\nhost: x\r\n\r\n`,
      3,
    );
    assert.ok(responses.length <= 1, `${responses.length} responses`);
    for (const response of responses) {
      assert.ok(
        response.status === 400 || response.status === 404 || response.status === 401,
        String(response.status),
      );
      if (response.status !== 400) continue;
      assert.deepEqual(response.all('x-service-currency'), ['KRW']);
      assert.equal(JSON.parse(response.body).error.metadata.error_type, 'invalid_request');
    }
  });
}

/** Resolves once the gateway has no request in flight; fails after two seconds. */
async function idle(gateway: TestGateway): Promise<void> {
  await until('the end of every request', () => gateway.gateway.server.inFlight() === 0, 2_000);
}

test('a client that disconnects before or while it sends its body leaves no state behind', async () => {
  for (let n = 0; n < 20; n += 1) {
    // A key that is not cached, so that the client disconnects before its body is read.
    const { key } = await account.another();
    const client = await RawClient.open(naru.gateway.server.port);
    client.write(
      `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-length: 100\r\n\r\n`,
    );
    if (n % 2 === 0) await new Promise(setImmediate);
    client.close();
  }
  await idle(naru);
});

const korean = ['나루는 ', '강을 ', '건너는 곳 🇰🇷'];

/** A streamed request of a version of HTTP, byte for byte. */
function streamedRequest(version: string): Buffer {
  const body = Buffer.from(JSON.stringify({ ...completion, stream: true }));
  const head = `POST /api/v1/chat/completions HTTP/${version}\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\n`;
  return Buffer.concat([Buffer.from(`${head}content-length: ${body.length}\r\n\r\n`), body]);
}

test('a stream is framed to the byte, and its connection accepts the next request', async () => {
  const client = await RawClient.open(naru.gateway.server.port);
  for (let round = 0; round < 3; round += 1) {
    upstream.next(reply.stream(korean));
    client.write(streamedRequest('1.1'));
    const response = await client.response();
    assert.equal(response?.status, 200);
    assert.deepEqual(response.all('transfer-encoding'), ['chunked']);
    assert.equal(textOf(eventsOf(response.body)), korean.join(''));
    assert.ok(response.body.endsWith('data: [DONE]\n\n'));
    assert.equal(client.pending, 0, 'nothing follows the last chunk');
  }
  client.close();
});

test('an HTTP/1.0 client gets the stream unframed, up to the end of the connection', async () => {
  upstream.next(reply.stream(korean));
  const client = await RawClient.open(naru.gateway.server.port);
  client.write(streamedRequest('1.0'));
  await client.closed();
  const [head = '', body = ''] = (await client.some()).split('\r\n\r\n');
  assert.doesNotMatch(head, /transfer-encoding/i);
  assert.equal(textOf(eventsOf(body)), korean.join(''));
  assert.ok(body.endsWith('data: [DONE]\n\n'));
});
