/** The rows behind the live figures of the page Now: requests in flight, and settlements that wait. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { until } from '../harness/until.ts';
import { gate, reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';

const sessions = new TestSessions();
const limitMs = 20_000;
let upstream: Upstream;
let gateway: TestGateway;
let browser: PageBrowser;

before(async () => {
  upstream = await startUpstream();
  upstream.always(reply.chat('hello there', { usage: usage(10, 5) }));
  gateway = await startTestGateway({
    sessions,
    models: [{ id: 'test/model', upstreams: [upstream.url] }],
    config: { limits: { debt_floor_krw: 0 } },
  });
  const origin = `http://127.0.0.1:${gateway.gateway.admin.port}`;
  browser = new PageBrowser(origin, 'console', sessions.operator('viewer'));
});
after(async () => {
  await gateway?.close();
  await upstream?.close();
});

function call(key: string, more: object = {}) {
  const messages = [{ role: 'user', content: 'hi' }];
  return gateway.send('POST', '/chat/completions', {
    key,
    body: { model: 'test/model', max_tokens: 100, messages, ...more },
  });
}

async function countOf(phase: string): Promise<number> {
  const { phases } = await browser.get('/now/open');
  return phases.find((one: { phase: string }) => one.phase === phase).count;
}

// pages:A1
test('each request in flight has a row with its account, its candidate and what it does', async () => {
  const [rich, poor] = [
    await gateway.account({ credit: '1000000' }),
    await gateway.account({ credit: '250' }),
  ];
  const head = gate();
  const middle = gate();
  const answer = reply.chat('hello there', { usage: usage(10, 5) });
  upstream.next(answer.pauseAt(answer.bytes({ stream: true }).indexOf('there'), middle));
  const streaming = call(rich.key, { stream: true });
  await middle.reached;
  upstream.next(answer.pauseAt(0, head));
  const first = call(poor.key);
  await head.reached;
  // The estimate of the first leaves no room for another one.
  const second = call(poor.key);
  await until('one request waits for credit', async () => (await countOf('waiting')) === 1, limitMs);
  await until('the stream responds', async () => (await countOf('responding')) === 1, limitMs);
  const open = await browser.get('/now/open');
  assert.deepEqual(open.processes, { responding: 1, expected: 1 });
  const seen = open.requests.map((row: Record<string, unknown> & { account: { id: number } }) => [
    row.account.id,
    row['phase'],
    row['model'],
    row['candidate'],
    row['streamed'],
    row['worker'],
  ]);
  assert.deepEqual(
    seen.toSorted((a: unknown[], b: unknown[]) => String(a[1]).localeCompare(String(b[1]))),
    [
      [poor.accountId, 'calling', 'test/model', 'up1/upstream-model', false, null],
      [rich.accountId, 'responding', 'test/model', 'up1/upstream-model', true, null],
      [poor.accountId, 'waiting', 'test/model', null, false, null],
    ],
  );
  assert.ok(open.requests.every((row: { account: { name: string } }) => row.account.name !== ''));
  const ids = open.requests.map(({ id }: { id: string }) => id);
  head.open();
  middle.open();
  const ended = await Promise.all([streaming, first, second]);
  assert.deepEqual(
    ended.map(({ headers }) => headers.get('x-service-generation-id')).toSorted(),
    ids.toSorted(),
  );
  await gateway.settled();
  const after = await browser.get('/now/open');
  assert.deepEqual([after.requests, after.unsettled, after.backlog], [[], [], 0]);
});

// pages:A1
test('a settlement that waits for the database has a row until it is there', async () => {
  const { key, accountId } = await gateway.account({ credit: '1000000' });
  const held = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holding = gateway.database.transaction(async (sql) => {
    await sql.query('LOCK TABLE generation IN EXCLUSIVE MODE');
    locked.resolve();
    await held.promise;
  });
  await locked.promise;
  const { headers } = await call(key);
  const open = await browser.get('/now/open');
  held.resolve();
  await holding;
  assert.equal(open.backlog, 1);
  const [row] = open.unsettled;
  assert.deepEqual(
    [row.id, row.account.id, row.model, row.cost_micro, row.worker],
    [headers.get('x-service-generation-id'), accountId, 'test/model', '20000000', null],
  );
  await gateway.settled();
  assert.deepEqual((await browser.get('/now/open')).unsettled, []);
});
