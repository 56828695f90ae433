/** Machines that call the console's rows with an operator's token. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { OperatorRole } from '../../src/identity/audit.ts';
import type { Identity } from '../../src/identity/identity.ts';
import type { NewOperatorToken } from '../../src/identity/operator-tokens.ts';
import { openIdentity } from '../../src/operations/open-identity.ts';
import { consoleRows } from '../../src/pages/console/rows.ts';
import type { ConsoleContext } from '../../src/pages/context.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser } from '../harness/pages.ts';

const cli = { kind: 'cli', name: 'test' } as const;
const hourMs = 3_600_000;
let gateway: TestGateway;
let identity: Identity;
let account: TestAccount;

before(async () => {
  gateway = await startTestGateway();
  identity = openIdentity(gateway.database, gateway.clock, gateway.config.auth.oidc);
  account = await gateway.account();
});
after(() => gateway?.close());

const consoleOrigin = () => `http://127.0.0.1:${gateway.gateway.admin.port}`;

async function create(name: string, role: OperatorRole, lifeMs = hourMs): Promise<NewOperatorToken> {
  const order = { name, role, expiresAtMs: gateway.clock.now() + lifeMs };
  const token = await identity.tokens.create(order, cli);
  return typeof token === 'string' ? assert.fail(token) : token;
}

/** Sends as a machine does: without a cookie and an origin. */
function send(token: string, method: string, path: string, body?: object, key: string = randomUUID()) {
  const headers = { authorization: `Bearer ${token}`, origin: null };
  const machine = new PageBrowser(consoleOrigin(), 'console', null);
  return machine.send(method, path, { headers, key, ...(body === undefined ? {} : { body }) });
}

/** A browser of an administrator who signed in by a link. */
async function person(): Promise<PageBrowser> {
  const operator = await identity.operators.add({ name: `person ${randomUUID()}`, role: 'admin' }, cli);
  if (typeof operator === 'string') return assert.fail(operator);
  const { token } = await identity.links.openConsole(operator, cli);
  const client = { address: '192.0.2.9', limitedAs: '192.0.2.9', userAgent: '', earlierToken: null };
  const outcome = await identity.signIn.withLink('console', token, client);
  return outcome.kind === 'session'
    ? new PageBrowser(consoleOrigin(), 'console', outcome.session.token)
    : assert.fail(outcome.kind);
}

// spec:operator/1.19
test('a token grants, suspends and reads as an operator of its role, once for a key', async () => {
  const { plaintext, operatorId } = await create('billing', 'support');
  const path = `/accounts/${account.accountId}`;
  const body = { kind: 'topup', amount_micro: '5000000', reason: 'invoice 7' };
  const key = randomUUID();
  const first = await send(plaintext, 'POST', `${path}/grants`, body, key);
  const again = await send(plaintext, 'POST', `${path}/grants`, body, key);
  assert.deepEqual([first.status, again.status, again.text], [200, 200, first.text], first.text);
  const other = await send(plaintext, 'POST', `${path}/grants`, { ...body, amount_micro: '1' }, key);
  assert.equal(other.json.error.type, 'idempotency_conflict');
  assert.equal((await send(plaintext, 'GET', '/session')).json.name, 'billing');
  assert.equal((await send(plaintext, 'GET', path)).json.balance_micro, first.json.balance_micro);
  const adjusted = await send(plaintext, 'POST', `${path}/adjustments`, { amount_micro: '1', reason: 'x' });
  assert.deepEqual([adjusted.status, adjusted.json.error.type], [403, 'role_required']);
  const acts = await identity.readActs({ limit: 10, operatorId });
  assert.deepEqual(
    acts.map(({ act, who, role, reason }) => [act, who, role, reason]),
    [['credit.grant', 'billing', 'support', 'invoice 7']],
  );
});

// spec:operator/1.20
// security:23,31
test('a token that is unknown, expired, revoked or in a cookie is refused, in its place only', async () => {
  const token = await create('short', 'admin');
  const expired = await create('expired', 'admin', 60_000);
  const revoked = await create('revoked', 'admin');
  gateway.clock.advance(60_000);
  assert.equal((await send(revoked.plaintext, 'GET', '/session')).status, 200);
  await identity.tokens.revoke('REVOKED', 'leaked', cli);
  const { plaintext } = token;
  for (const wrong of [
    'x',
    plaintext.slice(0, -1),
    plaintext.slice(8),
    expired.plaintext,
    revoked.plaintext,
  ]) {
    const response = await send(wrong, 'GET', '/session');
    assert.deepEqual([response.status, response.json.error.type], [401, 'invalid_token'], wrong);
  }
  const cookie = await new PageBrowser(consoleOrigin(), 'console', plaintext).send('GET', '/session');
  assert.equal(cookie.json.error.type, 'session_required');
  // A wrong token is not replaced by the cookie of a browser beside it, nor its missing origin excused.
  const beside = await (await person()).send('GET', '/session', { headers: { authorization: 'Bearer x' } });
  assert.equal(beside.json.error.type, 'invalid_token');
  const basic = { authorization: 'Basic eDp5', origin: null };
  const foreign = await (await person()).send('POST', '/sessions/revoke-others', { headers: basic });
  assert.equal(foreign.json.error.type, 'invalid_origin');
  const owner = new PageBrowser(gateway.origin, 'dashboard', null);
  const headers = { authorization: `Bearer ${plaintext}` };
  assert.equal((await owner.send('GET', '/session', { headers })).json.error.type, 'session_required');
  assert.equal((await gateway.send('GET', '/credits', { key: plaintext })).status, 401);
  const atPublic = await fetch(`${gateway.origin}/console/api/session`, { headers });
  assert.equal(atPublic.status, 404);
  assert.ok(!JSON.stringify(gateway.logged).includes(plaintext.slice(8)));
  assert.equal((await send(plaintext, 'GET', '/session')).status, 200);
});

// spec:operator/1.20
test('no token manages operators, tokens, sessions or the owner of an account, whatever its role', async () => {
  const { plaintext } = await create('powerful', 'admin');
  const rows = consoleRows({} as ConsoleContext).filter(({ credential }) => credential === 'person');
  assert.ok(rows.length > 8);
  for (const act of ['/invitations', '/owner/replacement', '/person'])
    assert.ok(rows.some(({ path }) => path === `/console/api/accounts/{id}${act}`));
  for (const { method, path } of rows) {
    const sent = path.slice('/console/api'.length).replace(/\{\w+\}/, '1');
    const response = await send(plaintext, method, sent, method === 'GET' ? undefined : {});
    assert.equal(response.json.error.type, 'person_required', `${method} ${path}`);
  }
});

// spec:operator/1.19
test('a token is created by a person for at most 366 days, and its plaintext leaves once', async () => {
  const admin = await person();
  const order = (name: string, days: number) => ({
    key: randomUUID(),
    body: {
      name,
      role: 'viewer',
      expires_at: new Date(gateway.clock.now() + days * 24 * hourMs).toISOString(),
    },
  });
  const once = order('monitor', 365);
  const first = (await admin.send('POST', '/operator-tokens', once)).json;
  const again = (await admin.send('POST', '/operator-tokens', once)).json;
  assert.deepEqual([again.name, again.token, first.message], ['monitor', null, null]);
  assert.match(again.message.en, /sent once/);
  assert.equal((await send(first.token, 'GET', '/session')).json.name, 'monitor');
  const stored = await gateway.database.query<{ found: boolean }>(
    'SELECT bool_or(o::text LIKE $1 OR c::text LIKE $1) AS found FROM operator_token o, page_change c',
    [`%${first.token.slice(8)}%`],
  );
  assert.deepEqual(stored, [{ found: false }]);
  for (const [name, days, type] of [
    ['MONITOR', 1, 'conflict'],
    ['past', -1, 'conflict'],
    ['far', 367, 'conflict'],
  ] as const)
    assert.equal(
      (await admin.send('POST', '/operator-tokens', order(name, days))).json.error.type,
      type,
      name,
    );
  const listed = await admin.get('/operator-tokens');
  assert.ok(listed.items.some(({ name }: { name: string }) => name === 'monitor'));
  const people: { name: string }[] = (await admin.get('/operators')).items;
  assert.ok(!people.some(({ name }) => name === 'monitor'), 'a machine is no person');
  await admin.send('DELETE', '/operator-tokens/monitor', { body: { reason: 'done' } });
  assert.equal((await send(first.token, 'GET', '/session')).status, 401);
  const acts = await identity.readActs({ limit: 2 });
  assert.deepEqual(
    acts.map(({ act, subject }) => [act, subject]),
    [
      ['operator.token.revoke', 'monitor'],
      ['operator.token.create', 'monitor'],
    ],
  );
});

// spec:operator/1.21
test('the OpenAPI document has every row that a token may call, and no other', async () => {
  const { plaintext } = await create('reader', 'viewer');
  const document = (await send(plaintext, 'GET', '/openapi.json')).json;
  const documented = Object.entries<object>(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const rows = consoleRows({} as ConsoleContext).filter(({ credential }) => credential === 'session');
  const open = rows.map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual(documented.toSorted(), open.filter((row) => !row.endsWith('/openapi.json')).toSorted());
  const grant = document.paths['/console/api/accounts/{account}/grants'].post;
  assert.deepEqual([grant['x-role'], grant.security], ['support', [{ bearer: [] }]]);
  assert.ok(grant.parameters.some(({ name }: { name: string }) => name === 'Idempotency-Key'));
});

// spec:operator/1.20
test('wrong tokens of a client are counted, and lock out neither a right one nor a person', async () => {
  const { plaintext } = await create('beside', 'viewer');
  const wrong = await Promise.all(Array.from({ length: 31 }, () => send('x', 'GET', '/session')));
  const refused = wrong.filter(({ status }) => status === 429);
  assert.ok(refused.length > 0 && Number(refused[0]?.headers.get('retry-after')) > 0);
  assert.equal((await send(plaintext, 'GET', '/session')).status, 200);
  const link = await new PageBrowser(consoleOrigin(), 'console', null).send('POST', '/sign-in/link', {
    body: { token: 'x' },
  });
  assert.equal(link.json.error.type, 'sign_in_refused');
});
