/** The requests of all accounts, to which the figures of the console lead. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';

const sessions = new TestSessions();
let bad: Upstream;
let upstream: Upstream;
let gateway: TestGateway;
let one: TestAccount;
let other: TestAccount;
let browser: PageBrowser;
const ids: string[] = [];

before(async () => {
  bad = await startUpstream();
  bad.always(reply.status(503));
  upstream = await startUpstream();
  upstream.always(reply.chat('answer', { usage: usage(10, 5) }));
  gateway = await startTestGateway({
    sessions,
    models: [
      { id: 'test/one', upstreams: [upstream.url] },
      { id: 'test/two', upstreams: [upstream.url] },
      { id: 'test/bad', upstreams: [bad.url] },
    ],
  });
  one = await gateway.account();
  other = await gateway.account();
  browser = new PageBrowser(
    `http://127.0.0.1:${gateway.gateway.admin.port}`,
    'console',
    sessions.operator('viewer'),
  );
  for (const [account, model] of [
    [one, 'test/one'],
    [other, 'test/two'],
    [other, 'test/bad'],
    [one, 'test/two'],
  ] as const) {
    const response = await gateway.send('POST', '/chat/completions', {
      key: account.key,
      body: { model, messages: [{ role: 'user', content: 'question' }] },
    });
    ids.push(response.headers.get('x-service-request-id') ?? '');
    await gateway.settled();
  }
});
after(async () => {
  await gateway?.close();
  await upstream?.close();
  await bad?.close();
});

interface Row {
  readonly id: string;
  readonly request_id: string;
  readonly account: { readonly id: number; readonly name: string };
}

async function shown(query: string): Promise<readonly number[]> {
  const { items } = await browser.get(`/generations${query}`);
  return items.map((row: Row) => ids.indexOf(row.request_id));
}

// pages:A1
test('the requests of all accounts are listed with their account, filtered, and paged without gaps', async () => {
  assert.deepEqual(await shown(''), [3, 2, 1, 0]);
  assert.deepEqual(await shown('?outcome=failed'), [2]);
  assert.deepEqual(await shown('?model=test/one,test/two&outcome=ok'), [3, 1, 0]);
  assert.deepEqual(await shown('?model=test/bad'), [2], 'a failed request counts for the model it requested');
  assert.deepEqual(await shown('?error_type=provider_error,rate_limit&status=502,429'), [2]);
  assert.deepEqual(await shown('?outcome=cancelled'), []);
  assert.deepEqual(await shown(`?find=${ids[1]}`), [1]);
  assert.deepEqual(await shown('?find=nothing'), []);
  const { items } = await browser.get('/generations');
  assert.deepEqual(
    items.map(({ account }: Row) => account.id),
    [one, other, other, one].map(({ accountId }) => accountId),
  );
  const detail = await browser.get(`/accounts/${items[0].account.id}/generations/${items[0].id}`);
  assert.equal(detail.listing.request_id, ids[3]);
  const paged: number[] = [];
  for (let query = '?limit=1', next: string | null = ''; next !== null; query = `?limit=1&cursor=${next}`) {
    const page = await browser.get(`/generations${query}`);
    paged.push(...page.items.map((row: Row) => ids.indexOf(row.request_id)));
    next = page.next;
  }
  assert.deepEqual(paged, [3, 2, 1, 0]);
  for (const query of ['?cursor=x', '?status=9', '?status=200,x', '?from=yesterday'])
    assert.equal((await browser.send('GET', `/generations${query}`)).status, 400, query);
});

// pages:A1,U1,U3
test('a count of usage and the list of requests behind it agree, whatever the filter', async () => {
  const totals = async (query: string) => (await browser.get(`/usage/totals?range=today${query}`)).sums;
  const { requests, failures } = await totals('');
  assert.equal(requests, (await shown('')).length);
  assert.equal(failures, (await shown('?outcome=failed')).length);
  for (const filter of ['&model=test/bad', '&model=test/one,test/bad', '&status=502', '&status=200,502'])
    assert.equal((await totals(filter)).requests, (await shown(filter.replace('&', '?'))).length, filter);
});

// pages:U3
test('several values of a filter are all used: in the list, and where requests are followed', async () => {
  const owner = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(other.accountId));
  const models = async (query: string): Promise<readonly number[]> =>
    (await owner.get(`/generations${query}`)).items.map((row: Row) => ids.indexOf(row.request_id));
  assert.deepEqual(await models('?model=test/two,test/bad'), [2, 1]);
  assert.deepEqual(await models('?status=200,502'), [2, 1]);
  assert.deepEqual(await models('?status=200'), [1]);
  assert.deepEqual(await models(`?key=${one.hash},${other.hash}`), [2, 1]);
  assert.deepEqual(await models(`?key=${one.hash}`), []);
  const { items } = await owner.get('/generations');
  assert.deepEqual(await models(`?app=0,${items[0].app.id}`), [2, 1]);
});
