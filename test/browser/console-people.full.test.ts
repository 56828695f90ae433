/** A customer's way from its account to its statement, as an administrator and the owner see it. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';
import { startBrowser, type TestBrowser, type View } from './browser.ts';

const cli = { kind: 'cli', name: 'tests' } as const;
const password = 'correct horse battery';
let upstream: Upstream;
let gateway: TestGateway;
let browser: TestBrowser;
let dashboard = '';
let admin: View;
let owner: View;
let accountId = 0;

before(async () => {
  [upstream, browser] = await Promise.all([startUpstream(), startBrowser()]);
  dashboard = await browser.reach('dashboard', 'http://127.0.0.1:1');
  gateway = await startTestGateway({
    models: [{ id: 'test/model', upstreams: [upstream.url] }],
    config: {
      auth: { public_url: dashboard },
      company: {
        name: '주식회사 나루',
        business_number: '124-81-00998',
        address: '서울특별시 중구 세종대로 110',
      },
      topup: {
        instructions: {
          ko: {
            bank: '나루은행',
            account: '110-123-456789',
            holder: '주식회사 나루',
            note: '평일에 확인합니다',
          },
          en: { bank: 'Naru Bank', account: '110-123-456789', holder: 'Naru Inc.' },
        },
        deadline_days: 3,
        amounts: [50_000, 100_000],
      },
    },
  });
  await browser.reach('dashboard', gateway.origin);
  const console_ = await browser.reach('console', `http://127.0.0.1:${gateway.gateway.admin.port}`);
  const { identity } = gateway.operator;
  const operator = await identity.operators.add({ name: '김 운영', role: 'admin' }, cli);
  if (typeof operator === 'string') assert.fail(operator);
  const { token } = await identity.links.openConsole(operator, cli);
  admin = await browser.open(console_);
  owner = await browser.open(dashboard);
  await admin.page.goto(`/console/link#${token}`);
  await admin.page.getByRole('button', { name: '콘솔 열기' }).click();
  await admin.page.waitForURL(/\/console\/$/);
});
after(async () => {
  await admin?.close();
  await owner?.close();
  await browser?.close();
  await gateway?.close();
  await upstream?.close();
});

/** The whole address that the dialog shows once; then it is closed. */
async function shownLink(): Promise<string> {
  const dialog = admin.page.getByRole('dialog');
  const link = dialog.getByRole('region', { name: '링크' });
  await link.waitFor();
  await dialog.getByRole('button', { name: '복사', exact: true }).waitFor();
  await dialog.getByText('만료:', { exact: false }).waitFor();
  const url = (await link.textContent()) ?? '';
  assert.ok(url.startsWith(`${dashboard}/dashboard/link#`), url);
  assert.deepEqual(await admin.axe(), []);
  await dialog.getByRole('button', { name: '닫기', exact: true }).last().click();
  await dialog.waitFor({ state: 'detached' });
  return url;
}

async function setPassword(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.getByLabel('새 비밀번호').fill(password);
  await page.getByRole('button', { name: '저장하고 로그인' }).click();
  await page.getByRole('heading', { level: 1, name: '개요' }).waitFor();
}

// pages:A2 spec:operator/4.5
test('an administrator creates an account, and the link of the dialog makes its owner', async () => {
  const { page } = admin;
  await page.goto('/console/accounts');
  await page.getByRole('button', { name: '계정 만들기' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: '계정 만들기' }).click();
  await dialog.getByText('이름을 입력해 주세요.').waitFor();
  await dialog.getByLabel('이름').fill('하늘 주식회사');
  await dialog.getByLabel('이메일').fill('haneul@example.com');
  assert.deepEqual(await admin.axe(), []);
  await dialog.getByRole('button', { name: '계정 만들기' }).click();
  await dialog.getByRole('link', { name: '계정 보기' }).waitFor();
  const url = await shownLink();
  await page.getByRole('link', { name: /하늘 주식회사/ }).click();
  await page.waitForURL(/\/accounts\/\d+/);
  accountId = Number(/\/accounts\/(\d+)/.exec(page.url())?.[1]);
  await setPassword(owner.page, url);
});

// pages:U7,A8 spec:operator/4.7
test('an owner learns where to pay; the request is a badge of the console until it is confirmed', async () => {
  const { page } = owner;
  await page.goto('/dashboard/credits');
  await page.getByRole('region', { name: '입금 안내' }).getByText('110-123-456789').waitFor();
  await page.getByRole('button', { name: '50,000원', exact: true }).click();
  await page.getByLabel('입금자명').fill('하늘');
  await page.getByRole('button', { name: '충전 요청', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: '50,000원 충전 요청' });
  await dialog.getByText('나루은행').waitFor();
  await dialog.getByText(/^\d{4}-\d\d-\d\d$/).waitFor();
  assert.deepEqual(await owner.axe(), []);
  await dialog.getByRole('button', { name: '닫기' }).click();
  await admin.page.goto('/console/top-ups');
  const entry = admin.page.getByRole('navigation').getByRole('link', { name: /충전 요청/ });
  await entry.getByText('1건 대기').waitFor();
  assert.deepEqual(await admin.axe(), []);
  await admin.page.getByRole('button', { name: '입금 확인' }).click();
  const confirming = admin.page.getByRole('dialog');
  await confirming.getByRole('button', { name: '입금 확인' }).click();
  await confirming.waitFor({ state: 'detached' });
  await entry.getByText('1건 대기').waitFor({ state: 'detached' });
  await page.getByRole('row', { name: /완료/ }).getByRole('button', { name: '상세 보기' }).click();
  await dialog.getByText('처리 시각').waitFor();
  await dialog.getByText('나루은행').waitFor();
  await dialog.getByRole('button', { name: '닫기' }).click();
});

// pages:U8,A11 spec:money/3.12
test('the statement of a month prints on A4 without the page around it, for owner and operator alike', async () => {
  await gateway.operator.setBusinessNumber(accountId, '1248100998');
  await owner.page.getByRole('link', { name: '월별 거래 명세서' }).click();
  await admin.page.goto('/console/month-end');
  await admin.page.getByRole('link', { name: /하늘 주식회사 계정의 .* 명세서/ }).click();
  for (const { page, axe } of [owner, admin]) {
    await page.getByRole('heading', { level: 1, name: '거래 명세서' }).waitFor();
    const sheet = page.getByRole('article');
    for (const text of ['주식회사 나루', '하늘 주식회사', '공급가액', '월초 잔액'])
      await sheet.getByText(text, { exact: true }).first().waitFor();
    assert.equal(await sheet.getByText('사업자등록번호 124-81-00998').count(), 2);
    await sheet.getByRole('row', { name: /충전.*50,000원.*50,000원/ }).waitFor();
    assert.deepEqual(await axe(), []);
    // The width of A4 without its margins, in CSS pixels.
    await page.setViewportSize({ width: 673, height: 1000 });
    await page.emulateMedia({ media: 'print' });
    for (const gone of [
      page.getByRole('navigation').first(),
      page.getByRole('button', { name: '인쇄' }),
      page.getByRole('combobox'),
      page.getByRole('banner').first(),
    ])
      assert.equal(await gone.isVisible(), false);
    await sheet.getByRole('columnheader', { name: '요청' }).waitFor();
    assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'));
    await page.emulateMedia({ media: null });
    await page.setViewportSize({ width: 1440, height: 900 });
  }
});

// pages:A2 spec:operator/4.6
test('an administrator ends the session of an owner, gives the account to another person and closes it', async () => {
  const { page } = admin;
  await page.goto(`/console/accounts/${accountId}?tab=owners`);
  const dialog = page.getByRole('dialog');
  await page.getByRole('region', { name: '로그인 세션' }).getByText('Chrome, Linux').waitFor();
  assert.deepEqual(await admin.axe(), []);
  await page.getByRole('button', { name: '로그아웃', exact: true }).click();
  await dialog.getByRole('button', { name: '로그아웃' }).click();
  await page.getByText('로그인한 기기가 없습니다').waitFor();
  await owner.page.goto('/dashboard/credits');
  await owner.page.waitForURL(/\/dashboard\/sign-in/);
  await page.getByRole('button', { name: '소유자 교체' }).click();
  await dialog.getByLabel('새 소유자의 이메일').fill('sora@example.com');
  await dialog.getByLabel('사유').fill('담당자 변경');
  await dialog.getByRole('button', { name: '소유자 교체' }).click();
  await setPassword(owner.page, await shownLink());
  await page.getByRole('button', { name: '해지' }).click();
  await dialog.getByLabel('사유').fill('고객 요청');
  await dialog.getByRole('button', { name: '해지' }).click();
  await page.getByText(/해지된 계정입니다/).waitFor();
  await page.goto('/console/operators');
  await page.getByRole('row', { name: /김 운영.*이 기기/ }).waitFor();
  assert.deepEqual(await admin.axe(), []);
  const acts = await gateway.operator.identity.readActs({ limit: 20 });
  const found = new Set(acts.filter(({ who }) => who === '김 운영').map(({ act }) => act));
  for (const act of [
    'account.create',
    'session.revoke',
    'account.replace_owner',
    'account.close',
    'topup.confirm',
  ])
    assert.ok(found.has(act), act);
});
