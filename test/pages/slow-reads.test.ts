/** The reads of the pages have connections of their own, and a limit. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Client } from 'pg';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';

const sessions = new TestSessions();
let upstream: Upstream;
let gateway: TestGateway;
let account: TestAccount;
let browser: PageBrowser;
let locker: Client;
let id: string;

before(async () => {
  upstream = await startUpstream();
  gateway = await startTestGateway({ sessions, models: [{ id: 'a/b', upstreams: [upstream.url] }] });
  account = await gateway.account();
  browser = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(account.accountId));
  locker = await gateway.database.connect(60_000);
  id = (await call()).headers.get('x-service-generation-id') ?? '';
  await gateway.settled();
});
after(async () => {
  await locker?.end();
  await gateway?.close();
  await upstream?.close();
});

const call = () =>
  gateway.send('POST', '/chat/completions', {
    key: account.key,
    body: { model: 'a/b', messages: [{ role: 'user', content: 'hello' }] },
  });

/** Makes every read of a price wait; calls have their prices in memory. */
const lock = () => locker.query('BEGIN; LOCK TABLE price_version IN ACCESS EXCLUSIVE MODE');
const unlock = () => locker.query('ROLLBACK');

/** The reads that wait for the lock. */
async function blocked(): Promise<number> {
  const [row] = await gateway.database.query<{ count: bigint }>(
    `SELECT count(*) AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%price_version%'
     AND datname = current_database()`,
  );
  return Number(row?.count ?? 0n);
}

// security:35
test('ten pages with slow reads delay no call', async () => {
  const beganMs = performance.now();
  await lock();
  const pages = Array.from({ length: 10 }, () => browser.send('GET', `/generations/${id}`));
  while ((await blocked()) < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  for (let n = 0; n < 20; n += 1) assert.equal((await call()).status, 200);
  assert.equal((await gateway.send('GET', '/credits', { key: account.key })).status, 200);
  // The two connections of the pages, and no other.
  assert.equal(await blocked(), 2);
  await unlock();
  // On a busy machine the calls may take longer than a page may wait.
  const expected = performance.now() - beganMs < 4_000 ? [200] : [200, 503];
  for (const page of await Promise.all(pages)) assert.ok(expected.includes(page.status), page.text);
});

// security:35
test('a read that takes longer than 5 s is cancelled, with a message', async () => {
  await lock();
  const page = await browser.send('GET', `/generations/${id}`);
  await unlock();
  assert.equal(page.status, 503);
  assert.equal(page.json.error.type, 'reading_too_slow');
  assert.equal(page.headers.get('retry-after'), '5');
  assert.equal((await browser.send('GET', `/generations/${id}`)).status, 200);
});
