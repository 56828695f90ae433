/**
 * Signing in, with the identity room as in production: every way, its refusals, and what ends a
 * session.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Identity } from '../../src/identity/identity.ts';
import { openIdentity } from '../../src/operations/open-identity.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, type PageResponse } from '../harness/pages.ts';

const cli = { kind: 'cli', name: 'test' } as const;
const password = 'correct horse battery';
let gateway: TestGateway;
let identity: Identity;
let account: TestAccount;

before(async () => {
  gateway = await startTestGateway();
  identity = openIdentity(gateway.database, gateway.clock, gateway.config.auth.oidc);
  account = await gateway.account();
});
after(() => gateway?.close());

const visitor = (area: 'dashboard' | 'console' = 'dashboard') => new PageBrowser(originOf(area), area, null);
const originOf = (area: 'dashboard' | 'console') =>
  area === 'dashboard' ? gateway.origin : `http://127.0.0.1:${gateway.gateway.admin.port}`;

/** The browser that a sign-in leaves: its cookie is as it must be. */
function signedIn(response: PageResponse, area: 'dashboard' | 'console' = 'dashboard'): PageBrowser {
  assert.equal(response.status, 200, response.text);
  assert.equal(response.json.state, 'signed_in');
  const name = area === 'dashboard' ? 'naru_session' : 'naru_console';
  const [cookie = ''] = response.headers.getSetCookie();
  const token = new RegExp(`^${name}=([A-Za-z0-9_-]{43}); Path=/${area}; HttpOnly; SameSite=Strict$`).exec(
    cookie,
  )?.[1];
  assert.ok(token !== undefined, cookie);
  return new PageBrowser(originOf(area), area, token);
}

async function invite(email: string | null): Promise<string> {
  const { parseEmail } = await import('../../src/identity/email.ts');
  const link = await identity.links.invite(account.accountId, email === null ? null : parseEmail(email), cli);
  assert.ok(typeof link === 'object');
  return link.token;
}

// security:50
test('an invitation makes an owner, who is then signed in, and who signs in again by password', async () => {
  const token = await invite('owner@example.com');
  const shown = await visitor().send('POST', '/sign-in/link/read', { body: { token } });
  assert.deepEqual([shown.json.purpose, shown.json.email], ['invitation', 'owner@example.com']);
  const weak = await visitor().send('POST', '/sign-in/link/redeem', { body: { token, password: 'short' } });
  assert.deepEqual([weak.status, weak.json.error.type], [400, 'weak_password']);
  const owner = signedIn(
    await visitor().send('POST', '/sign-in/link/redeem', { body: { token, password, name: '주인' } }),
  );
  assert.equal((await owner.get('/account')).id, account.accountId);
  assert.equal((await owner.get('/session')).email, 'owner@example.com');
  const again = await visitor().send('POST', '/sign-in/link/redeem', { body: { token, password } });
  assert.deepEqual([again.status, again.json.error.type], [400, 'invalid_link']);
  const email = 'owner@example.com';
  const second = signedIn(await visitor().send('POST', '/sign-in/password', { body: { email, password } }));
  assert.equal((await second.get('/session')).via, 'password');
});

test('a wrong password and an unknown name get the same response', async () => {
  const responses = [];
  for (const body of [
    { email: 'owner@example.com', password: 'not the password' },
    { email: 'nobody@example.com', password },
    { email: 'no address', password },
  ]) {
    const response = await visitor().send('POST', '/sign-in/password', { body });
    assert.equal(response.status, 401);
    assert.deepEqual(response.headers.getSetCookie(), []);
    responses.push(response.text);
  }
  assert.equal(new Set(responses).size, 1);
});

test('a management key signs in, also without credit; no other key does; a revoked one ends its session', async () => {
  const poor = await gateway.account({ credit: '0' });
  const { key, hash } = await poor.another({ kind: 'management' });
  const owner = signedIn(await visitor().send('POST', '/sign-in/key', { body: { key } }));
  assert.equal((await owner.get('/account')).standing, 'suspended_no_credit');
  for (const wrong of [poor.key, `${key}0`, 'sk-naru-v1-0']) {
    const response = await visitor().send('POST', '/sign-in/key', { body: { key: wrong } });
    assert.deepEqual([response.status, response.json.error.type], [401, 'sign_in_refused']);
  }
  await gateway.operator.revokeKey(hash);
  assert.equal((await owner.send('GET', '/account')).status, 401);
  assert.equal((await visitor().send('POST', '/sign-in/key', { body: { key } })).status, 401);
});

test('a link of an account and one of an operator work once, each in its area', async () => {
  const { token } = await identity.links.openAccount((await gateway.account()).accountId, cli);
  assert.equal((await visitor('console').send('POST', '/sign-in/link', { body: { token } })).status, 401);
  const owner = signedIn(await visitor().send('POST', '/sign-in/link', { body: { token } }));
  assert.equal((await owner.get('/session')).email, null);
  for (const path of ['/profile', '/passkeys', '/personal-data'])
    assert.equal((await owner.send('GET', path)).json.error.type, 'owner_required', path);
  assert.equal((await visitor().send('POST', '/sign-in/link', { body: { token } })).status, 401);
  const named = await owner.send('POST', '/sign-in/claim', {
    body: { email: 'second@example.com', password },
  });
  assert.equal((await signedIn(named).get('/session')).email, 'second@example.com');
  assert.equal((await owner.send('GET', '/session')).status, 401);

  const operator = await identity.operators.add({ name: 'kim', role: 'support' }, cli);
  assert.ok(typeof operator === 'object');
  const link = await identity.links.openConsole(operator, cli);
  assert.equal((await visitor().send('POST', '/sign-in/link', { body: { token: link.token } })).status, 401);
  const browser = signedIn(
    await visitor('console').send('POST', '/sign-in/link', { body: { token: link.token } }),
    'console',
  );
  assert.deepEqual(await browser.get('/session'), { kind: 'operator', name: 'kim', role: 'support' });
  await identity.operators.remove('kim', null, cli);
  assert.equal((await browser.send('GET', '/session')).status, 401);
});

// security:50
test('a sign-in gets a new token whatever the browser sent, and the earlier session ends', async () => {
  const email = 'owner@example.com';
  const fixed = 'A'.repeat(43);
  const attacked = new PageBrowser(gateway.origin, 'dashboard', fixed);
  const first = await attacked.send('POST', '/sign-in/password', { body: { email, password } });
  const browser = signedIn(first);
  assert.doesNotMatch(first.headers.getSetCookie()[0] ?? '', new RegExp(fixed));
  assert.equal((await attacked.send('GET', '/session')).status, 401);
  const again = signedIn(await browser.send('POST', '/sign-in/password', { body: { email, password } }));
  assert.equal((await browser.send('GET', '/session')).status, 401);
  assert.equal((await again.send('GET', '/session')).status, 200);
});

test('signing out ends the session at once, on the server and in the browser', async () => {
  const email = 'owner@example.com';
  const browser = signedIn(await visitor().send('POST', '/sign-in/password', { body: { email, password } }));
  const response = await browser.send('DELETE', '/session');
  assert.deepEqual(response.json, { signed_out: true });
  assert.match(response.headers.getSetCookie()[0] ?? '', /^naru_session=; .*Max-Age=0/);
  assert.equal((await browser.send('GET', '/account')).status, 401);
});

// security:50
test('behind TLS the cookie is Secure', async () => {
  const email = 'owner@example.com';
  const response = await visitor().send('POST', '/sign-in/password', {
    body: { email, password },
    headers: { 'x-forwarded-proto': 'https' },
  });
  assert.match(response.headers.getSetCookie()[0] ?? '', /; Secure$/);
});

test('guessing is stopped with a time to wait', async () => {
  for (let n = 0; ; n += 1) {
    const body = { email: 'victim@example.com', password: `guess number ${n}` };
    const response = await visitor().send('POST', '/sign-in/password', { body });
    if (response.status === 429) {
      assert.equal(response.json.error.type, 'too_many_attempts');
      assert.ok(Number(response.headers.get('retry-after')) > 0);
      break;
    }
    assert.equal(response.status, 401);
    assert.ok(n < 100, 'it is never stopped');
  }
});

test('what this address and configuration lack is reported', async () => {
  const ways = await visitor().get('/sign-in');
  assert.deepEqual(ways, { password: true, passkey: false, oidc: false, oidc_name: null, key: true });
  for (const path of ['/sign-in/passkey/options', '/sign-in/oidc']) {
    const response = await visitor().send('POST', path);
    assert.deepEqual([response.status, response.json.error.type], [400, 'unavailable_here'], path);
  }
});
