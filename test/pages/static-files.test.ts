/** The built apps, as a browser gets them from the two listeners. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { rawly } from '../harness/raw-client.ts';

const script = 'console.log("naru")\n'.repeat(50);
const html = '<!doctype html><html><script src="/dashboard/assets/app-1a2b.js"></script></html>';
let dist: string;
let gateway: TestGateway;

before(async () => {
  dist = mkdtempSync(join(tmpdir(), 'naru-dist-'));
  gateway = await startTestGateway({ distFolder: dist });
});
after(async () => {
  await gateway?.close();
  rmSync(dist, { recursive: true, force: true });
});

function build(): void {
  for (const area of ['dashboard', 'console']) {
    const folder = join(dist, area);
    mkdirSync(join(folder, 'assets'), { recursive: true });
    writeFileSync(join(folder, 'index.html'), html.replace('dashboard', area));
    writeFileSync(join(folder, 'assets/app-1a2b.js'), script);
    writeFileSync(join(folder, 'assets/app-1a2b.js.br'), brotliCompressSync(script));
    writeFileSync(join(folder, 'assets/app-1a2b.js.gz'), gzipSync(script));
    writeFileSync(join(folder, 'favicon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
  }
  writeFileSync(join(dist, 'secret.txt'), 'secret');
}

const get = (path: string, headers: Record<string, string> = {}, port = gateway.gateway.server.port) =>
  fetch(`http://127.0.0.1:${port}${path}`, { headers, redirect: 'manual' });

test('without a build, a page describes how to make one, in the language of the browser', async () => {
  for (const port of [gateway.gateway.server.port, gateway.gateway.admin.port]) {
    const area = port === gateway.gateway.admin.port ? 'console' : 'dashboard';
    const korean = await get(`/${area}/`, { 'accept-language': 'ko-KR,ko;q=0.9,en;q=0.8' }, port);
    assert.equal(korean.status, 503);
    assert.match(await korean.text(), /<html lang="ko">[\s\S]*npm run/);
    const english = await get(`/${area}/`, { 'accept-language': 'en-US' }, port);
    assert.match(await english.text(), /<html lang="en">[\s\S]*npm run/);
    assert.match(english.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/);
  }
});

test('a browser at / is redirected to the dashboard; other clients get the JSON 404', async () => {
  const browser = await get('/', { accept: 'text/html,application/xhtml+xml' });
  assert.deepEqual([browser.status, browser.headers.get('location')], [302, '/dashboard/']);
  const bare = await get('/dashboard', {});
  assert.deepEqual([bare.status, bare.headers.get('location')], [302, '/dashboard/']);
  for (const accept of ['*/*', 'application/json']) {
    const client = await get('/', { accept });
    assert.equal(client.status, 404);
    assert.match(await client.text(), /"code":404/);
  }
  const operator = await get('/', { accept: 'text/html' }, gateway.gateway.admin.port);
  assert.deepEqual([operator.status, operator.headers.get('location')], [302, '/console/']);
});

test('an app is served with its assets, and index.html for its own paths', async () => {
  build();
  for (const [area, port] of [
    ['dashboard', gateway.gateway.server.port],
    ['console', gateway.gateway.admin.port],
  ] as const) {
    for (const path of ['', 'requests', 'requests/gen-1-abc', 'index.html']) {
      const page = await get(`/${area}/${path}`, {}, port);
      assert.equal(page.status, 200, path);
      assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
      assert.equal(page.headers.get('cache-control'), 'no-store');
      assert.match(await page.text(), new RegExp(`/${area}/assets/app-1a2b.js`));
    }
    const asset = await get(`/${area}/assets/app-1a2b.js`, {}, port);
    assert.equal(asset.headers.get('content-type'), 'text/javascript; charset=utf-8');
    assert.equal(asset.headers.get('cache-control'), 'public, max-age=31536000, immutable');
    assert.equal(await asset.text(), script);
    assert.equal((await get(`/${area}/favicon.svg`, {}, port)).headers.get('content-type'), 'image/svg+xml');
    assert.equal((await get(`/${area}/assets/gone-0000.js`, {}, port)).status, 404);
  }
  const other = await get('/console/', { accept: 'text/html' });
  assert.equal(other.status, 404);
  assert.equal((await get('/dashboard/', {}, gateway.gateway.admin.port)).status, 404);
});

test('assets are sent as the browser can decode them, and not again when it has them', async () => {
  const path = '/dashboard/assets/app-1a2b.js';
  const send = (encoding: string) =>
    rawly(
      gateway.gateway.server.port,
      `GET ${path} HTTP/1.1\r\nhost: localhost\r\naccept-encoding: ${encoding}\r\nconnection: close\r\n\r\n`,
    );
  for (const [accepted, used] of [
    ['br, gzip', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['identity', null],
  ] as const) {
    const [response] = await send(accepted);
    assert.deepEqual(response?.all('content-encoding'), used === null ? [] : [used], accepted);
    assert.deepEqual(response?.all('vary'), ['Accept-Encoding']);
  }
  const head = await fetch(`${gateway.origin}${path}`, {
    method: 'HEAD',
    headers: { 'accept-encoding': 'identity' },
  });
  assert.equal(head.headers.get('content-length'), String(script.length));
  const plain = await get(path, { 'accept-encoding': 'br' });
  assert.equal(await plain.text(), script);
  const etag = plain.headers.get('etag') ?? '';
  const again = await get(path, { 'if-none-match': `"other", ${etag}` });
  assert.equal(again.status, 304);
  assert.equal(again.headers.get('etag'), etag);
  assert.equal(again.headers.get('content-length'), null);
  assert.equal((await get(path, { 'if-none-match': '"other"' })).status, 200);
});

// security:34
test('no path leaves the folder of the app', async () => {
  for (const path of [
    '/dashboard/../secret.txt',
    '/dashboard/..%2fsecret.txt',
    '/dashboard/%2e%2e/secret.txt',
    '/dashboard//../secret.txt',
    '/dashboard/assets/../../secret.txt',
    '/dashboard/assets/..%2f..%2f..%2fetc/passwd',
    '/dashboard/....//secret.txt',
    '/dashboard/%00',
  ]) {
    const [response] = await rawly(
      gateway.gateway.server.port,
      `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`,
    );
    assert.doesNotMatch(response?.body ?? '', /secret|root:/, path);
  }
});

test('the app accepts GET and HEAD only', async () => {
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
    const response = await fetch(`${gateway.origin}/dashboard/`, { method });
    assert.equal(response.status, 405, method);
    assert.equal(response.headers.get('access-control-allow-origin'), null);
  }
});

test('a newer build replaces the older one without a restart', async () => {
  writeFileSync(join(dist, 'dashboard/index.html'), html.replace('1a2b', '3c4d'));
  writeFileSync(join(dist, 'dashboard/assets/app-3c4d.js'), 'new');
  assert.match(await (await get('/dashboard/')).text(), /app-3c4d/);
  assert.equal(await (await get('/dashboard/assets/app-3c4d.js')).text(), 'new');
});

// security:30
test('the console opens for a local browser only, also from a link', async () => {
  const send = async (headers: Record<string, string>) => {
    const lines = Object.entries({ host: 'localhost', ...headers }).map(
      ([name, value]) => `${name}: ${value}`,
    );
    const [response] = await rawly(
      gateway.gateway.admin.port,
      ['GET /console/ HTTP/1.1', ...lines, 'connection: close', '', ''].join('\r\n'),
    );
    return response?.status;
  };
  assert.equal(await send({}), 200);
  assert.equal(await send({ host: '127.0.0.1:9090', origin: 'http://127.0.0.1:9090' }), 200);
  assert.equal(await send({ 'sec-fetch-site': 'same-origin' }), 200);
  const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  assert.equal(await send(link), 200);
  assert.equal(await send({ ...link, 'sec-fetch-dest': 'iframe' }), 403);
  assert.equal(await send({ 'sec-fetch-site': 'cross-site' }), 403);
  assert.equal(await send({ origin: 'https://evil.example' }), 403);
  assert.equal(await send({ host: 'evil.example', origin: 'http://evil.example' }), 403);
});
