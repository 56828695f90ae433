/**
 * The tables of spec:errors/2 and spec:errors/3, row by row: each failure of the catalogue is
 * caused by a real request to a real server, and the response is exactly its row. A row without a
 * cause does not compile.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { catalogue, errorTypeOf, type Failure } from '../../src/errors/catalogue.ts';
import { type Cutter, startCutter } from '../chaos/proxy.ts';
import { startWorld, type World } from '../fuzz/world.ts';
import {
  type SendOptions,
  startTestGateway,
  type TestGateway,
  type TestResponse,
} from '../harness/gateway.ts';
import { RawClient, rawly } from '../harness/raw-client.ts';
import { assertError } from '../harness/response-rules.ts';
import { until } from '../harness/until.ts';
import { reply, startUpstream, type Upstream } from '../harness/upstream.ts';

let world: World;
/** Lets one request of an address through, and then one a second. */
let strict: TestGateway;
/** Has no memory for a body of the largest size beside the one that waits there. */
let full: TestGateway;
let silent: Upstream;
let fillsMemory: Promise<unknown>;
let stopWaiting = (): void => {};
/** Has lost the directory of keys. */
let broken: TestGateway;
/** Has lost its database. */
let away: TestGateway;
let cutter: Cutter;

before(async () => {
  world = await startWorld();
  strict = await startTestGateway({
    config: { edge: { rate_limit: 'builtin' }, limits: { burst: 1, requests_per_second: 1 } },
  });
  silent = await startUpstream();
  silent.always(reply.hang());
  full = await startTestGateway({
    beside: world.naru,
    publishes: true,
    models: [{ id: 'test/silent', upstreams: [silent.url], model: { context_length: 100_000_000 } }],
    config: { limits: { memory_bytes: 16_777_216, body_bytes: 4_194_304, client_memory_percent: 100 } },
  });
  const waiting = new AbortController();
  const body = { model: 'test/silent', messages: [{ role: 'user', content: 'x'.repeat(2_500_000) }] };
  const { key } = world.payer;
  fillsMemory = full
    .send('POST', '/chat/completions', { key, body, signal: waiting.signal })
    .catch(() => null);
  stopWaiting = () => waiting.abort();
  await until('the request that fills the memory', () => silent.requests.length > 0);
  broken = await startTestGateway({ expectsInternalErrors: true });
  await broken.database.query('ALTER TABLE key_directory RENAME TO lost');
  away = await startTestGateway({
    through: async (address) => {
      cutter = await startCutter(address);
      return cutter.address;
    },
  });
  cutter.down();
});
after(async () => {
  stopWaiting();
  await fillsMemory;
  while ((full?.gateway.server.inFlight() ?? 0) > 0) await new Promise(setImmediate);
  await full?.close();
  await silent?.close();
  await world?.close();
  await strict?.close();
  await broken?.close();
  cutter?.up();
  await away?.close();
  await cutter?.close();
});

/** A request that causes a failure, its server, and how often to repeat it. */
interface Cause {
  readonly at?: () => TestGateway;
  readonly method: string;
  readonly path: string;
  readonly credential?: string;
  readonly body?: unknown;
  readonly times?: number;
  /** The extra metadata of 7.3, each by what its value must be. */
  readonly extras?: Readonly<Record<string, (value: unknown) => boolean>>;
}

const messages = [{ role: 'user', content: 'How far is it to the other side of the river?' }];
const chat = (model: string, credential = 'inference'): Cause => ({
  method: 'POST',
  path: '/chat/completions',
  credential,
  body: { model, messages },
});
const isDecimal = (value: unknown): boolean => typeof value === 'string' && /^-?\d+\.\d{6}$/.test(value);
const isSeconds = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 1;
const is =
  (wanted: unknown) =>
  (value: unknown): boolean =>
    JSON.stringify(value) === JSON.stringify(wanted);

const causes: { readonly [F in Failure]: Cause } = {
  invalid_request: { ...chat('test/echo'), body: [] },
  model_not_found: { ...chat('test/echo:free'), extras: { model: is('test/echo:free') } },
  invalid_api_key: { method: 'GET', path: '/key', credential: 'unknown' },
  expired_api_key: { method: 'GET', path: '/key', credential: 'expired' },
  insufficient_credits: {
    method: 'GET',
    path: '/credits',
    credential: 'no credit',
    extras: { balance_krw: isDecimal },
  },
  key_limit_exceeded: {
    ...chat('test/echo', 'at its limit'),
    extras: { limit_krw: isDecimal, usage_krw: isDecimal },
  },
  key_suspended: { method: 'GET', path: '/key', credential: 'suspended' },
  no_endpoints_found: { ...chat('test/small'), extras: { models: is(['test/small']) } },
  not_found: { method: 'GET', path: `/keys/${'0'.repeat(64)}`, credential: 'management' },
  no_such_path: {
    method: 'GET',
    path: '/a%2Fb/../c//d;e=%zz?q=1&r=/x',
    extras: { path: is('/api/v1/a%2Fb/../c//d;e=%zz') },
  },
  method_not_allowed: {
    method: 'PUT',
    path: '/keys/%61%2e%2e?q=1',
    extras: {
      path: is('/api/v1/keys/%61%2e%2e'),
      method: is('PUT'),
      allow: is(['GET', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']),
    },
  },
  timeout: { ...chat('test/silent'), extras: { timeout_sec: (value) => Number(value) > 0 } },
  rate_limit_exceeded: {
    at: () => strict,
    method: 'GET',
    path: '/models',
    times: 20,
    extras: { retry_after_sec: isSeconds },
  },
  database_away: {
    at: () => away,
    method: 'GET',
    path: '/key',
    credential: 'unknown',
    extras: { retry_after_sec: isSeconds },
  },
  server: { at: () => broken, method: 'GET', path: '/key', credential: 'unknown' },
  rejected_upstream: {
    ...chat('test/strict'),
    extras: { provider_code: is(422), upstream_message: is('the input is too long') },
  },
  provider_error: { ...chat('test/dead'), extras: { provider_code: is(null) } },
  overloaded: {
    ...chat('test/silent'),
    at: () => full,
    body: { model: 'test/silent', messages: [{ role: 'user', content: 'x'.repeat(4_000_000) }] },
    extras: { retry_after_sec: isSeconds },
  },
  model_loading: { ...chat('test/cold'), extras: { retry_after_sec: isSeconds } },
};

/**
 * The response to a request over its own socket, byte by byte as written: no client normalises its
 * path.
 */
async function send(cause: Cause, method = cause.method): Promise<TestResponse> {
  const authorization = world.credentials.get(cause.credential ?? 'none') ?? null;
  const body = cause.body === undefined ? '' : JSON.stringify(cause.body);
  const head = [
    `${method} /api/v1${cause.path} HTTP/1.1`,
    'host: naru.example',
    'origin: https://app.example',
    'connection: close',
    ...(authorization === null ? [] : [`authorization: ${authorization}`]),
    ...(body === '' ? [] : [`content-length: ${Buffer.byteLength(body)}`]),
  ];
  const { port } = (cause.at?.() ?? world.naru).gateway.server;
  const [response] = await rawly(port, `${head.join('\r\n')}\r\n\r\n${body}`);
  assert.ok(response !== undefined);
  const headers = new Headers(response.headers.map(([name, value]): [string, string] => [name, value]));
  const text = response.body;
  return { status: response.status, headers, text, json: JSON.parse(text) };
}

async function caused(failure: Failure): Promise<TestResponse> {
  const cause = causes[failure];
  let response = await send(cause);
  for (
    let left = (cause.times ?? 1) - 1;
    left > 0 && response.status !== catalogue[failure].status;
    left -= 1
  )
    response = await send(cause);
  return response;
}

// spec:conformance/7,8,9,10,13,14
for (const failure of Object.keys(causes) as Failure[]) {
  test(`${catalogue[failure].status} ${errorTypeOf(failure)} (${failure}) is caused by a request and matches its catalogue row exactly`, async () => {
    const response = await caused(failure);
    const row = catalogue[failure];
    const { error_type: _, ...extras } = assertError(response, row.status, errorTypeOf(failure));
    const wanted = causes[failure].extras ?? {};
    assert.deepEqual(Object.keys(extras).sort(), Object.keys(wanted).sort());
    for (const [name, holds] of Object.entries(wanted))
      assert.ok(holds(extras[name]), `${name} is ${JSON.stringify(extras[name])}`);
    assert.equal(response.headers.get('x-should-retry'), row.retry ? null : 'false');
    const allow = extras['allow'] as readonly string[] | undefined;
    assert.equal(response.headers.get('allow'), allow?.join(', ') ?? null);
    assert.doesNotMatch(response.text, /\bat .*\.ts|api_key" |relation|SELECT|127\.0\.0\.1|ECONN/);
  });
}

test('a page of another origin may read every header that an error uses', async () => {
  for (const failure of Object.keys(causes) as Failure[]) {
    const { headers } = await caused(failure);
    assert.equal(headers.get('access-control-allow-origin'), '*', failure);
    const exposed = headers.get('access-control-expose-headers')?.toLowerCase().split(', ') ?? [];
    for (const name of ['retry-after', 'x-should-retry', 'x-service-request-id'])
      assert.ok(exposed.includes(name), `${failure}: ${name}`);
  }
});

// spec:compat/13.2
test('CORS preflight is allowed on every path without a credential', async () => {
  for (const { method, path } of world.naru.gateway.routes) {
    const options: SendOptions = {
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization, content-type, x-service-title, http-referer',
      },
    };
    const target = path
      .replace('/api/v1', '')
      .replace('{author}/{slug}', 'test/echo')
      .replace(/\{\w+\}/, 'x');
    const response = await world.naru.send('OPTIONS', target, options);
    assert.equal(response.status, 204, `${method} ${path}`);
    assert.equal(response.text, '');
    assert.ok(response.headers.get('access-control-allow-methods')?.split(', ').includes(method));
    const names = response.headers.get('access-control-allow-headers')?.toLowerCase().split(', ') ?? [];
    for (const name of ['authorization', 'content-type', 'x-service-title', 'http-referer'])
      assert.ok(names.includes(name), name);
  }
});

test('HEAD returns the same error status and headers as GET, without a body', async () => {
  for (const failure of Object.keys(causes) as Failure[]) {
    const cause = causes[failure];
    // A rate allows another request after a moment: on a busy machine also this one.
    if (cause.method !== 'GET' || failure === 'rate_limit_exceeded') continue;
    const wanted = await caused(failure);
    const authorization = world.credentials.get(cause.credential ?? 'none') ?? 'none';
    const { port } = (cause.at?.() ?? world.naru).gateway.server;
    // The next response follows at once, so a body would be taken for it.
    const second = 'GET /api/v1/nowhere HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n';
    const client = await RawClient.open(port);
    client.write(
      `HEAD /api/v1${cause.path} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n\r\n${second}`,
    );
    const head = await client.response(true);
    assert.equal(head?.status, wanted.status, failure);
    assert.deepEqual(head?.all('content-type'), [wanted.headers.get('content-type')]);
    assert.deepEqual(head?.all('content-length'), [wanted.headers.get('content-length')]);
    assert.match((await client.response())?.body ?? '', /nowhere|rate_limit/);
    client.close();
  }
});
