import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pageClientOf } from '../../src/pages/page-client.ts';
import { redirectTo, sessionCookie } from '../../src/pages/page-reply.ts';

test('a session cookie is bound to its area, and Secure behind TLS', () => {
  assert.equal(
    sessionCookie('dashboard', 'abc', { isSecure: false, isHostBound: false }),
    'naru_session=abc; Path=/dashboard; HttpOnly; SameSite=Strict',
  );
  assert.equal(
    sessionCookie('console', 'abc', { isSecure: true, isHostBound: false }),
    'naru_console=abc; Path=/console; HttpOnly; SameSite=Strict; Secure',
  );
  assert.equal(
    sessionCookie('console', 'abc', { isSecure: true, isHostBound: true }),
    '__Host-naru_console=abc; Path=/; HttpOnly; SameSite=Strict; Secure',
  );
  assert.match(
    sessionCookie('console', null, { isSecure: true, isHostBound: false }),
    /^naru_console=; .*; Max-Age=0$/,
  );
});

test('a redirect has a path of this server and no body', () => {
  const reply = redirectTo('/dashboard/', [
    sessionCookie('dashboard', 'abc', { isSecure: false, isHostBound: false }),
  ]);
  assert.equal(reply.status, 302);
  assert.equal(reply.headers['Location'], '/dashboard/');
  assert.equal(reply.cookies.length, 1);
});

test('the client of a request has its cookies, and its origin as the browser sees it', () => {
  const client = (headers: Record<string, string>) =>
    pageClientOf({
      requestId: 'req_1',
      clientIp: '127.0.0.1',
      headers,
      header: (name) => headers[name] ?? null,
    });
  const plain = client({ host: 'naru.example:8787', cookie: 'a=1; naru_session = x=y ; naru_session=z' });
  assert.equal(plain.origin, 'http://naru.example:8787');
  assert.equal(plain.isSecure, false);
  assert.equal(plain.cookie('naru_session'), 'x=y');
  assert.equal(plain.cookie('session'), null);
  const secure = client({ host: 'naru.example', 'x-forwarded-proto': 'https' });
  assert.equal(secure.origin, 'https://naru.example');
  assert.equal(secure.isSecure, true);
  assert.equal(client({ host: 'naru.example', origin: 'https://naru.example' }).isSecure, true);
});
