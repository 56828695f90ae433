import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { reply, startUpstream, type Upstream } from '../harness/upstream.ts';

let upstream: Upstream;
let naru: TestGateway;
let account: TestAccount;
let management: string;

before(async () => {
  upstream = await startUpstream();
  upstream.always(reply.chat('네'));
  naru = await startTestGateway({ models: [{ id: 'naru/demo', upstreams: [upstream.url] }] });
  account = await naru.account({ credit: '100000000' });
  management = (await account.another({ kind: 'management' })).key;
});
after(async () => {
  await naru?.close();
  await upstream?.close();
});

/** Every operation of the document, as `GET /keys/{hash}`. */
// biome-ignore lint/suspicious/noExplicitAny: a document is looked into as a reader would.
function operationsOf(document: any): readonly string[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods as object).map((method) => `${method.toUpperCase()} ${path}`),
  );
}

// spec:api/1.18
test('the OpenAPI document has every endpoint of the API and nothing else, in both languages', async () => {
  const rows = naru.gateway.routes
    .filter((row) => row.path.startsWith('/api/v1'))
    .map((row) => `${row.method} ${row.path.slice('/api/v1'.length)}`)
    .toSorted();
  assert.ok(rows.length >= 19, `the loop must see the endpoints, not ${rows.length}`);
  for (const lang of ['ko', 'en']) {
    const document = (await naru.send('GET', `/openapi.json?lang=${lang}`)).json;
    assert.equal(document.openapi, '3.1.0');
    assert.deepEqual(operationsOf(document).toSorted(), rows);
  }
});

test('an operation documents its credential, its response and every error that it may return', async () => {
  const { paths } = (await naru.send('GET', '/openapi.json')).json;
  const chat = paths['/chat/completions'].post;
  assert.deepEqual(chat.security, [{ bearer: [] }]);
  assert.deepEqual(Object.keys(chat.responses), [
    '200',
    '400',
    '401',
    '402',
    '403',
    '404',
    '408',
    '429',
    '500',
    '502',
    '503',
  ]);
  assert.match(chat.responses[402].description, /insufficient_credits.*key_limit_exceeded/);
  assert.ok(chat.responses[200].content['text/event-stream'].schema.properties.choices);
  assert.deepEqual(paths['/models'].get.security, []);
  assert.deepEqual(paths['/keys'].post.responses[201].content['application/json'].schema.required, [
    'data',
    'key',
  ]);
  assert.deepEqual(
    paths['/keys/{hash}'].get.parameters.map((each: { name: string }) => each.name),
    ['hash'],
  );
});

test('every example of the document works unchanged', async () => {
  const { hash } = await account.another();
  let tried = 0;
  for (const row of naru.gateway.routes) {
    const body = row.document?.example?.body;
    if (body === undefined) continue;
    tried += 1;
    const path = row.path.slice('/api/v1'.length).replace('{hash}', hash);
    const key = row.credential === 'management' ? management : account.key;
    const response = await naru.send(row.method, path, { key, body });
    assert.equal(response.status, row.document?.response.status, `${row.method} ${path}: ${response.text}`);
  }
  assert.ok(tried >= 4);
});

test('the documentation page is served entirely by Naru, in Korean and English', async () => {
  for (const [lang, word] of [
    ['ko', 'API 문서'],
    ['en', '한국어'],
  ]) {
    const page = await naru.send('GET', `/docs?lang=${lang}`);
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.match(page.text, new RegExp(word ?? ''));
    const sources = [...page.text.matchAll(/(?:src|href)="([^"?]+)/g)].map(([, source]) => source ?? '');
    assert.deepEqual(
      sources.filter((source) => !source.startsWith('/docs')),
      [],
    );
    for (const source of sources) assert.equal((await naru.send('GET', source)).status, 200, source);
  }
  assert.equal((await naru.send('GET', '/docs/../package.json')).status, 404);
  assert.equal((await naru.send('GET', '/docs/index.html')).status, 404);
});
