/** The sign-in of operators at the public address of the console: at the OpenID provider, and with passkeys. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import type { Actor } from '../../src/identity/audit.ts';
import { passkeySite } from '../../src/identity/passkeys.ts';
import { freePort } from '../harness/free-port.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, type PageResponse } from '../harness/pages.ts';
import { rawly } from '../harness/raw-client.ts';
import { type OpenIdProvider, startProvider } from '../identity/openid-provider.ts';
import { SoftwareAuthenticator } from '../identity/software-authenticator.ts';

const cli: Actor = { kind: 'cli', name: 'tests' };
const dashboardUrl = 'https://naru.example';
const callback = '/sign-in/oidc/callback';
const signInPath = '/console/sign-in';
let consoleUrl: string;
let port: number;
let provider: OpenIdProvider;
let node: TestGateway;

before(async () => {
  port = await freePort();
  consoleUrl = `http://localhost:${port}`;
  provider = await startProvider(
    `${dashboardUrl}/dashboard/api${callback}`,
    `${consoleUrl}/console/api${callback}`,
  );
  node = await startTestGateway({
    config: {
      admin: { host: '127.0.0.1', port, public_url: consoleUrl },
      edge: { trusted_proxies: ['127.0.0.1'] },
      auth: {
        public_url: dashboardUrl,
        oidc: {
          issuer: provider.issuer,
          client_id: 'naru',
          client_secret: 'secret-of-the-client',
          create_accounts: 'true',
          operator_roles: { ops: 'admin' },
        },
      },
    },
  });
});
after(async () => {
  await node?.close();
  provider?.stop();
});
// The tests share one address; each has its attempts for itself.
beforeEach(() => node.database.transaction((sql) => sql.query('DELETE FROM sign_in_attempt')));

const at = (origin: string, token: string | null = null) => new PageBrowser(origin, 'console', token);
const operator = (token: string | null = null) => at(consoleUrl, token);
const owner = (token: string | null = null) => new PageBrowser(node.origin, 'dashboard', token);

/** The value of a cookie that a response sets; null: it sets none. */
function cookieOf({ headers }: PageResponse, name: string): string | null {
  const line = headers.getSetCookie().find((one) => one.startsWith(`${name}=`));
  return line?.slice(name.length + 1, line.indexOf(';')) ?? null;
}

interface Returned {
  readonly step: string;
  readonly query: URLSearchParams;
}

/** A person begins at a page, and is sent back by the provider. */
async function begin(browser: PageBrowser, person: string): Promise<Returned> {
  const begun = await browser.send('POST', '/sign-in/oidc');
  const step = cookieOf(begun, 'naru_sign_in') ?? assert.fail(begun.text);
  return { step, query: (await provider.visit(begun.json.url, person)).searchParams };
}

function end(browser: PageBrowser, { step, query }: Returned, otherCookies = '') {
  const headers = { cookie: `naru_sign_in=${step}${otherCookies}` };
  return browser.send('GET', `${callback}?${query}`, { headers });
}

function assertRefused(response: PageResponse, why: string): void {
  assert.equal(response.headers.get('location'), `${signInPath}?refused=${why}`, response.text);
  assert.equal(cookieOf(response, 'naru_console'), null);
}

async function withLink(name: string, origin = consoleUrl): Promise<string> {
  const { operators, links } = node.operator.identity;
  const added = (await operators.find(name)) ?? (await operators.add({ name, role: 'admin' }, cli));
  if (typeof added === 'string') assert.fail(added);
  const { token } = await links.openConsole(added, cli);
  const response = await at(origin).send('POST', '/sign-in/link', { body: { token } });
  return cookieOf(response, 'naru_console') ?? assert.fail(response.text);
}

// spec:operator/4.3
// security:45,49
test('an operator signs in at the provider; the session is new, and the sign-in happens once', async () => {
  assert.deepEqual(await operator().get('/sign-in'), { passkey: true, oidc: true });
  const earlier = await withLink('earlier');
  const returned = await begin(operator(), 'c1|kim@example.com|true|ops');
  const done = await end(operator(), returned, `; naru_console=${earlier}`);
  assert.equal(done.headers.get('location'), '/console/', done.text);
  const token = cookieOf(done, 'naru_console') ?? assert.fail();
  assert.notEqual(token, earlier);
  assert.equal((await operator(earlier).send('GET', '/session')).status, 401);
  const { name, role } = await operator(token).get('/session');
  assert.deepEqual([name, role], ['kim@example.com', 'admin']);
  assertRefused(await end(operator(), returned), 'invalid_state');
  const { items } = await operator(token).get('/audit?act=operator.sign_in');
  assert.deepEqual([items[0].who, items[0].after], ['kim@example.com', { via: 'oidc' }]);
  assertRefused(await end(operator(), await begin(operator(), 'c2|lee@example.com|true|x')), 'no_group');
});

// security:49
test('what the provider issued for the dashboard opens no console, nor in a browser that did not begin', async () => {
  const person = 'c3|park@example.com|true|ops';
  assertRefused(await end(operator(), await begin(owner(), person)), 'invalid_state');
  const [ofOwner, ofOperator] = [await begin(owner(), person), await begin(operator(), person)];
  // The code of the dashboard with the state of the console.
  const query = new URLSearchParams(ofOperator.query);
  query.set('code', ofOwner.query.get('code') ?? '');
  assertRefused(await end(operator(), { ...ofOperator, query }), 'provider_failed');
  const other = await begin(operator(), person);
  assertRefused(await end(operator(), { ...other, step: 'A'.repeat(43) }), 'invalid_state');
  // An owner without a group signs in to the dashboard as before.
  const asOwner = await end(owner(), await begin(owner(), person));
  assert.equal(asOwner.headers.get('location'), '/dashboard/');
});

// spec:operator/4.1
test('at another address there is neither the provider nor a passkey, and no return of a sign-in', async () => {
  const loopback = at(`http://127.0.0.1:${port}`);
  assert.deepEqual(await loopback.get('/sign-in'), { passkey: false, oidc: false });
  for (const path of ['/sign-in/oidc', '/sign-in/passkey/options'])
    assert.equal((await loopback.send('POST', path)).json.error.type, 'unavailable_here', path);
  const returned = await begin(operator(), 'c4|choi@example.com|true|ops');
  assert.equal((await end(loopback, returned)).json.error.type, 'unavailable_here');
  const head = (host: string, rest: string) =>
    `GET /console/api${callback}?${returned.query} HTTP/1.1\r\nhost: ${host}\r\ncookie: naru_sign_in=${returned.step}\r\n${rest}connection: close\r\n\r\n`;
  const foreign = 'sec-fetch-site: cross-site\r\nsec-fetch-mode: ';
  for (const [host, rest, status] of [
    ['naru.example', '', 403],
    // An image or a frame of another site is no navigation.
    [`localhost:${port}`, `${foreign}no-cors\r\n`, 403],
    [`localhost:${port}`, `${foreign}navigate\r\nsec-fetch-dest: iframe\r\n`, 403],
    [`localhost:${port}`, `${foreign}navigate\r\nsec-fetch-dest: document\r\n`, 302],
  ] as const)
    assert.equal((await rawly(port, head(host, rest)))[0]?.status, status, `${host} ${rest}`);
  assertRefused(await end(operator(), returned), 'invalid_state');
  const plain = await startTestGateway();
  const origin = `http://localhost:${plain.gateway.admin.port}`;
  assert.deepEqual(await at(origin).get('/sign-in'), { passkey: false, oidc: false });
  await plain.close();
});

// security:51
test('the session of an owner opens no console, and that of an operator no dashboard', async () => {
  const asOwner = await end(owner(), await begin(owner(), 'c5|seo@example.com|true|ops'));
  const ofOwner = cookieOf(asOwner, 'naru_session') ?? assert.fail();
  const ofOperator = await withLink('crossing');
  assert.equal((await owner(ofOwner).get('/session')).kind, 'owner');
  for (const wrong of [operator(ofOwner), owner(ofOperator)])
    assert.equal((await wrong.send('GET', '/session')).json.error.type, 'session_required');
});

// spec:operator/4.4
test('an operator who signed in by a link adds a passkey soon after, and signs in with it', async () => {
  const token = await withLink('pass key');
  const me = operator(token);
  assert.deepEqual(await me.get('/passkeys'), { items: [], is_offered: true });
  const device = new SoftwareAuthenticator(consoleUrl);
  const add = async (browser: PageBrowser) => {
    const begun = await browser.send('POST', '/passkeys/options', { body: {} });
    if (begun.status !== 200) return begun;
    const body = { step: begun.json.step, name: '노트북', response: device.create(begun.json.options) };
    return browser.send('POST', '/passkeys', { body });
  };
  const loopback = `http://127.0.0.1:${port}`;
  const there = at(loopback, await withLink('pass key', loopback));
  assert.equal((await there.get('/passkeys')).is_offered, false);
  assert.equal((await add(there)).json.error.type, 'unavailable_here');
  const added = await add(me);
  assert.equal(added.json.name, '노트북', added.text);
  const signIn = async (flaws = {}) => {
    const begun = (await operator().send('POST', '/sign-in/passkey/options')).json;
    const body = { step: begun.step, response: device.get(begun.options, flaws) };
    return operator().send('POST', '/sign-in/passkey', { body });
  };
  const session = cookieOf(await signIn(), 'naru_console') ?? assert.fail();
  assert.equal((await operator(session).get('/session')).name, 'pass key');
  assert.equal((await signIn({ origin: dashboardUrl })).json.error.type, 'sign_in_refused');
  const { passkeys } = node.operator.identity;
  const ofOwners = await passkeys.beginSignIn(passkeySite(dashboardUrl) ?? assert.fail());
  const body = { step: ofOwners.step, response: device.get(ofOwners.options) };
  assert.equal((await operator().send('POST', '/sign-in/passkey', { body })).status, 401);
  // Others neither see nor remove it; the operator does, soon after a sign-in.
  const other = operator(await withLink('other'));
  const path = `/passkeys/${added.json.id}`;
  assert.deepEqual((await other.get('/passkeys')).items, []);
  assert.equal((await other.send('DELETE', path, { body: {} })).status, 404);
  node.clock.advance(16 * 60_000);
  for (const late of [await add(me), await me.send('DELETE', path, { body: {} })])
    assert.equal(late.json.error.type, 'confirmation_required', late.text);
  const fresh = operator(cookieOf(await signIn(), 'naru_console'));
  assert.equal((await fresh.send('DELETE', path, { body: {} })).status, 200);
  assert.equal((await signIn()).status, 401);
});
