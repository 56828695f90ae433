/** The app of a request: read from its real headers, on its record, and in the account's totals. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serveEcho } from '../harness/echo.ts';
import type { TestAccount, TestGateway } from '../harness/gateway.ts';
import { rawly } from '../harness/raw-client.ts';
import { ledgerOf } from '../harness/read-ledger.ts';
import { reply, type Upstream, usage } from '../harness/upstream.ts';

const messages = [{ role: 'user', content: '안녕' }];
let upstream: Upstream;
let naru: TestGateway;
let account: TestAccount;

serveEcho('100000000', (echo) => {
  ({ upstream, naru, account } = echo);
  upstream.always(reply.chat('네', { usage: usage(10, 5) }));
});

type Headers = Readonly<Record<string, string>>;

/** The record of a request with these headers, and no other app headers. */
async function recordOf(headers: Headers, key = account.key, body: object = {}) {
  const response = await naru.send('POST', '/chat/completions', {
    key,
    body: { model: 'test/echo', messages, ...body },
    headers: { 'user-agent': '', ...headers },
  });
  const id = response.headers.get('x-service-generation-id');
  return (await naru.send('GET', `/generation?id=${id}`, { key })).json.data;
}

/** `[name, url, requests, won]` of each app of the account, from its records. */
async function appsOf(accountId: number): Promise<readonly unknown[]> {
  await naru.settled();
  const rows = await naru.database.query<{ cells: unknown[] }>(
    `SELECT json_build_array(a.name, a.url, count(*), sum(g.cost) / 1000000) AS cells FROM generation g
     LEFT JOIN app a ON a.account_id = g.account_id AND a.id = g.app_id WHERE g.account_id = $1
     GROUP BY a.name, a.url ORDER BY lower(a.name) NULLS FIRST`,
    [accountId],
  );
  return rows.map((row) => row.cells);
}

test('the app is the URL, else the title, else the User-Agent, else none', async () => {
  const own = await naru.account();
  const [byAddress, byTitle, byAgent, byNothing] = [
    await recordOf(
      { 'http-referer': 'https://mine.example/', 'x-title': 'Mine', 'user-agent': 'curl/8.5' },
      own.key,
    ),
    await recordOf({ 'x-title': 'Only a title', 'user-agent': 'curl/8.5' }, own.key),
    await recordOf({ 'user-agent': 'curl/8.5' }, own.key),
    await recordOf({ 'user-agent': 'something/1.0' }, own.key),
  ];
  assert.partialDeepStrictEqual(byAddress, {
    app_title: 'Mine',
    http_referer: 'https://mine.example/',
    origin: 'https://mine.example',
    user_agent: 'curl/8.5',
  });
  assert.partialDeepStrictEqual(byTitle, { app_title: 'Only a title', http_referer: null, origin: '' });
  assert.partialDeepStrictEqual(byAgent, { app_title: 'curl', http_referer: null, origin: '' });
  assert.partialDeepStrictEqual(byNothing, { app_id: null, app_title: null, user_agent: 'something/1.0' });
  const ids = [byAddress, byTitle, byAgent].map((record) => record.app_id);
  assert.ok(ids.every((id) => Number.isSafeInteger(id) && id > 0));
  assert.equal(new Set(ids).size, 3);
  assert.deepEqual(await appsOf(own.accountId), [
    [null, null, 1, 20],
    ['curl', 'https://curl.se', 1, 20],
    ['Mine', 'https://mine.example', 1, 20],
    ['Only a title', null, 1, 20],
  ]);
});

test('HTTP-Referer takes precedence over Referer, and our title header over the others', async () => {
  const record = await recordOf({
    'http-referer': 'https://first.example',
    referer: 'https://second.example',
    'x-title': 'third',
    'x-openrouter-title': 'second',
    'x-service-title': 'first',
  });
  assert.partialDeepStrictEqual(record, { app_title: 'first', origin: 'https://first.example' });
  const second = await recordOf({ 'x-title': 'third', 'x-openrouter-title': 'second' });
  assert.equal(second.app_title, 'second');
  assert.equal(record.app_id, (await recordOf({ referer: 'https://first.example' })).app_id);
});

test('an app has the same id in every request and account, whether streamed, failed or rejected', async () => {
  const headers = { 'http-referer': 'https://mine.example/app', 'x-title': 'Mine' };
  const otherAccount = await naru.account();
  const records = [
    await recordOf(headers),
    await recordOf(headers, account.key, { stream: true }),
    await recordOf({ ...headers, 'http-referer': 'https://MINE.example/app/?x=1' }, otherAccount.key),
  ];
  assert.equal(new Set(records.map((record) => record.app_id)).size, 1);
  const refused = await naru.send('POST', '/chat/completions', {
    key: otherAccount.key,
    headers,
    body: { model: 'no/such' },
  });
  assert.equal(refused.status, 400);
  const onRecord = (await ledgerOf(naru, otherAccount)).records;
  assert.deepEqual(
    onRecord.map((record) => [record.status, record.app_id]),
    [200, 400].map((status) => [status, records[0].app_id]),
  );
  const again = await naru.send('GET', `/generation?id=${records[0].id}`, { key: account.key });
  assert.deepEqual(again.json.data, records[0], 'the same from the database');
});

test('an account sees only its own apps', async () => {
  const [one, two] = [await naru.account(), await naru.account()];
  await recordOf({ 'x-title': 'secret project' }, one.key);
  const theirs = await recordOf({ 'x-title': 'another' }, two.key);
  assert.deepEqual(await appsOf(one.accountId), [['secret project', null, 1, 20]]);
  assert.deepEqual(await appsOf(two.accountId), [['another', null, 1, 20]]);
  assert.equal((await naru.send('GET', `/generation?id=${theirs.id}`, { key: one.key })).status, 404);
});

test('every app header may be in Korean', async () => {
  const inUtf8 = (text: string): string => Buffer.from(text).toString('latin1');
  const record = await recordOf({
    'x-title': inUtf8('나루 편집기'),
    'http-referer': inUtf8('https://나루.example/길'),
    'user-agent': inUtf8('나루/1.0'),
    'x-session-id': inUtf8('세션-1'),
  });
  assert.partialDeepStrictEqual(record, {
    app_title: '나루 편집기',
    http_referer: 'https://나루.example/길',
    user_agent: '나루/1.0',
    session_id: '세션-1',
  });
});

test('hostile app headers are accepted, billed and bounded, and none becomes a link', async () => {
  const own = await naru.account();
  const body = JSON.stringify({ model: 'test/echo', messages });
  const hostile: readonly (readonly [title: string, referer: string])[] = [
    ['\xff\xfe\x80 half', 'https://\xff.example/'],
    ['x'.repeat(8_000), `https://x.example/${'p'.repeat(7_000)}`],
    ['<script>alert(1)</script>', 'javascript:alert(1)'],
    ['😀'.repeat(1_000), 'data:text/html,<script>alert(1)</script>'],
    ["'; DROP TABLE app; --", "https://x.example/'; DROP TABLE app; --"],
    ['a\tb', '////'],
    ['', `https://${'h'.repeat(400)}.example`],
    ['{"app":null}', 'https://user:password@x.example/'],
    ['%00', 'https://x.example/%00'],
  ];
  for (const [title, referer] of hostile) {
    const bytes = [title, referer].map((text) =>
      /[\u{100}-\u{10ffff}]/u.test(text) ? Buffer.from(text).toString('latin1') : text,
    );
    const [response] = await rawly(
      naru.gateway.server.port,
      `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${own.key}\r\nx-title: ${bytes[0]}\r\nhttp-referer: ${bytes[1]}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${Buffer.from(body).toString('latin1')}`,
    );
    assert.equal(response?.status, 200, title);
    const id = response.all('x-service-generation-id')[0];
    const { data } = (await naru.send('GET', `/generation?id=${id}`, { key: own.key })).json;
    assert.match(data.origin, /^$|^https?:\/\/[^/@]+$/);
    assert.ok(data.app_title === null || data.app_title.length <= 500);
  }
  await naru.settled();
  const apps = await naru.database.query<{ name: string; url: string | null }>(
    'SELECT name, url FROM app WHERE account_id = $1',
    [own.accountId],
  );
  assert.ok(apps.length >= 5);
  for (const { name, url } of apps) {
    assert.ok(name.length <= 100 && (url === null || url.length <= 200));
    assert.ok(url === null || /^https?:\/\/(x\.example|xn--)/.test(url), String(url));
  }
  assert.doesNotMatch(JSON.stringify(apps), /password/);
  assert.deepEqual((await naru.operator.verifyLedger()).differences, []);
});
