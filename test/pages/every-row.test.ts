/**
 * What holds for every row of the page API: who may call it, how its changes are protected, and the
 * headers of its responses.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { insertPaymentOrder } from '../../src/ledger/payment-orders-sql.ts';
import { consoleRows } from '../../src/pages/console/rows.ts';
import type { ConsoleContext, DashboardContext } from '../../src/pages/context.ts';
import { dashboardRows } from '../../src/pages/dashboard/rows.ts';
import type { PageApi } from '../../src/pages/page-api.ts';
import { maxPageBodyBytes } from '../../src/pages/page-dispatch.ts';
import { type AnyPageRoute, isChange } from '../../src/pages/page-route.ts';
import { roles } from '../../src/pages/page-session.ts';
import { pageErrorShape } from '../../src/pages/shapes.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, type PageResponse, TestSessions } from '../harness/pages.ts';
import { paymentConfig } from '../harness/toss.ts';

const sessions = new TestSessions();
const rows = [...dashboardRows({} as DashboardContext), ...consoleRows({} as ConsoleContext)];
const protectedRows = rows.filter((row) => row.credential !== 'none');
const changingRows = rows.filter((row) => isChange(row.method));
const passkeyBody = {
  step: 'x',
  name: 'x',
  response: {
    id: 'x',
    rawId: 'x',
    type: 'public-key',
    response: { clientDataJSON: 'x', attestationObject: 'x' },
  },
};
/** Bodies of rows that do not accept an empty object. */
const bodies: Readonly<Record<string, object>> = {
  'PUT /dashboard/api/alerts': { low_balance_micro: null, min_days_left: 7 },
  'PUT /dashboard/api/messages/email': { kinds: [] },
  'PUT /console/api/messages/email': { address: 'a@b.example', kinds: [] },
  'PUT /dashboard/api/messages/webhook': { url: 'https://a.example/', kinds: [], language: 'ko' },
  'PUT /console/api/messages/webhook': { url: 'https://a.example/', kinds: [], language: 'ko' },
  'POST /dashboard/api/messages/test': { channel: 'webhook' },
  'POST /console/api/messages/test': { channel: 'webhook' },
  'PUT /dashboard/api/password': { password: 'x' },
  'POST /dashboard/api/passkeys': passkeyBody,
  'POST /dashboard/api/totp/enable': { code: '0' },
  'POST /console/api/passkeys': passkeyBody,
  'POST /console/api/sign-in/passkey': { step: 'x', response: { id: 'x', response: {} } },
  'POST /console/api/operators': { name: 'x', role: 'viewer' },
  'POST /console/api/operator-tokens': { name: 'x', role: 'viewer', expires_at: '2026-01-01T00:00:00Z' },
  'POST /console/api/accounts': { name: 'x' },
  'PATCH /console/api/operators/{id}': { role: 'viewer' },
  'POST /dashboard/api/topups': { amount_micro: '1000000' },
  'POST /dashboard/api/payments': { amount_micro: '10000000000' },
  'POST /dashboard/api/payments/{order}/complete': { payment_key: 'x', amount: '10000' },
  'POST /console/api/payments/{order}/cancel': { reason: 'x' },
  'POST /console/api/quarantine/{id}/retry': { reason: 'x' },
  'POST /console/api/quarantine/{id}/write-off': { reason: 'x' },
  'POST /console/api/candidates/test': { model: 'x', candidate: 'x' },
  'POST /console/api/candidates/drain': { model: 'x', candidate: 'x', drained: true, reason: 'x' },
  'POST /console/api/slots/{name}/pin': { pinned: true },
  'POST /console/api/topups/{id}/reject': { reason: 'no transfer' },
  'POST /console/api/accounts/{account}/suspension': { suspended: true, reason: 'x' },
  'POST /console/api/accounts/{account}/closure': { closed: true, reason: 'x' },
  'PATCH /console/api/accounts/{account}': { name: 'x' },
  'POST /console/api/accounts/{account}/grants': { kind: 'bonus', amount_micro: '1', reason: 'x' },
  'POST /console/api/accounts/{account}/adjustments': { amount_micro: '-1', reason: 'x' },
  'POST /console/api/accounts/{account}/generations/{id}/refund': { reason: 'x' },
  'POST /console/api/accounts/{id}/owner/replacement': { email: 'a@b.example', reason: 'x' },
  'PATCH /console/api/keys/{hash}': { reason: 'x' },
  'POST /console/api/keys/{hash}/suspension': { suspended: true, reason: 'x' },
  'POST /console/api/prices/publish': { digest: 'x', reason: 'x' },
  'POST /console/api/announcements': { level: 'info', text: { ko: '가', en: 'a' } },
  'POST /console/api/sign-in/link': { token: 'x' },
  'POST /dashboard/api/sign-in/claim': { email: 'a@b.example', password: 'long enough' },
  'POST /dashboard/api/sign-in/code': { step: 'x', code: '000000' },
  'POST /dashboard/api/sign-in/key': { key: 'x' },
  'POST /dashboard/api/sign-in/link': { token: 'x' },
  'POST /dashboard/api/sign-in/link/read': { token: 'x' },
  'POST /dashboard/api/sign-in/link/redeem': { token: 'x', password: 'long enough' },
  'POST /dashboard/api/sign-in/passkey': { step: 'x', response: { id: 'x', response: {} } },
  'POST /dashboard/api/sign-in/password': { email: 'a@b.example', password: 'x' },
  'POST /dashboard/api/keys': { kind: 'inference', name: 'key' },
};
let gateway: TestGateway;
let account: TestAccount;

before(async () => {
  gateway = await startTestGateway({ sessions, config: paymentConfig('http://127.0.0.1:9') });
  account = await gateway.account();
});
after(() => gateway?.close());

function originOf(row: AnyPageRoute): string {
  const { server, admin } = gateway.gateway;
  return `http://127.0.0.1:${row.area === 'dashboard' ? server.port : admin.port}`;
}

function browserOf(row: AnyPageRoute, token: string | null): PageBrowser {
  return new PageBrowser(originOf(row), row.area, token);
}

function tokenFor(row: AnyPageRoute): string {
  return row.area === 'dashboard' ? sessions.owner(account.accountId) : sessions.operator('admin');
}

/** The path below the API with well-formed ids that nothing has, and the query that the row needs. */
function pathOf(row: AnyPageRoute): string {
  const path = row.path.slice(`/${row.area}/api`.length);
  const isUsage = row.path.includes('/usage/');
  const query = isUsage
    ? '?by=model&step=day&of=duration'
    : row.path.endsWith('/statement')
      ? '?month=2026-01'
      : '';
  return path.replaceAll('{hash}', 'f'.repeat(64)).replaceAll(/\{\w+\}/g, randomUUID()) + query;
}

function assertRefused(response: PageResponse, status: number, type: string, what: string): void {
  assert.equal(response.status, status, `${what}: ${response.text}`);
  assert.equal(response.json.error.type, type, what);
  pageErrorShape.parse(response.json);
  assertHeaders(response, what);
}

function assertHeaders({ headers }: PageResponse, what: string): void {
  const policy = headers.get('content-security-policy') ?? '';
  assert.match(policy, /default-src 'self'/, what);
  assert.match(policy, /frame-ancestors 'none'/, what);
  assert.doesNotMatch(policy, /unsafe/, what);
  assert.equal(headers.get('x-content-type-options'), 'nosniff', what);
  assert.equal(headers.get('x-frame-options'), 'DENY', what);
  assert.equal(headers.get('referrer-policy'), 'same-origin', what);
  assert.equal(headers.get('cross-origin-resource-policy'), 'same-origin', what);
  assert.equal(headers.get('cache-control'), 'no-store', what);
  assert.equal(headers.get('access-control-allow-origin'), null, what);
}

test('the loops see the rows of both areas', () => {
  assert.ok(protectedRows.some((row) => row.area === 'dashboard'));
  assert.ok(protectedRows.some((row) => row.area === 'console'));
  // @ts-expect-error: one row without a type of its own would make every name a row.
  const unknown: keyof PageApi = 'GET /console/api/unknown';
  assert.ok(!rows.some(({ method, path }) => `${method} ${path}` === unknown));
});

// security:30,51
test('without a session, with an unknown one and with one of the other area every row is 401', async () => {
  for (const row of protectedRows) {
    const other = row.area === 'dashboard' ? sessions.operator('admin') : sessions.owner(account.accountId);
    for (const token of [null, 'x', 'y'.repeat(10_000), other]) {
      const response = await browserOf(row, token).send(row.method, pathOf(row), { body: bodyFor(row) });
      assertRefused(response, 401, 'session_required', `${row.method} ${row.path}`);
    }
  }
});

// security:31,51
test('a role below that of the row is 403', async () => {
  for (const row of protectedRows.filter(({ area }) => area === 'console')) {
    for (const role of roles.slice(0, roles.indexOf(row.role ?? 'viewer'))) {
      const browser = browserOf(row, sessions.operator(role));
      const response = await browser.send(row.method, pathOf(row), { body: bodyFor(row) });
      assertRefused(response, 403, 'role_required', `${role} ${row.method} ${row.path}`);
    }
  }
});

// security:30
test('a change from another origin, or from none, is 403', async () => {
  for (const row of changingRows) {
    const browser = browserOf(row, row.credential === 'none' ? null : tokenFor(row));
    for (const headers of [
      { origin: null },
      { origin: 'null' },
      { origin: 'https://evil.example' },
      { origin: `${originOf(row)}.evil.example` },
      { origin: originOf(row), 'sec-fetch-site': 'cross-site' },
      { origin: originOf(row), 'sec-fetch-site': 'same-site' },
    ]) {
      const response = await browser.send(row.method, pathOf(row), { body: bodyFor(row), headers });
      assertRefused(response, 403, 'invalid_origin', `${row.method} ${row.path} ${JSON.stringify(headers)}`);
    }
  }
});

test('a change without a UUID as idempotency key is 400', async () => {
  for (const row of changingRows.filter(({ credential }) => credential !== 'none')) {
    for (const key of [null, '', 'abc', `${randomUUID()}0`]) {
      const response = await browserOf(row, tokenFor(row)).send(row.method, pathOf(row), {
        body: bodyFor(row),
        headers: { 'idempotency-key': key },
      });
      assertRefused(response, 400, 'idempotency_key_required', `${row.method} ${row.path}`);
    }
  }
});

// security:35
test('a body that is too large, no JSON, too deep or no object is refused', async () => {
  for (const row of rows.filter(({ body }) => body !== undefined)) {
    const browser = browserOf(row, row.credential === 'none' ? null : tokenFor(row));
    const send = (body: string) => browser.send(row.method, pathOf(row), { body });
    const what = `${row.method} ${row.path}`;
    assertRefused(await send(`"${'x'.repeat(maxPageBodyBytes)}"`), 413, 'too_large', what);
    for (const body of ['', '{', '{"a":1}}', '\u0000', '['.repeat(5_000), '[]', '"text"', 'null', '7'])
      assertRefused(await send(body), 400, 'invalid_request', `${what} ${body.slice(0, 20)}`);
  }
});

test('a path, method or id that does not exist is an error of the pages', async () => {
  for (const row of rows) {
    const browser = browserOf(row, tokenFor(row));
    assertRefused(await browser.send('GET', '/no-such-row'), 404, 'no_such_path', row.path);
    assertRefused(await browser.send('OPTIONS', pathOf(row)), 405, 'method_not_allowed', row.path);
    if (row.path.includes('{')) {
      const response = await browser.send(row.method, pathOf(row), { body: bodyFor(row) });
      assertRefused(response, 404, 'not_found', `${row.method} ${row.path}`);
    }
  }
});

/**
 * How another account gets something with an id, for each row of the dashboard that takes one;
 * returns the id.
 */
const foreign: Readonly<Record<string, (owner: PageBrowser, other: TestAccount) => Promise<string>>> = {
  '/dashboard/api/keys/{hash}': async (_owner, other) => other.hash,
  '/dashboard/api/keys/{hash}/rotate': async (_owner, other) => other.hash,
  '/dashboard/api/generations/{id}': async (_owner, other) => {
    const response = await gateway.send('POST', '/chat/completions', {
      key: other.key,
      body: { model: 'no/model', messages: [{ role: 'user', content: 'x' }] },
    });
    const id = response.headers.get('x-service-request-id') ?? '';
    await gateway.settled();
    return id;
  },
  '/dashboard/api/apps/{id}': async (owner, other) => {
    await gateway.send('POST', '/chat/completions', {
      key: other.key,
      headers: { 'x-title': 'An app of another account' },
      body: { model: 'no/model', messages: [{ role: 'user', content: 'x' }] },
    });
    await gateway.settled();
    return String((await owner.get('/apps')).items[0].id);
  },
  '/dashboard/api/sessions/{id}': (_owner, { accountId }) =>
    gateway.database.transaction(async (sql) => {
      const address = '192.0.2.1';
      const client = { address, limitedAs: address, userAgent: '', earlierToken: null };
      const owner = { accountId, ownerId: null };
      return (await gateway.operator.identity.sessions.open(sql, owner, 'link', client)).sessionId;
    }),
  '/dashboard/api/passkeys/{id}': async () => {
    const [row] = await gateway.database.transaction((sql) =>
      sql.query<{ id: bigint }>(
        "INSERT INTO passkey (credential_id, owner_id, public_key, sign_count, transports, name, created_at) VALUES ('x', 999, 'x', 0, '{}', 'x', now()) RETURNING id",
      ),
    );
    return String(row?.id);
  },
  '/dashboard/api/payments/{order}/complete': (_owner, { accountId }) =>
    gateway.database.transaction(async (sql) => {
      const order = { accountId, orderId: 'pay_of_another', amountMicro: 10_000_000_000n, createdAtMs: 0 };
      return (await insertPaymentOrder(sql, order)).orderId;
    }),
  '/dashboard/api/topups/{id}/withdraw': async (owner) =>
    (await owner.send('POST', '/topups', { body: { amount_micro: '1000000000' } })).json.id,
};

// security:31
test("another account's ids are the same 404 as unknown ones on every row", async () => {
  const other = await gateway.account();
  const owner = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(other.accountId));
  for (const row of protectedRows.filter(({ area, path }) => area === 'dashboard' && path.includes('{'))) {
    const what = `${row.method} ${row.path}`;
    const id = await foreign[row.path]?.(owner, other);
    assert.ok(id, `${what} needs an id of another account in this test`);
    const send = (path: string) =>
      browserOf(row, tokenFor(row)).send(row.method, path, { body: bodyFor(row) });
    const response = await send(row.path.slice('/dashboard/api'.length).replace(/\{\w+\}/, id));
    assertRefused(response, 404, 'not_found', what);
    assert.equal(response.text, (await send(pathOf(row))).text, what);
  }
});

// security:35
test('the rate limit of the public listener applies, with an error of the pages', async () => {
  const limited = await startTestGateway({
    sessions,
    config: { edge: { rate_limit: 'builtin' }, limits: { requests_per_second: 1, burst: 3 } },
  });
  const browser = new PageBrowser(limited.origin, 'dashboard', null);
  const responses = await Promise.all(Array.from({ length: 8 }, () => browser.send('GET', '/public/models')));
  const refused = responses.filter(({ status }) => status !== 200);
  assert.ok(refused.length >= 4 && refused.length < 8, `${refused.length}`);
  for (const response of refused) {
    assertRefused(response, 429, 'rate_limit_exceeded', 'models');
    assert.ok(Number(response.headers.get('retry-after')) >= 1);
  }
  await limited.close();
});

/** A body that a row's schema accepts. */
function bodyFor(row: AnyPageRoute): unknown {
  if (row.body === undefined) return undefined;
  const body = bodies[`${row.method} ${row.path}`] ?? {};
  assert.ok(row.body.safeParse(body).success, `${row.method} ${row.path} needs a body in this test`);
  return body;
}
