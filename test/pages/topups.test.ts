/** Top-ups from both sides: the owner asks, the operator decides, and the money follows once. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { isoDay, seoulDayAt } from '../../src/time/period.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';

const sessions = new TestSessions();
let upstream: Upstream;
let gateway: TestGateway;
let account: TestAccount;
let owner: PageBrowser;
let admin: PageBrowser;
let support: PageBrowser;
let viewer: PageBrowser;

before(async () => {
  upstream = await startUpstream();
  gateway = await startTestGateway({
    sessions,
    models: [{ id: 'a/b', upstreams: [upstream.url] }],
    config: {
      company: { name: '주식회사 나루', business_number: '1248100998' },
      topup: {
        instructions: {
          ko: { bank: '나루은행', account: '110-123', holder: '주식회사 나루' },
          en: { bank: 'Naru Bank', account: '110-123', holder: 'Naru Inc.', note: 'On weekdays' },
        },
        deadline_days: 3,
        amounts: [50_000, 100_000],
      },
    },
  });
  account = await gateway.account({ credit: '0' });
  owner = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(account.accountId));
  const console_ = `http://127.0.0.1:${gateway.gateway.admin.port}`;
  admin = new PageBrowser(console_, 'console', sessions.operator('admin'));
  support = new PageBrowser(console_, 'console', sessions.operator('support'));
  viewer = new PageBrowser(console_, 'console', sessions.operator('viewer'));
});
after(async () => {
  await gateway?.close();
  await upstream?.close();
});

const call = () =>
  gateway.send('POST', '/chat/completions', {
    key: account.key,
    body: { model: 'a/b', messages: [{ role: 'user', content: 'hello' }] },
  });

async function requested(amount = '5000000000') {
  const response = await owner.send('POST', '/topups', { body: { amount_micro: amount, depositor: 'Kim' } });
  assert.equal(response.status, 200, response.text);
  return response.json;
}

// pages:U7,A8
test('a confirmed request releases a suspended account within a second, with one entry for ten confirmations', async () => {
  assert.equal((await call()).status, 402);
  const { id } = await requested();
  assert.equal((await call()).status, 402, 'a request alone is no money');
  const refused = await viewer.send('POST', `/topups/${id}/confirm`, { body: {} });
  assert.deepEqual([refused.status, refused.json.error.type], [403, 'role_required']);
  const confirm = (key: string) =>
    admin.send('POST', `/topups/${id}/confirm`, { body: { bank_reference: 'T-1' }, key });
  const same = randomUUID();
  const responses = await Promise.all(
    Array.from({ length: 10 }, (_, n) => confirm(n < 5 ? same : randomUUID())),
  );
  for (const response of responses) assert.equal(response.status, 200, response.text);
  assert.equal(new Set(responses.map(({ json }) => json.entry_id)).size, 1);
  const beganMs = performance.now();
  while ((await call()).status !== 200) assert.ok(performance.now() - beganMs < 5_000, 'still suspended');
  const entries = await Array.fromAsync(gateway.operator.exportEntries(account.accountId));
  assert.equal(entries.filter(({ kind }) => kind === 'topup').length, 1);
  const [shown] = (await owner.get('/topups')).items;
  assert.deepEqual([shown.state, shown.bank_reference], ['confirmed', 'T-1']);
});

// pages:A8,A12
test('support confirms up to its daily limit, and the log names who did what', async () => {
  // The calls above are charged, or the balance changes between two reads.
  await gateway.settled();
  const fits = await requested('60000000000');
  const above = await requested('60000000000');
  assert.equal((await support.send('POST', `/topups/${fits.id}/confirm`, { body: {} })).status, 200);
  const refused = await support.send('POST', `/topups/${above.id}/confirm`, { body: {} });
  assert.deepEqual([refused.status, refused.json.error.type], [403, 'above_limit']);
  // The sessions of this test are those of one operator, who confirmed 5,000 won above.
  assert.equal(refused.json.error.left_micro, '35000000000');
  assert.match(refused.json.error.message.ko, / 35,000원/);
  const [listed] = (await viewer.get(`/topups?state=pending&account=${account.accountId}`)).items;
  assert.deepEqual([listed.id, listed.account_name], [above.id, 'test']);
  assert.equal((await admin.send('POST', `/topups/${above.id}/confirm`, { body: {} })).status, 200);
  const { items } = await viewer.get(`/audit?act=topup.confirm&account_id=${account.accountId}`);
  const [last, before] = items;
  assert.deepEqual([last.role, before.role], ['admin', 'support']);
  assert.equal(BigInt(last.before.balance_micro), BigInt(listed.balance_micro));
  assert.equal(BigInt(last.after.balance_micro), BigInt(listed.balance_micro) + 60_000_000_000n);
});

// pages:A8
test('a rejected request shows its reason to the owner and cannot be confirmed', async () => {
  const { id } = await requested();
  const rejected = await support.send('POST', `/topups/${id}/reject`, { body: { reason: '입금 확인 불가' } });
  assert.equal(rejected.status, 200, rejected.text);
  const late = await admin.send('POST', `/topups/${id}/confirm`, { body: {} });
  assert.deepEqual([late.status, late.json.error.type, late.json.error.state], [409, 'conflict', 'rejected']);
  const [shown] = (await owner.get('/topups?state=rejected')).items;
  assert.equal(shown.reason, '입금 확인 불가');
});

// pages:U7
test('an owner withdraws an own request only, and malformed amounts are rejected', async () => {
  const { id } = await requested();
  const stranger = await gateway.account();
  const other = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(stranger.accountId));
  const foreign = await other.send('POST', `/topups/${id}/withdraw`);
  const unknown = await other.send('POST', '/topups/999999/withdraw');
  assert.deepEqual([foreign.status, foreign.json.error], [unknown.status, unknown.json.error]);
  assert.equal((await owner.send('POST', `/topups/${id}/withdraw`)).json.state, 'withdrawn');
  for (const amount of ['0', '-1', '1.5', 'x', '1'.repeat(40)])
    assert.equal(
      (await owner.send('POST', '/topups', { body: { amount_micro: amount } })).status,
      400,
      amount,
    );
});

// spec:operator/4.7
test('an owner sees where to pay in both languages; the console counts the requests that wait', async () => {
  const shown = await owner.get('/topups/instructions');
  assert.deepEqual(shown.instructions.ko, {
    bank: '나루은행',
    account: '110-123',
    holder: '주식회사 나루',
    note: null,
  });
  assert.deepEqual(
    [shown.instructions.en.note, shown.deadline_days, shown.amounts_micro],
    ['On weekdays', 3, ['50000000000', '100000000000']],
  );
  const before = (await viewer.get('/topups/pending')).count;
  const { id } = await requested();
  assert.equal((await viewer.get('/topups/pending')).count, before + 1);
  await owner.send('POST', `/topups/${id}/withdraw`);
  assert.equal((await viewer.get('/topups/pending')).count, before);
});

// spec:money/3.12
test('the statement of a month has the lines between its balances, and the sums of the month end', async () => {
  const { id } = await requested('12345678901');
  await admin.send('POST', `/topups/${id}/confirm`, { body: {} });
  assert.equal((await call()).status, 200);
  await gateway.settled();
  const today = isoDay(seoulDayAt(gateway.clock.now()));
  const query = `?month=${today.slice(0, 7)}`;
  const statement = await owner.get(`/statement${query}`);
  const { as_of: asOf, ...ofOwner } = statement;
  const { as_of: _, ...ofOperator } = await viewer.get(`/accounts/${account.accountId}/statement${query}`);
  assert.deepEqual(ofOperator, ofOwner);
  assert.deepEqual(statement.company, {
    name: '주식회사 나루',
    business_number: '124-81-00998',
    address: null,
  });
  assert.deepEqual([statement.is_over, statement.account.id], [false, account.accountId]);
  assert.ok(Date.parse(asOf) <= gateway.clock.now());
  let balance = BigInt(statement.opening_micro);
  for (const line of statement.lines) {
    balance += BigInt(line.amount_micro);
    assert.equal(line.balance_micro, String(balance));
  }
  assert.equal(statement.closing_micro, String(balance));
  assert.equal((await owner.get('/account')).balance_micro, String(balance));
  assert.equal(BigInt(statement.amounts.change), balance - BigInt(statement.opening_micro));
  const days = `from=${statement.first_day}&to=${statement.last_day}`;
  const { items } = await viewer.get(`/books/statements?${days}`);
  const row = items.find((one: { account_id: number }) => one.account_id === account.accountId);
  assert.deepEqual(row.amounts, statement.amounts);
  const past = await owner.get('/statement?month=1999-12');
  assert.deepEqual(
    [past.is_over, past.opening_micro, past.closing_micro, past.lines, past.amounts.vat],
    [true, '0', '0', [], '0'],
  );
  for (const wrong of ['', '?month=2026-13', '?month=x'])
    assert.equal((await owner.send('GET', `/statement${wrong}`)).status, 400);
  assert.equal((await viewer.send('GET', `/accounts/999999/statement${query}`)).status, 404);
});

// pages:U7,A8
test('a confirmation is seen on every node within a second, and is the one of the command line', async (t) => {
  const models = [{ id: 'a/b', upstreams: [upstream.url] }];
  const other = await startTestGateway({ sessions, models, beside: gateway });
  t.after(() => other.close());
  const poor = await gateway.account({ credit: '0' });
  const token = sessions.owner(poor.accountId);
  const here = new PageBrowser(gateway.origin, 'dashboard', token);
  const there = new PageBrowser(other.origin, 'dashboard', token);
  const callThere = async (): Promise<number> =>
    (
      await other.send('POST', '/chat/completions', {
        key: poor.key,
        body: { model: 'a/b', messages: [{ role: 'user', content: 'hello' }] },
      })
    ).status;
  const key = randomUUID();
  const request = () => here.send('POST', '/topups', { body: { amount_micro: '5000000000' }, key });
  const { id } = (await request()).json;
  assert.equal((await request()).json.id, id, 'one request for one idempotency key');
  assert.equal(await callThere(), 402);
  assert.equal((await there.get('/topups')).items[0].state, 'pending');
  const confirmed = await admin.send('POST', `/topups/${id}/confirm`, { body: {} });
  assert.equal(confirmed.status, 200, confirmed.text);
  const limitMs = scaledLimit(1_000);
  const beganMs = performance.now();
  while ((await callThere()) !== 200)
    assert.ok(performance.now() - beganMs < limitMs, 'the other node still refuses');
  assert.equal((await there.get('/topups')).items[0].state, 'confirmed');
  assert.equal((await there.get('/account')).total_credits_micro, '5000000000');
  const again = await other.operator.confirmTopup({ id, bankReference: null });
  assert.equal(again.kind, 'repeated');
  const entries = await Array.fromAsync(gateway.operator.exportEntries(poor.accountId));
  assert.equal(entries.filter(({ kind }) => kind === 'topup').length, 1);
});
