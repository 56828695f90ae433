/**
 * Guarantees of every endpoint, looped over the route table: a new row is covered without a change
 * here.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { AnyRoute } from '../../src/api/route.ts';
import {
  startTestGateway,
  type TestAccount,
  type TestGateway,
  type TestResponse,
} from '../harness/gateway.ts';
import { rawly } from '../harness/raw-client.ts';
import { assertCommonHeaders, assertError } from '../harness/response-rules.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';

const garbage = `sk-naru-v1-${'0'.repeat(64)}`;
let upstream: Upstream;
let naru: TestGateway;
let account: TestAccount;
let management: string;
let generationId: string;

before(async () => {
  upstream = await startUpstream();
  naru = await startTestGateway({ models: [{ id: 'test/echo', upstreams: [upstream.url] }] });
  account = await naru.account({ credit: '1000000' });
  management = (await account.another({ kind: 'management' })).key;
  const body = { model: 'test/echo', messages: [{ role: 'user', content: 'hi' }] };
  const response = await naru.send('POST', '/chat/completions', { key: account.key, body });
  generationId = response.headers.get('x-service-generation-id') ?? '';
});
after(async () => {
  await naru?.close();
  await upstream?.close();
});

/** What a valid request to a row needs beside its path. */
const bodies: Readonly<Record<string, object>> = {
  'POST /api/v1/chat/completions': { model: 'test/echo', messages: [{ role: 'user', content: 'hi' }] },
  'POST /api/v1/completions': { model: 'test/echo', prompt: 'hi' },
};

function nameOf(row: AnyRoute): string {
  return `${row.method} ${row.path}`;
}

function pathOf(row: AnyRoute): string {
  const path = row.path.replace('{author}/{slug}', 'test/echo').replace('{hash}', account.hash);
  return `${path.replace('/api/v1', '')}${path.endsWith('/generation') ? `?id=${generationId}` : ''}`;
}

function call(
  row: AnyRoute,
  key: string | null,
  more: { method?: string; headers?: Record<string, string> } = {},
): Promise<TestResponse> {
  const body = bodies[nameOf(row)];
  return naru.send(more.method ?? row.method, pathOf(row), {
    ...(key === null ? {} : { key }),
    ...(body === undefined || more.method !== undefined ? {} : { body }),
    ...(more.headers === undefined ? {} : { headers: more.headers }),
  });
}

function goodKey(row: AnyRoute): string | null {
  if (row.credential === 'none') return null;
  return row.credential === 'management' ? management : account.key;
}

/**
 * Rows that can be called over and over with no effect on the others, which is all but key creation
 * and revocation.
 */
function rows(): readonly AnyRoute[] {
  const found = naru.gateway.routes
    .filter((row) => row.method === 'GET' || bodies[nameOf(row)] !== undefined)
    // The documentation page is HTML; its own test covers it.
    .filter((row) => !row.path.startsWith('/docs'));
  assert.ok(found.length >= 9, 'the loop must see the endpoints');
  const missing = naru.gateway.routes.filter(
    (row) => row.method !== 'GET' && row.credential !== 'management' && bodies[nameOf(row)] === undefined,
  );
  assert.deepEqual(missing.map(nameOf), [], 'add a valid body for each of these rows to `bodies`');
  return found;
}

// spec:conformance/1,5,14,17,256
test('every success has the currency once, its request id, its content type and no software header', async () => {
  for (const row of rows()) {
    const response = await call(row, goodKey(row));
    assert.equal(response.status, 200, `${nameOf(row)}: ${response.text}`);
    assertCommonHeaders(response);
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.equal(response.headers.get('retry-after'), null);
    assert.equal(typeof response.json, 'object');
  }
});

// spec:conformance/1,5,14,17
test('every success that creates, changes or revokes a key has the common headers', async () => {
  const changes = naru.gateway.routes.filter(
    (row) => row.credential === 'management' && row.method !== 'GET',
  );
  assert.deepEqual(changes.map((row) => row.method).toSorted(), ['DELETE', 'PATCH', 'POST']);
  const created = await naru.send('POST', '/keys', { key: management, body: { name: 'x' } });
  const path = `/keys/${created.json.data.hash}`;
  const changed = await naru.send('PATCH', path, { key: management, body: { name: 'y' } });
  const revoked = await naru.send('DELETE', path, { key: management });
  assert.deepEqual([created.status, changed.status, revoked.status], [201, 200, 200]);
  for (const response of [created, changed, revoked]) {
    assertCommonHeaders(response);
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.equal(response.headers.get('retry-after'), null);
    assert.ok('data' in response.json);
  }
});

// spec:conformance/1
test('the currency header has exactly one value on the wire', async () => {
  for (const row of rows().filter((each) => each.method === 'GET')) {
    const target = row.path.startsWith('/api/v1') ? `/api/v1${pathOf(row)}` : row.path;
    const [response] = await rawly(
      naru.gateway.server.port,
      `GET ${target} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${goodKey(row)}\r\n\r\n`,
    );
    assert.deepEqual(response?.all('x-service-currency'), ['KRW'], nameOf(row));
  }
});

// security:9
test('no response that needs a credential is cacheable', async () => {
  const cacheOf = (response: TestResponse) => response.headers.get('cache-control');
  const open: string[] = [];
  for (const row of rows()) {
    if (row.credential === 'none') {
      open.push(row.path);
      assert.notEqual(
        row.path.startsWith('/api/v1') && cacheOf(await call(row, null)),
        'no-store',
        nameOf(row),
      );
      continue;
    }
    for (const key of [goodKey(row), null, garbage])
      assert.equal(cacheOf(await call(row, key)), 'no-store', `${nameOf(row)} with ${key}`);
    assert.equal(cacheOf(await call(row, goodKey(row), { method: 'PUT' })), 'no-store', nameOf(row));
  }
  assert.ok(open.length >= 3 && rows().length - open.length >= 6, `${open}`);
  const streamed = { ...bodies['POST /api/v1/chat/completions'], stream: true };
  const stream = await naru.send('POST', '/chat/completions', { key: account.key, body: streamed });
  assert.deepEqual([stream.status, cacheOf(stream)], [200, 'no-store']);
  const made = await naru.send('POST', '/keys', { key: management, body: { name: 'x' } });
  assert.deepEqual([made.status, cacheOf(made)], [201, 'no-store']);
});

// spec:conformance/6
test('every account, catalogue and record endpoint wraps its response in `data`', async () => {
  for (const row of rows().filter((each) => each.method === 'GET' && each.path.startsWith('/api/v1'))) {
    assert.ok('data' in (await call(row, goodKey(row))).json, nameOf(row));
  }
});

// spec:conformance/24,25,26,27,28,29,30,31,33,34,37
test('every endpoint accepts its credentials and rejects all others with 401', async () => {
  for (const row of rows()) {
    const open = row.credential === 'none';
    const admits = (kind: string): boolean => open || row.credential === 'either' || row.credential === kind;
    const matrix: readonly [string | null, boolean][] = [
      [null, open],
      [garbage, open],
      ['malformed', open],
      [account.key, admits('inference')],
      [management, admits('management')],
    ];
    for (const [key, admitted] of matrix) {
      const response = await call(row, key);
      if (admitted) assert.equal(response.status, 200, `${nameOf(row)} with ${key}: ${response.text}`);
      else assertError(response, 401, 'invalid_api_key');
    }
  }
});

// spec:conformance/179,180,181
test('every path returns 405 for other methods, with Allow and the same list in the body', async () => {
  const paths = new Map(rows().map((row) => [row.path, row]));
  for (const [path, row] of paths) {
    const own = naru.gateway.routes.filter((each) => each.path === path).map((each) => each.method as string);
    const accepted = new Set([...own, 'OPTIONS', ...(own.includes('GET') ? ['HEAD'] : [])]);
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND'].filter(
      (each) => !accepted.has(each),
    )) {
      const target = path.startsWith('/api/v1') ? `/api/v1${pathOf(row)}` : path;
      const [raw] = await rawly(naru.gateway.server.port, `${method} ${target} HTTP/1.1\r\nhost: x\r\n\r\n`);
      assert.ok(raw !== undefined);
      const headers = new Headers(raw.headers.map(([name, value]) => [name, value]));
      const text = raw.body;
      const metadata = assertError(
        { status: raw.status, headers, text, json: JSON.parse(text) },
        405,
        'not_supported',
      );
      assert.equal(metadata['method'], method);
      assert.deepEqual(new Set(metadata['allow'] as string[]), accepted);
      assert.deepEqual(new Set(raw.all('allow').join(', ').split(', ')), accepted);
    }
  }
});

// spec:conformance/180 spec:api/4.7
test('OPTIONS returns 204 without a credential, with Allow and the CORS headers', async () => {
  for (const row of rows()) {
    const response = await call(row, null, { method: 'OPTIONS', headers: { origin: 'https://app.example' } });
    assert.equal(response.status, 204, nameOf(row));
    assert.equal(response.text, '');
    assertCommonHeaders(response);
    assert.ok(response.headers.get('allow')?.split(', ').includes(row.method));
    assert.ok(response.headers.get('access-control-allow-methods')?.includes(row.method));
    assert.match(response.headers.get('access-control-allow-headers') ?? '', /authorization.*content-type/i);
  }
});

// spec:conformance/180 spec:api/4.7
test('HEAD responds like GET, without a body', async () => {
  for (const row of rows().filter((each) => each.method === 'GET')) {
    const [head, get] = [await call(row, goodKey(row), { method: 'HEAD' }), await call(row, goodKey(row))];
    assert.equal(head.status, get.status, nameOf(row));
    assert.equal(head.text, '');
    assert.equal(head.headers.get('content-type'), get.headers.get('content-type'));
    assertCommonHeaders(head);
  }
});

test('browsers may read every header that a client needs', async () => {
  const exposed =
    (await naru.send('GET', '/models')).headers.get('access-control-expose-headers')?.toLowerCase() ?? '';
  for (const name of [
    'x-service-currency',
    'x-service-request-id',
    'x-service-generation-id',
    'x-service-model',
    'x-service-provider',
    'x-generation-id',
    'retry-after',
  ])
    assert.ok(exposed.split(', ').includes(name), name);
});

// spec:conformance/12
test('a thousand concurrent errors have a thousand request ids, none of them sent by the client', async () => {
  const seen = new Set<string>();
  const headers = { 'x-service-request-id': 'mine-mine-mine', 'x-request-id': 'mine-mine-mine' };
  const worker = async (): Promise<void> => {
    for (let n = 0; n < 125; n += 1)
      seen.add((await naru.send('GET', '/nowhere', { headers })).headers.get('x-service-request-id') ?? '');
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  assert.equal(seen.size, 1000);
  assert.ok(!seen.has('mine-mine-mine'));
});

test('the path table of the specification is the route table', () => {
  const page = readFileSync(new URL('../../docs/spec/api.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| \*\*1\.\d+\*\* \| (.+) \| (.+) \|$/gm)];
  const stated = rows.flatMap(([, calls = '', credential = '']) =>
    [...calls.matchAll(/`([A-Z]+) (\/[^`?]*)/g)].map(
      ([, method = '', path = '']) => `${method} ${path} ${credential}`,
    ),
  );
  const credentials: Readonly<Record<string, string>> = {
    none: 'none',
    either: 'inference or management key',
    inference: 'inference key',
    management: 'management key',
  };
  const routes = naru.gateway.routes
    .filter(({ path }) => path.startsWith('/api/v1/'))
    .map(({ method, path, credential }) => `${method} ${path.slice(7)} ${credentials[credential]}`);
  assert.deepEqual(stated.sort(), routes.sort());
});

// spec:conformance/18
test('the API is served below /api/v1 only', async () => {
  for (const path of [
    '/models',
    '/chat/completions',
    '/v1/models',
    '/api/models',
    '/API/v1/models',
    '//api/v1/models',
  ]) {
    const response = await fetch(`${naru.origin}${path}`, { redirect: 'manual' });
    assert.equal(response.status, 404, path);
  }
});

// spec:conformance/258
test('neither Host nor an absolute-form target has any effect', async () => {
  const { port } = naru.gateway.server;
  const bearer = `authorization: Bearer ${account.key}`;
  const [plain] = await rawly(port, `GET /api/v1/credits HTTP/1.1\r\nhost: localhost\r\n${bearer}\r\n\r\n`);
  for (const head of [
    `GET /api/v1/credits HTTP/1.1\r\nhost: evil.example\r\nx-forwarded-host: evil.example\r\n${bearer}`,
    `GET http://evil.example/api/v1/credits HTTP/1.1\r\nhost: localhost\r\n${bearer}`,
    `GET https://user:pw@evil.example:99/api/v1/credits?x=1 HTTP/1.1\r\nhost: localhost\r\n${bearer}`,
  ]) {
    const [response] = await rawly(port, `${head}\r\n\r\n`);
    assert.equal(response?.status, 200, head);
    assert.equal(response?.body, plain?.body);
    assert.doesNotMatch(JSON.stringify(response?.headers), /evil/);
  }
});

test('a client that offers an upgrade gets an ordinary response', async () => {
  const [response] = await rawly(
    naru.gateway.server.port,
    'GET /api/v1/models HTTP/1.1\r\nhost: x\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n\r\n',
  );
  assert.equal(response?.status, 200);
});

// spec:conformance/2,7
test('a request without Host or with an unknown expectation is rejected in our error shape', async () => {
  for (const head of [
    'GET /api/v1/models HTTP/1.1',
    'GET /api/v1/models HTTP/1.1\r\nhost: x\r\nexpect: miracles',
  ]) {
    const [response] = await rawly(naru.gateway.server.port, `${head}\r\n\r\n`);
    if (response?.status === 200) continue;
    assert.equal(response?.status, 400, head);
    assert.deepEqual(response.all('x-service-currency'), ['KRW']);
    assert.equal(JSON.parse(response.body).error.metadata.error_type, 'invalid_request');
  }
});

// spec:conformance/19 (every other test file is held to it when its gateway closes:
// test/harness/gateway.ts)
test('no request of this file ended as an internal error', () => {
  assert.deepEqual(
    naru.logged.filter((line) => line['event'] === 'internal_error' || line['status'] === 500),
    [],
  );
});
