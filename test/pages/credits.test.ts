/** What an account has left, by lot and over time, is what `GET /credits` and the ledger state. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { krwOfMicro } from '../../src/money/krw.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';

const sessions = new TestSessions();
const dayMs = 86_400_000;
const won = 1_000_000n;
let upstream: Upstream;
let gateway: TestGateway;
let account: TestAccount;
let owner: PageBrowser;

before(async () => {
  upstream = await startUpstream();
  gateway = await startTestGateway({ sessions, models: [{ id: 'a/b', upstreams: [upstream.url] }] });
  gateway.clock.set('2026-11-10T03:00:00Z');
  account = await gateway.account({ credit: '1000' });
  owner = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(account.accountId));
});
after(async () => {
  await gateway?.close();
  await upstream?.close();
});

/** Costs 20 won. */
async function call(): Promise<void> {
  const response = await gateway.send('POST', '/chat/completions', {
    key: account.key,
    body: { model: 'a/b', messages: [{ role: 'user', content: 'hello' }] },
  });
  assert.equal(response.status, 200, response.text);
}

/** The balance as the public API states it, in micro-won. */
async function creditsBalance(): Promise<bigint> {
  const { key } = await account.another({ kind: 'management' });
  const { json } = await gateway.send('GET', '/credits', { key });
  const { total_credits: credits, total_usage: usage } = json.data;
  return BigInt(Math.round(credits * 1e6)) - BigInt(Math.round(usage * 1e6));
}

// pages:U7
test('lots and balance over time add up to the credits of the account, usage included', async () => {
  await call();
  await gateway.settled();
  gateway.clock.advance(2 * dayMs);
  await gateway.operator.grantCredit({
    accountId: account.accountId,
    kind: 'bonus',
    amount: krwOfMicro(500n * won),
    // Credit expires by the time of the database, which is not that of the test.
    expiresAtMs: Date.parse('2100-01-01T00:00:00Z'),
    idempotencyKey: null,
    memo: null,
  });
  await call();
  await call();
  await gateway.settled();
  const balance = await creditsBalance();
  assert.equal(balance, 1_440n * won);
  const lots = await owner.get('/lots');
  assert.equal(lots.balance_micro, String(balance));
  assert.equal(BigInt(lots.paid_micro) + BigInt(lots.bonus_micro) + BigInt(lots.debt_micro), balance);
  assert.deepEqual(
    lots.items.map((lot: { kind: string; remaining_micro: string }) => [lot.kind, lot.remaining_micro]),
    [
      ['bonus', String(460n * won)],
      ['topup', String(980n * won)],
    ],
  );
  const history = await owner.get('/balance?range=7d');
  assert.equal(history.balance_micro, String(balance));
  assert.equal(history.opening_micro, '0');
  assert.deepEqual(history.days, [
    { day: '2026-11-10', balance_micro: String(980n * won), granted_micro: String(1_000n * won) },
    { day: '2026-11-12', balance_micro: String(balance), granted_micro: String(500n * won) },
  ]);
  const today = await owner.get('/balance?range=today');
  assert.deepEqual([today.opening_micro, today.days.length], [String(980n * won), 1]);
});

// pages:U7
test('what is spent beyond all lots is debt, and the sum is still the balance', async () => {
  const poor = await gateway.account({ credit: '15' });
  const session = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(poor.accountId));
  const { status } = await gateway.send('POST', '/chat/completions', {
    key: poor.key,
    body: { model: 'a/b', messages: [{ role: 'user', content: 'hello' }] },
  });
  assert.equal(status, 200);
  await gateway.settled();
  const lots = await session.get('/lots');
  assert.deepEqual(lots, {
    items: [],
    paid_micro: '0',
    bonus_micro: '0',
    debt_micro: String(-5n * won),
    balance_micro: String(-5n * won),
  });
});

// pages:U7,U12
test('alerts have a default, are chosen for the account, and reject what is none', async () => {
  const defaults = { low_balance_micro: '1000000000', min_days_left: null, updated_at: null };
  assert.deepEqual(await owner.get('/alerts'), defaults);
  const body = { low_balance_micro: '5000000000', min_days_left: 14 };
  const set = await owner.send('PUT', '/alerts', { body });
  assert.equal(set.status, 200, set.text);
  const { updated_at, ...stored } = await owner.get('/alerts');
  assert.deepEqual([stored, updated_at], [body, set.json.updated_at]);
  for (const wrong of [
    { low_balance_micro: '-1', min_days_left: null },
    { low_balance_micro: '0', min_days_left: null },
    { low_balance_micro: null, min_days_left: 0 },
    { low_balance_micro: null, min_days_left: 366 },
    { low_balance_micro: null },
  ])
    assert.equal((await owner.send('PUT', '/alerts', { body: wrong })).status, 400, JSON.stringify(wrong));
  const other = await gateway.account();
  const foreign = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(other.accountId));
  assert.deepEqual(await foreign.get('/alerts'), defaults);
});
