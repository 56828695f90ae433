/** The one page that a browser shows: people write their keys into it. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';

let naru: TestGateway;

before(async () => {
  naru = await startTestGateway();
});
after(() => naru?.close());

// security:29
test('the documentation page runs only its own files, and no other page may embed it', async () => {
  for (const query of [
    '',
    '?lang=en',
    '?lang="><script>alert(1)</script>',
    '?url=https://evil.example/x.json',
  ]) {
    const page = await naru.send('GET', `/docs${query}`);
    const policy = new Map(
      (page.headers.get('content-security-policy') ?? '').split('; ').map((rule) => {
        const [name = '', ...sources] = rule.split(' ');
        return [name, sources] as const;
      }),
    );
    assert.deepEqual(policy.get('default-src'), ["'none'"]);
    for (const rule of ['script-src', 'style-src', 'connect-src'])
      assert.deepEqual(policy.get(rule), ["'self'"], rule);
    for (const rule of ['frame-ancestors', 'base-uri', 'form-action'])
      assert.deepEqual(policy.get(rule), ["'none'"], rule);
    assert.equal(page.headers.get('x-frame-options'), 'DENY');
    assert.equal(page.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
    assert.doesNotMatch(page.text, /<script>|<script[^>]*>[^<]|<style|\son\w+=|javascript:|alert|evil/i);
  }
});

// security:29
test('the documentation page stores no key, and reads no key from its URL', async () => {
  const script = await naru.send('GET', '/docs/start.js');
  assert.equal(script.status, 200);
  assert.match(script.text, /persistAuthorization: false/);
  assert.match(script.text, /validatorUrl: null/);
  assert.doesNotMatch(script.text, /queryConfigEnabled|location|https?:/);
});
