/** An owner pays on the page of the provider and comes back; an operator returns a part. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { TestSessions } from '../harness/pages.ts';
import { paymentConfig, TossEmulator } from '../harness/toss.ts';
import { startBrowser, type TestBrowser } from './browser.ts';

const sessions = new TestSessions();
let toss: TossEmulator;
let gateway: TestGateway;
let account: TestAccount;
let browser: TestBrowser;

before(async () => {
  toss = await TossEmulator.start();
  [gateway, browser] = await Promise.all([
    startTestGateway({ sessions, config: paymentConfig(toss.url) }),
    startBrowser(),
  ]);
  account = await gateway.account({ credit: '1000' });
});
after(async () => {
  await browser?.close();
  await gateway?.close();
  await toss?.close();
});

// pages:U7,A8 spec:money/8.2 spec:money/8.7
test('a payment by card is made, shown and canceled in part', async () => {
  const origin = await browser.reach('dashboard', gateway.origin);
  const owner = await browser.open(origin);
  const session = sessions.owner(account.accountId);
  await owner.context.addCookies([{ name: 'naru_session', value: session, url: `${origin}/dashboard` }]);
  await owner.page.route(`${toss.url}/**`, async (route) => {
    const { orderId, payment_key, amount } = toss.approve(route.request().url());
    const returned = new URLSearchParams({ paymentType: 'NORMAL', orderId, paymentKey: payment_key, amount });
    await route.fulfill({ status: 302, headers: { location: `${origin}/dashboard/credits?${returned}` } });
  });
  await owner.page.goto('/dashboard/credits');
  await owner.page.getByRole('button', { name: '50,000원', exact: true }).click();
  await owner.page.getByText('50,000원을 충전했습니다.').waitFor();
  await owner.page.getByText('완료', { exact: true }).waitFor();
  assert.equal(new URL(owner.page.url()).search, '', 'a reload pays nothing again');
  assert.deepEqual(await owner.axe(), []);
  await owner.page.goto('/dashboard/credits?code=PAY_PROCESS_CANCELED&message=x');
  await owner.page.getByText('PAY_PROCESS_CANCELED').waitFor();
  assert.deepEqual(
    owner.faults.filter((fault) => !fault.startsWith(`foreign request: ${toss.url}/`)),
    [],
  );
  await owner.close();

  const console_ = await browser.reach('console', `http://127.0.0.1:${gateway.gateway.admin.port}`);
  const admin = await browser.open(console_);
  const operator = sessions.operator('admin');
  await admin.context.addCookies([{ name: 'naru_console', value: operator, url: `${console_}/console` }]);
  await admin.page.goto('/console/top-ups');
  await admin.page.getByRole('button', { name: '결제 취소' }).click();
  const dialog = admin.page.getByRole('dialog');
  await dialog.getByRole('textbox').first().fill('20,000');
  await dialog.getByRole('textbox').last().fill('중복 결제');
  await dialog.getByRole('button', { name: '결제 취소' }).click();
  await dialog.waitFor({ state: 'detached' });
  await admin.page.getByText('20,000원', { exact: true }).waitFor();
  admin.assertClean();
  await admin.close();
  const [row] = await gateway.database.query<{ balance: bigint }>(
    'SELECT balance FROM account_balance WHERE account_id = $1',
    [account.accountId],
  );
  assert.equal(row?.balance, 31_000_000_000n);
});
