/**
 * Creating, reading and listing keys, and what another account can learn about them (spec:api/5-7).
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { type Manager, manager } from '../harness/management.ts';
import { RawClient, rawly } from '../harness/raw-client.ts';
import { assertError } from '../harness/response-rules.ts';
import { byTier } from '../harness/tier.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';

const request = { model: 'test/echo', messages: [{ role: 'user', content: 'hi' }] };
let upstream: Upstream;
let naru: TestGateway;
let mine: Manager;
let theirs: Manager;
/** Every body that a client saw. */
const seen: string[] = [];

before(async () => {
  upstream = await startUpstream();
  const started = await startTestGateway({ models: [{ id: 'test/echo', upstreams: [upstream.url] }] });
  naru = {
    ...started,
    async send(...call) {
      const response = await started.send(...call);
      seen.push(response.text, JSON.stringify([...response.headers]));
      return response;
    },
  };
  [mine, theirs] = [await manager(naru), await manager(naru)];
});
after(async () => {
  await naru?.close();
  await upstream?.close();
});

const hexOf = (plaintext: string): string => createHash('sha256').update(plaintext).digest('hex');
const unknownLike = (hash: string): string =>
  `${hash.slice(0, 20)}${'0123456789'.repeat(3)}${hash.slice(50)}`;

/**
 * Every member that OpenRouter's own client requires of a key (spec:compat/10.1), and those of
 * spec:api/21, by what it must be.
 */
const keyMembers: Readonly<Record<string, (value: unknown) => boolean>> = {
  hash: (value) => /^[0-9a-f]{64}$/.test(String(value)),
  name: (value) => typeof value === 'string',
  label: (value) => typeof value === 'string',
  disabled: (value) => typeof value === 'boolean',
  limit: isNumberOrNull,
  limit_remaining: isNumberOrNull,
  limit_reset: (value) => ['never', 'daily', 'weekly', 'monthly'].includes(String(value)),
  include_byok_in_limit: (value) => typeof value === 'boolean',
  usage: isNumber,
  usage_daily: isNumber,
  usage_weekly: isNumber,
  usage_monthly: isNumber,
  allowed_models: isNull,
  allowed_providers: isNull,
  rpm_limit: isNull,
  byok_usage: (value) => value === 0,
  byok_usage_daily: (value) => value === 0,
  byok_usage_weekly: (value) => value === 0,
  byok_usage_monthly: (value) => value === 0,
  created_at: isInstant,
  updated_at: (value) => value === null || isInstant(value),
  expires_at: (value) => value === null || isInstant(value),
  creator_user_id: (value) => value === null || typeof value === 'string',
  workspace_id: (value) =>
    /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(String(value)),
  external_user: (value) => value === null,
};

function isNull(value: unknown): boolean {
  return value === null;
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' && value >= 0;
}

function isNumberOrNull(value: unknown): boolean {
  return value === null || isNumber(value);
}

function isInstant(value: unknown): boolean {
  return /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|\+00:00)$/.test(String(value));
}

function assertKey(data: Record<string, unknown>): void {
  assert.deepEqual(Object.keys(data).toSorted(), Object.keys(keyMembers).toSorted());
  for (const [name, holds] of Object.entries(keyMembers))
    assert.ok(holds(data[name]), `${name}: ${data[name]}`);
}

// spec:conformance/21,50,51,52,54,57,62,131,200
test('a new key is identified by the sha256 of its plaintext, which is beside `data`, and has every member', async () => {
  const created = await mine.create({ name: '새 키', limit: 5000.5, limit_reset: 'monthly' });
  assert.equal(created.status, 201);
  assert.deepEqual(Object.keys(created.json).toSorted(), ['data', 'key']);
  const { data, key } = created.json;
  assert.match(key, /^sk-naru-v1-[0-9a-f]{64}$/);
  assert.equal(data.hash, hexOf(key));
  assertKey(data);
  const { disabled, limit, limit_remaining, limit_reset, usage, updated_at } = data;
  assert.deepEqual(
    { disabled, limit, limit_remaining, limit_reset, usage, updated_at },
    {
      disabled: false,
      limit: 5000.5,
      limit_remaining: 5000.5,
      limit_reset: 'monthly',
      usage: 0,
      updated_at: null,
    },
  );
  assert.ok(Math.abs(Date.parse(data.created_at) - naru.clock.now()) < 5000);
  const read = await mine.read(hexOf(key));
  assert.equal(read.status, 200);
  assert.deepEqual(read.json, { data });
});

// spec:conformance/62
test('a key without a limit has null, however it was created', async () => {
  for (const body of [{ name: 'x' }, { name: 'x', limit: null, limit_reset: null, expires_at: null }]) {
    const { data } = (await mine.create(body)).json;
    const { limit, limit_remaining, limit_reset, expires_at } = data;
    assert.deepEqual(
      { limit, limit_remaining, limit_reset, expires_at },
      { limit: null, limit_remaining: null, limit_reset: 'never', expires_at: null },
    );
  }
});

test('the members of a new key are validated before it is created', async () => {
  const before = (await mine.list()).json.data.length;
  for (const body of [
    {},
    { limit: 1 },
    { name: 'x', limit: '1' },
    { name: 'x', limit: -1 },
    { name: 'x', limit_reset: 'yearly' },
    { name: 'x', limit_reset: 1 },
    { name: 'x', expires_at: 'tomorrow' },
    { name: 'x', expires_at: '2026-02-30T00:00:00Z' },
    { name: 'x', expires_at: '2026-12-31T00:00:00' },
    { name: 'x', expires_at: 1_800_000_000 },
    { name: 'x', expires_at: '0000-01-01T00:00:00Z' },
    { name: 'x', expires_at: '9999-12-31T23:59:59-14:00' },
    ...['\u200b', '\u2060', '\u3164'].map((unseen) => ({ name: unseen })),
    { name: 'x'.repeat(501) },
    { name: 'a\0b' },
    '{"name":"\\ud800"}',
    '{bad',
    '[]',
    '',
  ])
    assertError(await mine.create(body), 400, 'invalid_request');
  assert.equal((await mine.list()).json.data.length, before);
});

test('members that only OpenRouter has are accepted, and the expiry is the instant that was sent', async () => {
  const created = await mine.create({
    name: 'x',
    label: 'mine',
    include_byok_in_limit: true,
    creator_user_id: 'u',
    workspace_id: '0df9e665-d932-5740-b2c7-b52af166bc11',
    external: { user: 'u' },
    expires_at: '2031-01-01T09:00:00+09:00',
  });
  assert.equal(created.status, 201);
  assert.equal(created.json.data.expires_at, '2031-01-01T00:00:00.000Z');
  assert.equal(created.json.data.disabled, false);
  const never = await mine.create({ name: 'x', expires_at: '9999-12-31T23:59:59.999Z' });
  assert.equal(never.json.data.expires_at, '9999-12-31T23:59:59.999Z');
});

// spec:conformance/56
test('a name is stored byte for byte', async () => {
  const names = [
    '한글 키',
    '🔑👩‍👩‍👧‍👦',
    `"'\`\\`,
    '<script>alert(1)</script>',
    ' x ',
    'e\u0301',
    '\u202edlrow',
    'null',
    '__proto__',
    "'; DROP TABLE api_key; --",
    '%00',
  ];
  for (const name of names) {
    const { data } = (await mine.create({ name })).json;
    assert.equal(data.name, name);
    const changed = await mine.change(data.hash, { name: `${name}!` });
    assert.equal(changed.json.data.name, `${name}!`);
    assert.equal((await mine.read(data.hash)).json.data.name, `${name}!`);
  }
});

// spec:conformance/55
test('the label identifies the key and cannot be used as one', async () => {
  const { key, data } = (await mine.create({ name: 'x' })).json;
  assert.notEqual(data.label, key);
  const shown = data.label.split('...').join('');
  assert.ok(key.length - shown.length >= 32, 'at least 128 bits are hidden');
  assertError(
    await naru.send('POST', '/chat/completions', { key: data.label, body: request }),
    401,
    'invalid_api_key',
  );
});

// spec:conformance/63
test("usage is the exact sum of the key's charges", async () => {
  const { key, hash } = await mine.issue();
  let micro = 0;
  for (let n = 0; n < 5; n += 1) {
    const { usage } = (await naru.send('POST', '/chat/completions', { key, body: request })).json;
    micro += Math.round(usage.cost * 1e6);
  }
  assert.ok(micro > 0);
  const { data } = (await mine.read(hash)).json;
  for (const name of ['usage', 'usage_daily', 'usage_weekly', 'usage_monthly'])
    assert.equal(Math.round(data[name] * 1e6), micro, name);
  await naru.settled();
  assert.deepEqual((await mine.read(hash)).json.data, data, 'also once it is in the database');
});

// spec:conformance/64
test('the listing shows every key like its own endpoint, newest first', async () => {
  const { data } = (await mine.list()).json;
  assert.ok(data.length >= 5);
  for (const item of data) assert.deepEqual((await mine.read(item.hash)).json.data, item);
  const newest = await mine.issue();
  assert.equal((await mine.list()).json.data[0].hash, newest.hash);
});

test('the listing shows spending of keys that this process never served', async () => {
  const models = [{ id: 'test/echo', upstreams: [upstream.url] }];
  const first = await startTestGateway({ models });
  try {
    const owner = await manager(first);
    const { key, hash } = await owner.issue();
    await owner.issue();
    await first.send('POST', '/chat/completions', { key, body: request });
    const listed = (await owner.list()).json.data;
    await first.stop();
    const second = await startTestGateway({ models, after: first });
    try {
      assert.deepEqual((await second.send('GET', '/keys', { key: owner.key })).json.data, listed);
      assert.ok(listed.find((item: { hash: string }) => item.hash === hash).usage > 0);
    } finally {
      await second.close();
    }
  } finally {
    await first.close();
  }
});

test('a page has a hundred keys, and the pages have every key once', async () => {
  const many = await manager(naru);
  const issued: string[] = [];
  for (let n = 0; n < 102; n += 1) issued.unshift((await many.issue({ name: `k${n}` })).hash);
  const pages = await Promise.all(
    ['', '?offset=100', '?offset=5000', `?offset=${'9'.repeat(30)}`].map((query) => many.list(query)),
  );
  const hashes = pages.map(({ json }) => json.data.map((item: { hash: string }) => item.hash));
  assert.deepEqual(
    hashes.map((page) => page.length),
    [100, 4, 0, 0],
  );
  assert.deepEqual(hashes.flat().slice(0, 102), issued);
  assert.equal(new Set(hashes.flat()).size, 104, 'its own two keys are listed too');
  for (const offset of ['-1', '1.5', 'x', '', '1e3'])
    assertError(await many.list(`?offset=${offset}`), 400, 'invalid_request');
});

test('disabled keys are listed unless the client excludes them', async () => {
  const [off, suspended, on] = [await theirs.issue(), await theirs.issue(), await theirs.issue()];
  await theirs.change(off.hash, { disabled: true });
  await naru.operator.suspendKey({ hash: suspended.hash as never, suspended: true, reason: null });
  const listed = async (query: string): Promise<string[]> =>
    (await theirs.list(query)).json.data.map((item: { hash: string }) => item.hash);
  for (const query of ['', '?include_disabled=true', '?include_disabled=True&workspace_id=x&unknown=1'])
    for (const { hash } of [off, suspended, on]) assert.ok((await listed(query)).includes(hash), query);
  const rest = await listed('?include_disabled=false');
  assert.deepEqual(
    [off, suspended, on].map(({ hash }) => rest.includes(hash)),
    [false, false, true],
  );
  assertError(await theirs.list('?include_disabled=maybe'), 400, 'invalid_request');
});

// spec:api/1.19
test('a trailing slash in the path is accepted', async () => {
  const created = await naru.send('POST', '/keys/', { key: mine.key, body: { name: 'x' } });
  assert.equal(created.status, 201);
  assert.equal((await naru.send('GET', '/keys/', { key: mine.key })).status, 200);
  assert.equal((await naru.send('GET', `/keys/${created.json.data.hash}/`, { key: mine.key })).status, 200);
});

// spec:conformance/34,35,36,198
test('only a management key manages keys, and the body is checked after the key', async () => {
  const { hash } = await mine.issue();
  const calls = [
    ['GET', '/keys'],
    ['POST', '/keys'],
    ['GET', `/keys/${hash}`],
    ['PATCH', `/keys/${hash}`],
    ['DELETE', `/keys/${hash}`],
  ] as const;
  for (const [method, path] of calls) {
    for (const key of [undefined, `sk-naru-v1-${'0'.repeat(64)}`, mine.account.key]) {
      const body = method === 'POST' || method === 'PATCH' ? { body: '{bad' } : {};
      assertError(
        await naru.send(method, path, { ...body, ...(key === undefined ? {} : { key }) }),
        401,
        'invalid_api_key',
      );
    }
  }
  const good = [undefined, { name: 'y' }, undefined, { name: 'y' }, undefined];
  for (const [n, [method, path]] of calls.entries()) {
    const response = await naru.send(method, path, {
      key: mine.key,
      ...(good[n] === undefined ? {} : { body: good[n] }),
    });
    assert.equal(response.status, method === 'POST' ? 201 : 200);
  }
});

// spec:conformance/132,135,182 spec:api/6.2
test('the 404 of a key is Korean, has its short name and no path, also for malformed hashes', async () => {
  const hash = hexOf('nobody');
  const unknown = await mine.read(hash);
  const metadata = assertError(unknown, 404, 'not_supported');
  assert.deepEqual(Object.keys(metadata), ['error_type']);
  const { message } = unknown.json.error;
  assert.match(message, /\p{Script=Hangul}/u);
  assert.ok(message.includes(hash.slice(0, 8)) && !message.includes(hash));
  for (const odd of [
    hash.toUpperCase(),
    hash.slice(1),
    `${hash}0`,
    'x',
    '%00',
    '..%2f',
    '%EF%BF%BF',
    "'",
    'g'.repeat(64),
    '__proto__',
  ]) {
    assert.deepEqual(
      Object.keys(assertError(await mine.read(odd), 404, 'not_supported')),
      ['error_type'],
      odd,
    );
    assertError(await mine.change(odd, { name: 'x' }), 404, 'not_supported');
    assertError(await mine.revoke(odd), 404, 'not_supported');
  }
});

// spec:conformance/133,134,137,182
// security:18
test("another account's key and a key that does not exist return the same bytes and headers", async () => {
  const { key, hash } = await theirs.issue({ name: 'foreign', limit: 7 });
  const before = (await theirs.read(hash)).text;
  const onWire = async (method: string, of: string, body = ''): Promise<string> => {
    const [response] = await rawly(
      naru.gateway.server.port,
      `${method} /api/v1/keys/${of} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${mine.key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    assert.ok(response !== undefined);
    const changing = new Set(['date', 'x-service-request-id', 'x-request-id']);
    return JSON.stringify([
      response.status,
      response.headers.filter(([name]) => !changing.has(name)),
      response.body,
    ]);
  };
  for (const [method, body] of [
    ['GET'],
    ['PATCH', '{"disabled":true,"limit":null}'],
    ['PATCH', '{}'],
    ['DELETE'],
    ['DELETE', 'x'],
  ] as const) {
    const [foreign, unknown] = [
      await onWire(method, hash, body),
      await onWire(method, unknownLike(hash), body),
    ];
    assert.equal(foreign, unknown, method);
    assert.match(foreign, /^\[404,/);
  }
  assert.equal((await theirs.read(hash)).text, before);
  assert.equal((await naru.send('POST', '/chat/completions', { key, body: request })).status, 200);
  assert.ok(!(await mine.list()).text.includes(hash));
});

/** How well times separate two kinds of response: 0.5 not at all, 1 always. */
function areaUnderCurve(some: readonly number[], others: readonly number[]): number {
  const all = [
    ...some.map((ms) => ({ ms, mine: true })),
    ...others.map((ms) => ({ ms, mine: false })),
  ].toSorted((a, b) => a.ms - b.ms);
  const ranks = all.reduce((sum, { mine: counts }, at) => sum + (counts ? at + 1 : 0), 0);
  const area = (ranks - (some.length * (some.length + 1)) / 2) / (some.length * others.length);
  return Math.max(area, 1 - area);
}

/**
 * A separate connection that sends one request after the other and measures each: the minimal cost
 * of a client.
 */
async function timingClient(port: number, bearer: string) {
  const client = await RawClient.open(port);
  return {
    async time(hash: string): Promise<number> {
      const head = `GET /api/v1/keys/${hash} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${bearer}\r\n\r\n`;
      const startMs = performance.now();
      client.write(head);
      const response = await client.response();
      const ms = performance.now() - startMs;
      assert.equal(response?.status, 404);
      return ms;
    },
    close: () => client.close(),
  };
}

// spec:conformance/136
// security:18
test("another account's key and a key that does not exist cannot be distinguished by time", async (t) => {
  const { hash } = await theirs.issue();
  const client = await timingClient(naru.gateway.server.port, mine.key);
  for (let n = 0; n < 200; n += 1) await client.time(hash);
  const { pairs, bound } = byTier({ pairs: 300, bound: 0.58 }, { pairs: 5_000, bound: 0.52 });
  /**
   * Interleaved; the first kind alternates, so that both benefit equally from caches that the first
   * one warms.
   */
  const areaOfRound = async (): Promise<number> => {
    const times: { foreign: number[]; unknown: number[] } = { foreign: [], unknown: [] };
    for (let n = 0; n < pairs; n += 1) {
      for (const kind of n % 2 === 0 ? (['foreign', 'unknown'] as const) : (['unknown', 'foreign'] as const))
        times[kind].push(await client.time(kind === 'foreign' ? hash : hexOf(`nobody ${n}`)));
    }
    return areaUnderCurve(times.foreign, times.unknown);
  };
  // Samples of one distribution are above the bound about once in 2,000 rounds; a real difference
  // is in every round.
  const areas: number[] = [];
  while (areas.length < 3 && !areas.some((area) => area <= bound)) areas.push(await areaOfRound());
  client.close();
  t.diagnostic(`AUC ${areas.map((area) => area.toFixed(4)).join(', ')} of ${2 * pairs} requests each`);
  assert.ok(Math.min(...areas) <= bound, `AUC ${areas}`);
});

// spec:conformance/22
test('a plaintext is only in the response that created the key', async () => {
  const created = seen.flatMap((text) => /"key":"(sk-naru-[0-9a-z-]+)"/.exec(text)?.slice(1) ?? []);
  assert.ok(created.length > 10);
  for (const key of new Set(created)) assert.equal(seen.filter((text) => text.includes(key)).length, 1);
  const secrets = [mine, theirs].flatMap(({ key, account }) => [key, account.key]);
  for (const key of secrets) assert.ok(!seen.some((text) => text.includes(key)));
});
