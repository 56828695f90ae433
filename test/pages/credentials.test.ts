/** Sessions, credentials, personal data and operators over the page API, as a browser uses it. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { Actor } from '../../src/identity/audit.ts';
import { parseEmail } from '../../src/identity/email.ts';
import type { NewLink } from '../../src/identity/links-sql.ts';
import { totpCode, totpStepAt } from '../../src/identity/totp-code.ts';
import { sessionCookies } from '../../src/pages/page-reply.ts';
import type { Area } from '../../src/pages/page-session.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, type PageResponse } from '../harness/pages.ts';
import { type OpenIdProvider, startProvider } from '../identity/openid-provider.ts';
import { SoftwareAuthenticator } from '../identity/software-authenticator.ts';

const cli: Actor = { kind: 'cli', name: 'tests' };
const publicUrl = 'http://localhost:9999';
const callback = '/sign-in/oidc/callback';
const password = 'correct horse battery';
let provider: OpenIdProvider;
let node: TestGateway;

before(async () => {
  provider = await startProvider(`${publicUrl}/dashboard/api${callback}`);
  const oidc = {
    name: '회사',
    issuer: provider.issuer,
    client_id: 'naru',
    client_secret: 'secret-of-the-client',
  };
  const config = { auth: { public_url: publicUrl, oidc } };
  node = await startTestGateway({ config });
});
after(async () => {
  await node?.close();
  provider?.stop();
});

function browser(
  token: string | null = null,
  area: Area = 'dashboard',
  at = node,
  host = '127.0.0.1',
): PageBrowser {
  const { server, admin } = at.gateway;
  return new PageBrowser(`http://${host}:${area === 'dashboard' ? server.port : admin.port}`, area, token);
}

/** A browser at the name of the public address. */
const named = (token: string | null = null) => browser(token, 'dashboard', node, 'localhost');

/** The token that a response sets, and the attributes of its cookie. */
function cookieOf(
  response: PageResponse,
  name = sessionCookies.dashboard,
): { token: string; attributes: string } {
  assert.ok(response.status < 400, response.text);
  const line =
    response.headers.getSetCookie().find((one) => one.startsWith(`${name}=`)) ?? assert.fail('no cookie');
  const [pair = '', ...attributes] = line.split('; ');
  return { token: pair.slice(name.length + 1), attributes: attributes.join('; ') };
}

async function invitation(accountId: number, email: string): Promise<NewLink> {
  const link = await node.operator.identity.links.invite(accountId, parseEmail(email), cli);
  return typeof link === 'string' ? assert.fail(link) : link;
}

/** An owner that was invited; the token of its session. */
async function owner(email: string) {
  const { accountId, another } = await node.account();
  const { token } = await invitation(accountId, email);
  const body = { token, password, name: '홍길동' };
  return {
    accountId,
    another,
    email,
    ...cookieOf(await browser().send('POST', '/sign-in/link/redeem', { body })),
  };
}

const signIn = (email: string, secret: string) =>
  browser().send('POST', '/sign-in/password', { body: { email, password: secret } });

async function consoleSession(name: string, role: 'viewer' | 'support' | 'admin') {
  const { identity } = node.operator;
  const operator = await identity.operators.add({ name, role }, cli);
  if (typeof operator === 'string') assert.fail(operator);
  const { token } = await identity.links.openConsole(operator, cli);
  const response = await browser(null, 'console').send('POST', '/sign-in/link', { body: { token } });
  return { operator, ...cookieOf(response, sessionCookies.console) };
}

/** The tests share one address; each has its attempts for itself. */
async function forgetAttempts(): Promise<void> {
  await node.database.transaction((sql) => sql.query('DELETE FROM sign_in_attempt'));
}

test('password, TOTP and personal data of an owner, from one end to the other', async () => {
  await forgetAttempts();
  const { email, token } = await owner('everything@example.com');
  const me = browser(token);
  const weak = await me.send('PUT', '/password', { body: { password: 'short' } });
  assert.deepEqual([weak.status, weak.json.error.type], [400, 'weak_password']);
  assert.equal(
    (await me.send('PUT', '/password', { body: { password: 'a new long password' } })).status,
    200,
  );
  const begin = { key: randomUUID(), body: {} };
  const { secret, uri } = (await me.send('POST', '/totp', begin)).json;
  const { secret: none, uri: neither, message } = (await me.send('POST', '/totp', begin)).json;
  assert.deepEqual([none, neither, typeof message.ko], [null, null, 'string']);
  assert.match(uri, /^otpauth:\/\/totp\/Naru:everything%40example\.com\?secret=/);
  const bits = [...secret].map((c) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0'),
  );
  const bytes = Buffer.from((bits.join('').match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const code = () => totpCode(bytes, totpStepAt(node.clock.now()));
  assert.equal(
    (await me.send('POST', '/totp/enable', { body: { code: '000000' } })).json.error.type,
    'conflict',
  );
  const key = randomUUID();
  const enable = { key, body: { code: code() } };
  const { recovery_codes: codes } = (await me.send('POST', '/totp/enable', enable)).json;
  assert.equal(codes.length, 10);
  const repeated = (await me.send('POST', '/totp/enable', enable)).json;
  assert.equal(repeated.recovery_codes, null);
  assert.match(repeated.message.en, /turn it off and on again/);
  node.clock.advance(60_000);
  const begun = await signIn(email, 'a new long password');
  assert.deepEqual([begun.json.state, begun.headers.getSetCookie()], ['code_required', []]);
  const withCode = (step: string, text: string) =>
    browser().send('POST', '/sign-in/code', { body: { step, code: text } });
  const used = code();
  cookieOf(await withCode(begun.json.step, used));
  const again = await signIn(email, 'a new long password');
  assert.equal((await withCode(again.json.step, used)).status, 401, 'a code is used once');
  cookieOf(await withCode(again.json.step, codes[0]));
  const profile = await me.send('PATCH', '/profile', { body: { theme: 'dark' } });
  assert.deepEqual([profile.json.theme, profile.json.recovery_codes_left], ['dark', 9]);
  const file = await me.send('GET', '/personal-data');
  assert.match(file.headers.get('content-disposition') ?? '', /^attachment/);
  assert.equal(file.json.owner.email, email);
  node.clock.advance(16 * 60_000);
  const unconfirmed = await me.send('DELETE', '/personal-data', { body: {} });
  assert.deepEqual([unconfirmed.status, unconfirmed.json.error.type], [403, 'confirmation_required']);
  const body = { current_password: 'a new long password' };
  assert.equal((await me.send('DELETE', '/personal-data', { body })).json.deleted, true);
  assert.equal((await me.send('GET', '/session')).status, 401);
});

test('a passkey is added, signs in and is removed; at an address without passkeys none is offered', async () => {
  await forgetAttempts();
  const { token } = await owner('passkeys@example.com');
  const me = named(token);
  assert.equal((await named().get('/sign-in')).passkey, true);
  const device = new SoftwareAuthenticator(publicUrl);
  const { step, options } = (await me.send('POST', '/passkeys/options', { body: {} })).json;
  const added = await me.send('POST', '/passkeys', {
    body: { step, name: '전화기', response: device.create(options) },
  });
  assert.equal(added.json.name, '전화기', added.text);
  const withPasskey = async (flaws = {}) => {
    const begun = (await named().send('POST', '/sign-in/passkey/options')).json;
    const response = device.get(begun.options, flaws);
    return named().send('POST', '/sign-in/passkey', { body: { step: begun.step, response } });
  };
  cookieOf(await withPasskey());
  assert.equal((await withPasskey({ origin: 'https://evil.example' })).json.error.type, 'sign_in_refused');
  assert.equal((await me.send('DELETE', `/passkeys/${added.json.id}`, { body: {} })).status, 200);
  assert.equal((await withPasskey()).status, 401);
  // At the address of the machine the browser would reject the passkeys of the public address.
  assert.equal((await browser().get('/sign-in')).passkey, false);
  assert.equal((await browser(token).get('/passkeys')).is_offered, false);
  const plain = await startTestGateway();
  try {
    assert.equal((await browser(null, 'dashboard', plain).get('/sign-in')).passkey, false);
    const refused = await browser(null, 'dashboard', plain).send('POST', '/sign-in/passkey/options');
    assert.equal(refused.json.error.type, 'unavailable_here');
  } finally {
    await plain.close();
  }
});

test('a sign-in at the OpenID provider ends in a session, and only in the browser that began it', async () => {
  await forgetAttempts();
  await owner('openid@example.com');
  assert.equal((await browser().get('/sign-in')).oidc_name, '회사');
  const begin = async () => {
    const response = await browser().send('POST', '/sign-in/oidc');
    const step = cookieOf(response, 'naru_sign_in');
    assert.equal(step.attributes, 'Path=/dashboard/api/sign-in; HttpOnly; SameSite=Lax; Max-Age=600');
    const returned = await provider.visit(response.json.url, 'p1|openid@example.com|true');
    return { step: step.token, path: `${callback}${returned.search}` };
  };
  const end = (path: string, step: string | null) =>
    browser().send('GET', path, { headers: { cookie: step === null ? null : `naru_sign_in=${step}` } });
  const { step, path } = await begin();
  for (const foreign of [null, 'A'.repeat(43), (await begin()).step]) {
    const refused = await end(path, foreign);
    assert.equal(refused.headers.get('location'), '/dashboard/sign-in?refused=invalid_state');
    assert.ok(refused.headers.getSetCookie().every((line) => !line.startsWith('naru_session=')));
  }
  const done = await end(path, step);
  assert.equal(done.headers.get('location'), '/dashboard/');
  assert.equal((await browser(cookieOf(done).token).get('/session')).via, 'oidc');
  assert.equal((await end(path, step)).headers.get('location'), '/dashboard/sign-in?refused=invalid_state');
});

// security:51
test('an operator signs in by a link, and its role decides on the server', async () => {
  await forgetAttempts();
  const admin = await consoleSession('boss', 'admin');
  assert.equal(admin.attributes, 'Path=/console; HttpOnly; SameSite=Strict');
  const viewer = await consoleSession('reader', 'viewer');
  const refused = await browser(viewer.token, 'console').send('POST', '/operators', {
    body: { name: 'x', role: 'admin' },
  });
  assert.deepEqual([refused.status, refused.json.error.type], [403, 'role_required']);
  const boss = browser(admin.token, 'console');
  const added = await boss.send('POST', '/operators', { body: { name: '새 운영자', role: 'support' } });
  assert.match(added.json.link.url, /^http:\/\/127\.0\.0\.1:\d+\/console\/link#[\w-]{43}$/);
  const { id } = added.json.operator;
  const taken = await boss.send('POST', '/operators', { body: { name: '새 운영자', role: 'viewer' } });
  assert.deepEqual([taken.status, taken.json.error.type], [409, 'conflict']);
  const changed = await boss.send('PATCH', `/operators/${id}`, {
    body: { role: 'viewer', reason: 'smaller' },
  });
  assert.equal(changed.json.role, 'viewer');
  const own = `/operators/${admin.operator.operatorId}`;
  const alone = await boss.send('PATCH', own, { body: { role: 'viewer' } });
  assert.deepEqual([alone.status, alone.json.error.type], [409, 'conflict'], 'the last admin stays admin');
  await consoleSession('second boss', 'admin');
  assert.equal((await boss.send('PATCH', own, { body: { role: 'viewer', reason: 'x' } })).status, 200);
  // A role is read with each request: taking it away holds at once.
  assert.equal((await boss.send('DELETE', `/operators/${id}`, { body: {} })).status, 403);
  assert.equal((await boss.send('GET', '/operators')).status, 200);
});

test('the audit log shows who did what in the console, by filter and page', async () => {
  await forgetAttempts();
  const admin = await consoleSession('auditor', 'admin');
  const boss = browser(admin.token, 'console');
  const { accountId } = await node.account();
  const invited = await boss.send('POST', `/accounts/${accountId}/invitations`, {
    body: { email: 'aud@example.com' },
  });
  assert.equal(invited.json.purpose, 'invitation', invited.text);
  const { token } = { token: invited.json.link.url.split('#')[1] };
  cookieOf(await browser().send('POST', '/sign-in/link/redeem', { body: { token, password } }));
  assert.equal((await boss.get(`/accounts/${accountId}/owner`)).owner.email, 'aud@example.com');
  const { items } = await boss.get(`/audit?account_id=${accountId}&role=admin`);
  assert.deepEqual(
    items.map(({ act, who, role }: { act: string; who: string; role: string }) => [act, who, role]),
    [['account.invitation', 'auditor', 'admin']],
  );
  assert.ok(!JSON.stringify((await boss.get('/audit')).items).includes('aud@example.com'));
  assert.equal((await boss.send('POST', '/accounts/999999/invitations', { body: {} })).status, 404);
});

test('a link leaves once: the repeated change has one effect, no link, and the reason', async () => {
  await forgetAttempts();
  const admin = await consoleSession('repeater', 'admin');
  const boss = browser(admin.token, 'console');
  const { accountId } = await node.account();
  const added = await boss.send('POST', '/operators', { body: { name: 'linked', role: 'viewer' } });
  await owner('replaced@example.com');
  const [row] = await node.database.query<{ account_id: bigint }>(
    "SELECT account_id FROM owner WHERE email_key = 'replaced@example.com'",
  );
  for (const [path, body] of [
    ['/operators', { name: 'repeated', role: 'viewer' }],
    [`/operators/${added.json.operator.id}/link`, undefined],
    [`/accounts/${accountId}/invitations`, {}],
    ['/accounts', { name: 'repeated' }],
    [`/accounts/${row?.account_id}/owner/replacement`, { email: 'new@example.com', reason: 'left' }],
  ] as const) {
    const key = randomUUID();
    const send = () => boss.send('POST', path, { key, body });
    const [first, second] = [await send(), await send()];
    assert.match(first.json.link?.url ?? first.text, /^http.*\/link#[\w-]{43}$/, path);
    const message = second.json.message;
    assert.deepEqual(second.json, { ...first.json, link: null, message }, path);
    assert.match(message.en, /create another/);
  }
});

// spec:operator/4.5
test('an admin creates an account with the whole address of its invitation; a refused one leaves nothing', async () => {
  await forgetAttempts();
  const boss = browser((await consoleSession('opener', 'admin')).token, 'console');
  const support = browser((await consoleSession('no opener', 'support')).token, 'console');
  const body = { name: '하늘 주식회사', email: 'haneul@example.com' };
  const refused = await support.send('POST', '/accounts', { body });
  assert.deepEqual([refused.status, refused.json.error.type], [403, 'role_required']);
  const { id, link } = (await boss.send('POST', '/accounts', { body })).json;
  assert.ok(link.url.startsWith(`${publicUrl}/dashboard/link#`), link.url);
  assert.ok(Date.parse(link.expires_at) > node.clock.now());
  const redeemed = { token: link.url.split('#')[1], password };
  const { token } = cookieOf(await browser().send('POST', '/sign-in/link/redeem', { body: redeemed }));
  const session = await browser(token).get('/session');
  assert.deepEqual([session.name, session.email, session.account_id], [body.name, body.email, id]);
  const acts = (await boss.get(`/audit?account_id=${id}`)).items;
  assert.deepEqual(
    acts.map(({ act, who }: { act: string; who: string }) => [act, who]),
    [
      ['account.invitation', 'opener'],
      ['account.create', 'opener'],
    ],
  );
  const taken = await boss.send('POST', '/accounts', { body });
  assert.deepEqual([taken.status, taken.json.error.type], [409, 'conflict']);
  assert.equal((await boss.get('/accounts?search=haneul@')).items.length, 1);
  for (const wrong of [{ ...body, name: ' ' }, { ...body, email: 'no address' }, { email: body.email }])
    assert.equal((await boss.send('POST', '/accounts', { body: wrong })).status, 400);
});

// spec:operator/4.6
test('an admin sees the sessions of operators or of an account, and ends one or all of them', async () => {
  await forgetAttempts();
  const { identity } = node.operator;
  const boss = browser((await consoleSession('ender', 'admin')).token, 'console');
  const staff = browser((await consoleSession('staff', 'support')).token, 'console');
  const sessions = '/open-sessions';
  assert.equal((await staff.send('GET', sessions)).json.error.type, 'role_required');
  assert.equal((await staff.send('POST', `${sessions}/end`, { body: {} })).json.error.type, 'role_required');
  const [{ accountId }, other] = [await node.account(), await node.account()];
  const open = async (account: number) => {
    const { token } = await identity.links.openAccount(account, cli);
    return browser(cookieOf(await browser().send('POST', '/sign-in/link', { body: { token } })).token);
  };
  const [first, second, foreign] = [
    await open(accountId),
    await open(accountId),
    await open(other.accountId),
  ];
  const of = async (account: number) => (await boss.get(`${sessions}?account=${account}`)).items;
  const [latest, earlier] = await of(accountId);
  assert.deepEqual([latest.operator, latest.via, typeof latest.address], [null, 'link', 'string']);
  const end = (body: object) => boss.send('POST', `${sessions}/end`, { body });
  assert.equal((await end({ account: other.accountId, session: latest.id })).status, 404);
  assert.equal((await end({ session: latest.id })).status, 404, 'it is of no operator');
  assert.equal((await end({ account: accountId, session: earlier.id })).json.revoked, 1);
  assert.equal((await first.send('GET', '/session')).status, 401);
  assert.equal((await second.send('GET', '/session')).status, 200);
  assert.equal((await end({ account: accountId })).json.revoked, 1);
  assert.equal((await second.send('GET', '/session')).status, 401);
  assert.equal((await foreign.send('GET', '/session')).status, 200);
  const [act] = (await boss.get(`/audit?account_id=${accountId}`)).items;
  assert.deepEqual([act.act, act.who, act.after.ended], ['session.revoke', 'ender', 1]);
  const operators = (await boss.get(sessions)).items;
  assert.ok(operators.some((one: { operator: string }) => one.operator === 'staff'));
  assert.ok((await end({})).json.revoked >= 1);
  assert.equal((await staff.send('GET', '/session')).status, 401);
  assert.equal((await boss.send('GET', '/session')).status, 200, 'the own session stays');
  assert.equal((await boss.send('GET', `${sessions}?account=999999`)).status, 404);
});
