/**
 * A page in a browser on the operator's host reaches loopback too: it must be able to read nothing
 * there.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type AdminServer, serveAdmin } from '../../src/http/serve-admin.ts';
import { silentLog } from '../../src/log/log.ts';
import { pageStyle } from '../../src/pages/page-style.ts';
import { systemClock } from '../../src/time/clock.ts';
import { RawClient, rawly } from '../harness/raw-client.ts';
import { until } from '../harness/until.ts';

let admin: AdminServer;

before(async () => {
  const pages = { '/metrics': () => 'secret 1\n', '/failing': () => assert.fail('secret 2') };
  admin = await serveAdmin({ pages, clock: systemClock, log: silentLog }, { host: '127.0.0.1', port: 0 });
});
after(() => admin?.close());

async function request(...headers: readonly string[]) {
  const [response] = await rawly(
    admin.port,
    ['GET /metrics HTTP/1.1', ...headers, 'connection: close', '', ''].join('\r\n'),
  );
  assert.ok(response !== undefined);
  return response;
}

// security:28
test('the operator page accepts the loopback host names and no name of a foreign page', async () => {
  const own = ['127.0.0.1', 'localhost', 'LOCALHOST', '127.0.0.53', '[::1]', 'localhost.'];
  for (const host of [...own, ...own.map((name) => `${name}:${admin.port}`)])
    assert.equal((await request(`host: ${host}`)).status, 200, host);
  for (const host of [
    'evil.example',
    `evil.example:${admin.port}`,
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '127.0.0.1@evil.example',
    '[::1].evil.example',
    '169.254.169.254',
    '0.0.0.0',
    '',
    '127.0.0.1:80:80',
    '127.0.0.1 evil.example',
  ]) {
    const response = await request(`host: ${host}`);
    assert.ok([400, 403].includes(response.status), `${host}: ${response.status}`);
    assert.doesNotMatch(response.body, /secret/, host);
  }
});

// security:28
test('the operator page rejects requests that a browser sends for another site', async () => {
  for (const header of [
    'origin: https://evil.example',
    'origin: null',
    'sec-fetch-site: cross-site',
    'sec-fetch-site: same-site',
  ]) {
    const response = await request('host: 127.0.0.1', header);
    assert.equal(response.status, 403, header);
    assert.doesNotMatch(response.body, /secret/, header);
  }
  for (const header of ['sec-fetch-site: none', 'sec-fetch-site: same-origin'])
    assert.equal((await request('host: localhost', header)).status, 200, header);
});

// security:28
test('one address has at most 256 connections to the operator page; one Host only is accepted', async () => {
  const clients = await Promise.all(Array.from({ length: 256 }, () => RawClient.open(admin.port)));
  const [refused] = await rawly(admin.port, 'GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n');
  assert.equal(refused?.status, 429);
  for (const client of clients) client.close();
  await until('they have ended', async () => (await request('host: localhost')).status === 200);
  assert.equal((await request('host: localhost', 'host: evil.example')).status, 400);
  assert.equal((await request('Host: localhost', 'hOST: localhost')).status, 400);
});

// security:28
test('the operator page is plain data to a browser, and no site can read it', async () => {
  const response = await request('host: 127.0.0.1');
  assert.deepEqual(response.all('x-content-type-options'), ['nosniff']);
  assert.deepEqual(response.all('access-control-allow-origin'), []);
  assert.deepEqual(response.all('cache-control'), ['no-store']);
});

// security:28
test('the operator page accepts no body and changes nothing: other methods are rejected and the connection is closed', async () => {
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
    const client = await RawClient.open(admin.port);
    client.write(`${method} /metrics HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n`);
    assert.equal((await client.response())?.status, 404, method);
    client.close();
  }
});

// security:28
test('an operator page that fails is a 500 without its reason, and the others still work', async () => {
  const head = 'HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n';
  const [failed] = await rawly(admin.port, `GET /failing ${head}`);
  assert.equal(failed?.status, 500);
  assert.doesNotMatch(failed?.body ?? '', /secret/);
  assert.equal((await rawly(admin.port, `GET /metrics ${head}`))[0]?.status, 200);
});

// security:28
test('the console says how to reach it, when it is opened at another name', async (t) => {
  const style = pageStyle(silentLog);
  const app = { publicOrigin: null, styleOf: () => style, respond: () => assert.fail('it was opened') };
  const console = await serveAdmin(
    { pages: {}, app, clock: systemClock, log: silentLog },
    { host: '127.0.0.1', port: 0 },
  );
  t.after(() => console.close());
  const messageFor = async (...headers: readonly string[]): Promise<{ ko: string; en: string }> => {
    const head = ['GET /console HTTP/1.1', ...headers, 'connection: close', '', ''].join('\r\n');
    const [response] = await rawly(console.port, head);
    assert.equal(response?.status, 403);
    return JSON.parse(response.body).error.message;
  };
  const { port } = console;
  assert.deepEqual(await messageFor('host: naru.example'), {
    ko: `이 주소로는 콘솔을 열 수 없습니다. SSH 터널(\`ssh -L ${port}:localhost:${port} 서버\`)을 연 후 http://127.0.0.1:${port}로 접속해 주세요.`,
    en: `The console cannot be opened at this address. Open an SSH tunnel (\`ssh -L ${port}:localhost:${port} SERVER\`), then go to http://127.0.0.1:${port}.`,
  });
  const { en } = await messageFor('host: 127.0.0.1', 'origin: https://evil.example');
  assert.equal(en, 'Requests from another site are not accepted.');
});
