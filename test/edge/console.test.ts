/** The console behind nginx, with deploy/nginx-console.conf: a name of its own, and nothing else of the admin port. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { request } from 'node:https';
import { test } from 'node:test';
import { pageOrigins } from '../../src/identity/page-links.ts';
import { openIdentity } from '../../src/operations/open-identity.ts';
import { freePort } from '../harness/free-port.ts';
import { startTestGateway } from '../harness/gateway.ts';
import { rawly } from '../harness/raw-client.ts';
import { type OpenIdProvider, startProvider } from '../identity/openid-provider.ts';
import { startNginx } from './nginx.ts';

const cli = { kind: 'cli', name: 'test' } as const;

// spec:operator/4.1
test('a proxy serves the console at its public name only, with cookies of that name', async (t) => {
  const port = await freePort();
  const origin = `https://console.example.com:${port}`;
  const callback = '/console/api/sign-in/oidc/callback';
  const provider = await startProvider(`${origin}${callback}`);
  t.after(() => provider.stop());
  const oidc = { issuer: provider.issuer, client_id: 'naru', client_secret: 'secret-of-the-client' };
  const gateway = await startTestGateway({
    config: {
      auth: { public_url: 'https://naru.example.com', oidc: { ...oidc, operator_roles: { ops: 'viewer' } } },
      admin: { host: '127.0.0.1', port: 0, public_url: origin },
      edge: { trusted_proxies: ['127.0.0.1'] },
    },
  });
  t.after(() => gateway.close());
  const admin = gateway.gateway.admin.port;
  const nginx = await startNginx({
    behind: [gateway.gateway.server.port],
    console: { port, admin },
  });
  t.after(() => nginx.stop());
  const identity = openIdentity(gateway.database, gateway.clock, null);
  const operator = await identity.operators.add({ name: 'kim', role: 'admin' }, cli);
  assert.ok(typeof operator === 'object');
  const { token } = await identity.links.openConsole(operator, cli);
  assert.equal(pageOrigins(gateway.config).console, origin);

  const host = `console.example.com:${port}`;
  const own = { host, origin, 'idempotency-key': randomUUID(), 'content-type': 'application/json' };
  const signIn = (headers: Record<string, string>) =>
    send(port, 'POST', '/console/api/sign-in/link', headers, JSON.stringify({ token }));
  // Neighbouring names are other origins; a foreign name is refused as such.
  for (const foreign of ['https://console.example.com', 'https://naru.example.com', `http://${host}`])
    assert.equal((await signIn({ ...own, origin: foreign })).type, 'invalid_origin', foreign);
  assert.equal((await signIn({ ...own, 'sec-fetch-site': 'same-site' })).type, 'invalid_origin');
  assert.equal((await signIn({ ...own, host: 'naru.example.com' })).type, 'invalid_origin');
  const signedIn = await signIn(own);
  assert.equal(signedIn.status, 200, signedIn.text);
  const [cookie = ''] = signedIn.cookies;
  const session = /^__Host-(naru_console=[\w-]{43}); Path=\/; HttpOnly; SameSite=Strict; Secure$/.exec(
    cookie,
  )?.[1];
  assert.ok(session !== undefined, cookie);

  const read = (headers: Record<string, string>) =>
    send(port, 'GET', '/console/api/sessions', { host, ...headers });
  // A neighbouring name can set the cookie without the prefix.
  assert.equal((await read({ cookie: session })).status, 401);
  const sessions = await read({ cookie: `__Host-${session}`, 'x-forwarded-for': '192.0.2.1' });
  assert.equal(sessions.status, 200, sessions.text);
  assert.equal(JSON.parse(sessions.text).items[0].address, '127.0.0.2');
  await signInAtProvider(port, { provider, callback, own });
  assert.equal((await send(port, 'GET', '/', { host, accept: 'text/html' })).status, 302);
  for (const path of ['/metrics', '/console/../metrics', '/console/%2e%2e/metrics', '/api/v1/models'])
    assert.equal((await send(port, 'GET', path, { host })).status, 404, path);
  // Past nginx: metrics have no public name, and the port of the API has no console.
  const head = `GET /metrics HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`;
  assert.equal((await rawly(admin, head))[0]?.status, 403);
  const api = await fetch(`${gateway.origin}/console/api/session`, {
    headers: { cookie: `__Host-${session}` },
  });
  assert.equal(api.status, 404);
});

/** The whole way at the provider and back; a neighbouring name can plant no step either. */
async function signInAtProvider(
  port: number,
  {
    provider,
    callback,
    own,
  }: {
    readonly provider: OpenIdProvider;
    readonly callback: string;
    readonly own: Record<string, string> & { readonly host: string };
  },
): Promise<void> {
  const { host } = own;
  const ways = await send(port, 'GET', '/console/api/sign-in', { host });
  assert.deepEqual(JSON.parse(ways.text), { passkey: true, oidc: true });
  const begun = await send(port, 'POST', '/console/api/sign-in/oidc', own);
  const [step = ''] = begun.cookies;
  const kept = /^__Host-(naru_sign_in=[\w-]{43}); Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=600$/.exec(
    step,
  );
  assert.ok(kept !== null, step);
  const { search } = await provider.visit(JSON.parse(begun.text).url, 'e1|kim@example.com|true|ops');
  const planted = await send(port, 'GET', callback + search, { host, cookie: kept[1] ?? '' });
  assert.equal(planted.location, '/console/sign-in?refused=invalid_state');
  const done = await send(port, 'GET', callback + search, { host, cookie: `__Host-${kept[1]}` });
  assert.equal(done.location, '/console/', done.text);
  assert.match(
    done.cookies[1] ?? '',
    /^__Host-naru_console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
  );
}

function send(port: number, method: string, path: string, headers: Record<string, string>, body = '') {
  const { promise, resolve, reject } = Promise.withResolvers<{
    readonly status: number;
    readonly text: string;
    readonly type: string;
    readonly cookies: readonly string[];
    readonly location: string | undefined;
  }>();
  const tls = { rejectUnauthorized: false, agent: false };
  const options = { ...tls, host: '127.0.0.1', port, method, path, headers, localAddress: '127.0.0.2' };
  const outgoing = request(options, async (response) => {
    const text = (await response.setEncoding('utf8').toArray()).join('');
    const type = text.startsWith('{') ? (JSON.parse(text).error?.type ?? '') : '';
    const { 'set-cookie': cookies = [], location } = response.headers;
    resolve({ status: response.statusCode ?? 0, text, type, cookies, location });
  });
  outgoing.once('error', reject).end(body);
  return promise;
}
