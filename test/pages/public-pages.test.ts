/** What a visitor without an account may read: nothing that the API does not report to everybody. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';

const sessions = new TestSessions();
let upstream: Upstream;
let gateway: TestGateway;
let visitor: PageBrowser;

before(async () => {
  upstream = await startUpstream();
  gateway = await startTestGateway({
    sessions,
    models: [
      { id: 'a/one', upstreams: [upstream.url] },
      { id: 'a/two.5', upstreams: [upstream.url], candidates: [{ model: 'name-at-the-provider' }] },
    ],
  });
  visitor = new PageBrowser(gateway.origin, 'dashboard', null);
});
after(async () => {
  await gateway?.close();
  await upstream?.close();
});

/** Every text in a JSON value. */
function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

// security:32
test('visitors see nothing about models and providers that the API does not report to everybody', async () => {
  const account = await gateway.account();
  const list = await visitor.get('/public/models');
  const ids = list.items.map(({ id }: { id: string }) => id);
  assert.deepEqual(ids, ['a/one', 'a/two.5']);
  const reported = [
    await gateway.send('GET', '/models'),
    await gateway.send('GET', '/providers'),
    ...(await Promise.all(ids.map((id: string) => gateway.send('GET', `/models/${id}/endpoints`)))),
  ]
    .map(({ text }) => text)
    .join('\n');
  const isFigure = (text: string) => /^\d+$|^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/.test(text);
  const one = await visitor.get('/public/models/a/two%2E5');
  const providers = await visitor.get('/public/providers');
  for (const answer of [list, one, providers])
    for (const text of textsOf(answer).filter((each) => each !== '' && !isFigure(each)))
      assert.ok(reported.includes(JSON.stringify(text).slice(1, -1)), text);
  assert.equal(JSON.stringify([list, one, providers]).includes('name-at-the-provider'), false);
  assert.equal(one.model.id, 'a/two.5');
  assert.equal(providers.items.length > 0, true);
  const owner = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(account.accountId));
  const [own] = (await owner.get('/models')).items;
  const { label, slot, is_drained: isDrained, ...shown } = own.candidates[0];
  assert.deepEqual([typeof label, slot, isDrained], ['string', null, false]);
  assert.deepEqual(list.items[0].candidates[0], shown);
});

test('an unknown model is 404, whatever its name is', async () => {
  for (const path of ['a/none', 'a/%', 'a/..%2f..%2fconsole', '%00/%00', 'a/one%0d%0aX: 1'])
    assert.equal((await visitor.send('GET', `/public/models/${path}`)).status, 404, path);
});

test('a browser at a short address is redirected to the page of the dashboard; a program gets a 404', async () => {
  const open = (path: string, accept: string, method = 'GET') =>
    fetch(gateway.origin + path, { method, headers: { accept }, redirect: 'manual' });
  for (const path of ['/models', '/models/a/one', '/rankings', '/providers', '/models//evil.example']) {
    const response = await open(path, 'text/html,*/*;q=0.8');
    assert.deepEqual([response.status, response.headers.get('location')], [302, `/dashboard${path}`]);
    for (const [accept, method] of [
      ['application/json', 'GET'],
      ['*/*', 'GET'],
      ['text/html', 'POST'],
    ] as const) {
      const refused = await open(path, accept, method);
      assert.equal(refused.status, 404, `${method} ${path} ${accept}`);
      assert.match(refused.headers.get('content-type') ?? '', /json/);
      await refused.arrayBuffer();
    }
  }
  assert.equal((await open('/', 'text/html')).headers.get('location'), '/dashboard/');
  assert.equal((await open('/modelsx', 'text/html')).status, 404);
  assert.equal((await open('/docs', 'text/html')).status, 200);
});
