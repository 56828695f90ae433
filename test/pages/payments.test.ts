/**
 * Payments by card against an emulator of the provider: every payment is granted once and every
 * cancellation is deducted once, in any order and however often they are reported.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, test } from 'node:test';
import { openPayments } from '../../src/operations/payment-operations.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { paymentConfig, TossEmulator } from '../harness/toss.ts';
import { until } from '../harness/until.ts';

const sessions = new TestSessions();
let toss: TossEmulator;
let gateway: TestGateway;
let account: TestAccount;
let owner: PageBrowser;
let admin: PageBrowser;

before(async () => {
  toss = await TossEmulator.start();
  gateway = await startTestGateway({ sessions, config: paymentConfig(toss.url) });
  admin = consoleAs('admin');
});
after(async () => {
  await gateway?.close();
  await toss?.close();
});
// Each test has an account of its own; the books are right after each.
afterEach(async () => {
  const { differences } = await gateway.operator.verifyLedger();
  assert.deepEqual(differences, []);
  const logged = JSON.stringify(gateway.logged);
  assert.ok(!logged.includes('test_sk_'), 'the key of the provider is not logged');
});

async function newAccount(): Promise<void> {
  account = await gateway.account({ credit: '0' });
  owner = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(account.accountId));
}

function consoleAs(role: 'admin' | 'support' | 'viewer'): PageBrowser {
  return new PageBrowser(
    `http://127.0.0.1:${gateway.gateway.admin.port}`,
    'console',
    sessions.operator(role),
  );
}

/** Orders a payment, which the customer approves; returns what the browser brings back. */
async function approved(won = 10_000) {
  const started = await owner.send('POST', '/payments', { body: { amount_micro: `${won}000000` } });
  assert.equal(started.status, 200, started.text);
  return toss.approve(started.json.checkout_url);
}

function complete({ orderId, ...body }: ReturnType<TossEmulator['approve']>, browser = owner) {
  return browser.send('POST', `/payments/${orderId}/complete`, { body });
}

/** A payment whose credit is granted; returns the order. */
async function paid(won = 10_000): Promise<string> {
  const returned = await approved(won);
  const done = await complete(returned);
  assert.deepEqual([done.status, done.json.state], [200, 'paid'], done.text);
  return returned.orderId;
}

function report(body: unknown): Promise<Response> {
  return fetch(`${gateway.origin}/webhooks/payments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

/** The entries of the account: kind, won and key. */
async function entries() {
  const found = await gateway.database.query<{ kind: number; amount: bigint; key: string }>(
    'SELECT kind, amount, idempotency_key AS key FROM ledger WHERE account_id = $1 ORDER BY id',
    [account.accountId],
  );
  return found.map(({ kind, amount, key }) => [kind, Number(amount / 1_000_000n), key]);
}

async function order(orderId: string) {
  return (await owner.get('/payments')).items.find((one: { order_id: string }) => one.order_id === orderId);
}

async function acts(): Promise<readonly string[]> {
  const { items } = await admin.get(`/audit?account=${account.accountId}`);
  return items
    .map(({ act, who }: { act: string; who: string }) => `${act} ${who}`)
    .filter((act: string) => act.startsWith('payment.'));
}

// spec:money/8.1 spec:money/8.2
test('a payment is granted once, however often and from wherever it is reported', async () => {
  await newAccount();
  assert.deepEqual((await owner.get('/account')).payment_amounts_micro, ['10000000000', '50000000000']);
  const returned = await approved();
  const { orderId, payment_key } = returned;
  assert.deepEqual(await entries(), [], 'an approved payment is no money');
  await Promise.all([
    ...Array.from({ length: 5 }, () => complete(returned)),
    ...Array.from({ length: 5 }, () => report(toss.webhook(orderId))),
  ]);
  for (const last of [await complete(returned), await complete(returned)])
    assert.deepEqual([last.status, last.json.state], [200, 'paid'], last.text);
  assert.deepEqual(await entries(), [[1, 10_000, `payment:${payment_key}`]]);
  assert.deepEqual(await acts(), ['payment.paid payments']);
  assert.equal((await owner.get('/account')).balance_micro, '10000000000');
});

// spec:money/8.3
test('what a browser changed is refused, and nothing is collected', async () => {
  await newAccount();
  const refusedAmount = await owner.send('POST', '/payments', { body: { amount_micro: '10001000000' } });
  assert.equal(refusedAmount.status, 409);
  const returned = await approved();
  const stranger = await gateway.account();
  const other = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(stranger.accountId));
  const before = toss.requests.length;
  assert.equal((await complete({ ...returned, amount: '50000' })).status, 409);
  assert.equal((await complete({ ...returned, payment_key: 'another' })).status, 409);
  assert.equal((await complete(returned, other)).status, 404);
  await gateway.operator.closeAccount({ accountId: account.accountId, closed: true, reason: 'x' });
  assert.equal((await complete(returned)).status, 409);
  assert.equal(
    (await owner.send('POST', '/payments', { body: { amount_micro: '10000000000' } })).status,
    409,
  );
  assert.equal(toss.requests.length, before);
  assert.deepEqual(await entries(), []);
});

// spec:money/8.4
test('a webhook is a hint: what it says is not believed, and any body is answered', async () => {
  await newAccount();
  const { orderId } = await approved();
  const forged = {
    eventType: 'PAYMENT_STATUS_CHANGED',
    data: { ...toss.of(orderId), status: 'DONE', approvedAt: 'x' },
  };
  assert.equal((await report(forged)).status, 200);
  assert.deepEqual(await entries(), []);
  assert.equal((await report({ data: { orderId: 'pay_unknown' } })).status, 200);
  for (const body of [
    {},
    { data: null },
    { data: { orderId: { a: 1 } } },
    { orderId },
    { data: { orderId: '../x' } },
  ])
    assert.equal((await report(body)).status, 200);
  for (const body of ['', '{', '['.repeat(5_000)]) assert.equal((await report(body)).status, 400, body);
  const large = await report(' '.repeat(262_145));
  assert.deepEqual([large.status, (await large.text()).includes('at most 262144 bytes')], [413, true]);
  toss.collect(orderId);
  toss.of(orderId).currency = 'USD';
  assert.equal((await report(toss.webhook(orderId))).status, 200);
  assert.deepEqual(await entries(), [], 'another currency is no payment of the order');
  toss.of(orderId).currency = 'KRW';
  toss.fail('status 500');
  assert.equal((await report(toss.webhook(orderId))).status, 503, 'the provider reports it again');
  assert.equal((await report(toss.webhook(orderId))).status, 200);
  assert.equal((await entries()).length, 1);
});

// spec:money/8.5
test('what was collected is granted later when the outcome was not known', async () => {
  const payments = openPayments(gateway.config, gateway);
  assert.ok(payments !== null);
  for (const repair of ['webhook', 'job', 'redirect'] as const)
    for (const fault of ['lost response', 'no JSON'] as const) {
      await newAccount();
      const returned = await approved(50_000);
      toss.fail(fault);
      const away = await owner.send('POST', `/payments/${returned.orderId}/complete`, {
        body: { payment_key: returned.payment_key, amount: returned.amount },
      });
      assert.deepEqual([away.status, away.json.error.type], [503, 'provider_away']);
      assert.equal(toss.of(returned.orderId).status, 'DONE');
      assert.deepEqual(await entries(), []);
      if (repair === 'webhook') assert.equal((await report(toss.webhook(returned.orderId))).status, 200);
      if (repair === 'redirect') assert.equal((await complete(returned)).json.state, 'paid');
      if (repair === 'job') {
        gateway.clock.advance(120_000);
        await Promise.all([payments.settleDue(), payments.settleDue()]);
      }
      assert.equal((await entries()).length, 1, `${repair} ${fault}`);
    }
});

// spec:money/8.5
test('an order of which the provider states nothing documented keeps none of the others from its grant', async () => {
  const payments = openPayments(gateway.config, gateway);
  assert.ok(payments !== null);
  await newAccount();
  const orders = [await approved(), await approved()];
  for (const { orderId } of orders) toss.collect(orderId);
  const [{ orderId: first } = assert.fail()] = orders;
  Object.assign(toss.of(first), { status: null });
  gateway.clock.advance(120_000);
  await assert.rejects(payments.settleDue(), new RegExp(`cannot be settled: ${first}: away$`));
  assert.equal((await entries()).length, 1);
  toss.collect(first);
  gateway.clock.advance(120_000);
  await payments.settleDue();
  assert.equal((await entries()).length, 2);
});

// spec:money/8.5
test('an order that nobody paid fails, and a crash leaves none open', async () => {
  await newAccount();
  const payments = openPayments(gateway.config, gateway);
  assert.ok(payments !== null);
  toss.fail('lost');
  const lost = await owner.send('POST', '/payments', { body: { amount_micro: '10000000000' } });
  assert.equal(lost.status, 503);
  const left = await approved();
  const expired = await approved();
  Object.assign(toss.of(expired.orderId), {
    status: 'EXPIRED',
    failure: { code: 'EXPIRED_PAYMENT', message: 'x' },
  });
  const refused = await complete(expired);
  assert.deepEqual([refused.status, refused.json.error.type], [409, 'conflict']);
  assert.match(refused.json.error.message.en, /NOT_FOUND_PAYMENT_SESSION/);
  assert.equal((await order(expired.orderId)).failure, 'EXPIRED_PAYMENT');
  gateway.clock.advance(2 * 3_600_000);
  await payments.settleDue();
  assert.deepEqual(
    (await owner.get('/payments')).items.map(({ state }: { state: string }) => state),
    ['failed', 'failed', 'failed'],
  );
  // It was paid after all.
  toss.collect(left.orderId);
  await report(toss.webhook(left.orderId));
  assert.equal((await order(left.orderId)).state, 'paid');
  const sends = Array.from({ length: 25 }, () =>
    owner.send('POST', '/payments', { body: { amount_micro: '10000000000' } }),
  );
  const statuses = (await Promise.all(sends)).map(({ status }) => status);
  assert.equal(
    statuses.filter((status) => status === 200).length,
    20,
    'the number of open orders is bounded',
  );
});

// spec:money/8.6
test('a cancellation is deducted once, in part or in whole, below zero, and before its payment', async () => {
  await newAccount();
  const orderId = await paid(50_000);
  await gateway.operator.adjustCredit({
    accountId: account.accountId,
    amount: -45_000_000_000n as never,
    reason: 'spent',
    idempotencyKey: null,
  });
  toss.cancel(orderId, 20_000);
  const seen = toss.requests.length;
  toss.fail('late');
  const older = report(toss.webhook(orderId));
  await until('the older statement is made', () => toss.requests.length > seen);
  toss.cancel(orderId, 10_000);
  for (const body of [toss.webhook(orderId), toss.webhook(orderId)])
    assert.equal((await report(body)).status, 200);
  toss.release();
  assert.equal((await older).status, 200);
  assert.equal((await owner.get('/account')).balance_micro, '-25000000000');
  assert.equal((await order(orderId)).canceled_micro, '30000000000');
  toss.cancel(orderId);
  await Promise.all([report(toss.webhook(orderId)), report(toss.webhook(orderId))]);
  assert.equal((await order(orderId)).state, 'canceled');
  assert.deepEqual(
    (await entries()).map(([, amount]) => amount),
    [50_000, -45_000, -20_000, -10_000, -20_000],
  );
  const early = await approved();
  toss.collect(early.orderId);
  toss.cancel(early.orderId);
  assert.equal((await complete(early)).json.state, 'canceled');
  assert.deepEqual(
    (await entries()).slice(5).map(([, amount]) => amount),
    [10_000, -10_000],
  );
  // The provider reports nothing: a paid order is looked at once a day.
  const silent = await paid();
  toss.cancel(silent);
  gateway.clock.advance(25 * 3_600_000);
  await openPayments(gateway.config, gateway)?.settleDue();
  assert.equal((await order(silent)).state, 'canceled');
});

// spec:money/8.7
test('an administrator returns a payment, once for each key, and the log names who did', async () => {
  await newAccount();
  const orderId = await paid(50_000);
  const cancel = (body: object, key: string = randomUUID(), browser = admin) =>
    browser.send('POST', `/payments/${orderId}/cancel`, { body, key });
  assert.equal((await cancel({ reason: 'x' }, undefined, consoleAs('support'))).status, 403);
  const key = randomUUID();
  const part = { amount_micro: '20000000000', reason: '중복 결제' };
  toss.fail('lost response');
  assert.equal((await cancel(part, key)).status, 503);
  assert.equal((await cancel(part, key)).status, 200);
  assert.equal((await cancel(part, key)).json.canceled_micro, '20000000000');
  const tooMuch = await cancel({ amount_micro: '40000000000', reason: 'x' });
  assert.match(tooMuch.json.error.message.en, /NOT_CANCELABLE_AMOUNT/);
  const fraction = await cancel({ amount_micro: '500000', reason: 'x' });
  assert.equal(fraction.status, 400);
  assert.equal((await cancel({ reason: 'all' })).json.state, 'canceled');
  assert.deepEqual(
    (await entries()).map(([, amount]) => amount),
    [50_000, -20_000, -30_000],
  );
  const [listed] = (await admin.get(`/payments?account=${account.accountId}`)).items;
  assert.deepEqual([listed.order_id, listed.state], [orderId, 'canceled']);
  assert.ok((await acts()).includes('payment.canceled operator'));
  assert.ok((await acts()).includes('payment.cancel operator'));
});

// spec:money/8.6
test('a payment of an account that was closed meanwhile can be returned without a grant', async () => {
  await newAccount();
  const { orderId } = await approved();
  toss.collect(orderId);
  await gateway.operator.closeAccount({ accountId: account.accountId, closed: true, reason: 'x' });
  assert.equal((await report(toss.webhook(orderId))).status, 200);
  assert.deepEqual(await entries(), []);
  assert.ok(gateway.logged.some(({ event }) => event === 'payment_not_settled'));
  const canceled = await admin.send('POST', `/payments/${orderId}/cancel`, { body: { reason: 'closed' } });
  assert.deepEqual([canceled.status, canceled.json.state], [200, 'canceled'], canceled.text);
  assert.deepEqual(await entries(), []);
});

// spec:money/8.1
test('without the configuration there are no payments', async () => {
  const plain = await startTestGateway({ sessions });
  const { accountId } = await plain.account();
  const browser = new PageBrowser(plain.origin, 'dashboard', sessions.owner(accountId));
  assert.equal((await browser.send('GET', '/payments')).status, 404);
  assert.deepEqual((await browser.get('/account')).payment_amounts_micro, []);
  assert.equal(
    (await fetch(`${plain.origin}/webhooks/payments`, { method: 'POST', body: '{}' })).status,
    404,
  );
  await plain.close();
});
