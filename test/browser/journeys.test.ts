/**
 * What people do from the first start on, with the server as `npm start` runs it: its links, its demo
 * model, its console. The steps build on each other. The quick tier leaves two tabs to the end of a
 * session in `test/browser/sign-in.test.ts`.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { fullOnly } from '../harness/tier.ts';
import { eventually, until } from '../harness/until.ts';
import { buildTestPages, phone, startBrowser, type TestBrowser, type View } from './browser.ts';
import { type DemoSite, startDemoSite } from './demo-site.ts';

let site: DemoSite;
let browser: TestBrowser;
let owner: View;
let origin = '';

before(async () => {
  await buildTestPages();
  [site, browser] = await Promise.all([startDemoSite(), startBrowser()]);
  origin = await browser.reach('dashboard', site.server.origin);
});
after(async () => {
  await owner?.close();
  await browser?.close();
  await site?.close();
});

/** One call with the printed key, as an SDK makes it. */
async function call(key: string, model = 'naru/demo'): Promise<Response> {
  return await fetch(`${site.server.origin}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-title': 'Journey' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: '나루가 뭐야?' }] }),
  });
}

/** The charges in the account's ledger, as the operator exports them; a call's is there a moment after it. */
async function usageEntries(expected: number): Promise<readonly { readonly amount_krw: string }[]> {
  return await eventually(`${expected} charges are in the ledger`, 10_000, async () => {
    const { rows } = await site.installation.json('ledger', 'export', '--account', '1');
    const entries = rows.filter(({ kind }) => kind === 'usage');
    return entries.length < expected ? null : entries;
  });
}

/** A shortcut of two keys: `g`, then the letter of a page. */
async function go(page: Page, letter: string): Promise<void> {
  await page.keyboard.press('g');
  await page.keyboard.press(letter);
}

// pages:U1
test('the printed link opens the dashboard once, and the overview shows the credit', async () => {
  owner = await browser.open(origin);
  const { page, axe } = owner;
  assert.ok(site.links.dashboard.startsWith(site.server.origin));
  await page.goto(pathOf(site.links.dashboard));
  await page.getByRole('button', { name: '대시보드 열기' }).click();
  await page.getByRole('heading', { level: 1, name: '개요' }).waitFor();
  await page.getByText('10,000원').first().waitFor();
  assert.deepEqual(await axe(), []);
  const other = await browser.open(origin, phone);
  await other.page.goto(pathOf(site.links.dashboard));
  await other.page.getByText('The link was used or has expired.', { exact: false }).waitFor();
  assert.equal(new URL(other.page.url()).hash, '');
  assert.deepEqual(await other.axe(), []);
  await other.close();
});

// pages:U11,U3d
test('a message in the playground shows its cost, its request and its price, equal to the ledger', async () => {
  const { page } = owner;
  await page.getByRole('link', { name: '플레이그라운드 열기' }).click();
  const message = page.getByRole('textbox', { name: '메시지' });
  await message.fill('나루가 뭐야?');
  await message.press('Enter');
  const answer = page.getByRole('list', { name: '대화' }).locator(':scope > li').nth(1);
  await answer.getByText(/나루/).first().waitFor();
  await answer.getByRole('link', { name: '요청 기록 보기' }).click();
  const cost = page.locator('tfoot data');
  await cost.waitFor();
  const [entry, ...more] = await usageEntries(1);
  assert.deepEqual(more, []);
  assert.equal(BigInt((await cost.getAttribute('value')) ?? ''), -microOf(entry?.amount_krw ?? ''));
});

// pages:U3,U3d
test('a call is found among the requests, and its cost equals the ledger', async () => {
  const response = await call(site.key);
  assert.equal(response.status, 200);
  const { id, usage } = (await response.json()) as {
    readonly id: string;
    readonly usage: { readonly cost: number };
  };
  const { page } = owner;
  await go(page, 'r');
  await page.getByRole('searchbox', { name: '생성 ID 또는 요청 ID로 찾기' }).fill(id);
  await page.keyboard.press('Enter');
  await page.getByRole('row').nth(1).click();
  const cost = page.locator('tfoot data');
  await cost.waitFor();
  assert.equal(Number(await cost.getAttribute('value')) / 1e6, usage.cost);
  const entries = await usageEntries(2);
  assert.equal(entries.length, 2);
  assert.equal(Number(entries[1]?.amount_krw), -usage.cost);
});

// pages:U5,U5c
test('a key is made and used by keyboard alone', async () => {
  const { page } = owner;
  await go(page, 'k');
  await page.getByRole('heading', { level: 1, name: 'API 키' }).waitFor();
  await tabTo(page, '키 만들기');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await tabTo(page, '이름');
  await page.keyboard.type('keyboard');
  await page.keyboard.press('Enter');
  const created = page.getByRole('dialog', { name: /keyboard/ });
  await created.waitFor();
  const plaintext = (await created.locator('pre').first().textContent()) ?? '';
  await tabTo(page, '키를 저장했습니다');
  await page.keyboard.press('Space');
  await tabTo(page, '닫기');
  await page.keyboard.press('Enter');
  await created.waitFor({ state: 'detached' });
  assert.equal((await call(plaintext)).status, 200);
  assert.equal((await usageEntries(3)).length, 3);
});

// pages:U8
test('the CSV of the transactions, opened and added up, is the balance that the page shows', async () => {
  const { page } = owner;
  await go(page, 't');
  await page.getByRole('heading', { level: 1, name: '거래 내역' }).waitFor();
  await page.getByRole('button', { name: '내보내기' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: /CSV/ }).first().click(),
  ]);
  const [head = '', ...lines] = readFileSync(await download.path(), 'utf8')
    .trimEnd()
    .split('\r\n');
  const column = head.replace('\uFEFF', '').split(',').indexOf('금액 (KRW)');
  assert.ok(column >= 0, head);
  const sum = lines.reduce((total, line) => total + microOf(line.split(',')[column] ?? ''), 0n);
  await go(page, 'c');
  // The balance that was read before shows until it is read again.
  await page.reload();
  await page.getByRole('main').locator(`data[value="${sum}"]`).first().waitFor();
});

// pages:U7,A8
test('a top-up that an operator confirms releases a suspended account while its client waits', async () => {
  const adjusted = await site.installation.json(
    ...['credit', 'adjust', '--account', '1', '--amount', '-10100', '--reason', 'a test of the floor'],
    ...['--idempotency-key', 'journey'],
  );
  assert.equal(adjusted.code, 0, adjusted.err);
  await until('the account is suspended', async () => (await call(site.key)).status === 402);
  const { page } = owner;
  await go(page, 'c');
  await page.getByLabel('금액').first().fill('50,000');
  await page.getByRole('button', { name: '충전 요청' }).click();
  await page
    .getByRole('row', { name: /50,000/ })
    .getByText('확인 대기')
    .waitFor();
  const operator = await browser.open(await browser.reach('console', new URL(site.links.console).origin));
  await operator.page.goto(pathOf(site.links.console));
  await operator.page.getByRole('button', { name: '콘솔 열기' }).click();
  await operator.page.getByRole('navigation').getByRole('link', { name: '충전 요청' }).click();
  const request = operator.page.getByRole('row', { name: /50,000/ });
  await request.getByRole('button', { name: '입금 확인' }).click();
  // A client repeats its call as SDKs do, before and after the operator confirms.
  const released = until(
    'the account is released',
    async () => (await call(site.key)).status === 200,
    20_000,
  );
  await operator.page.getByRole('dialog').getByRole('button', { name: '입금 확인' }).click();
  await released;
  await page
    .getByRole('row', { name: /50,000/ })
    .getByText('완료')
    .waitFor();
  const { rows } = await site.installation.json('ledger', 'export', '--account', '1');
  assert.equal(rows.filter((row: { amount_krw: string }) => Number(row.amount_krw) === 50_000).length, 1);
  operator.assertClean();
  await operator.close();
});

// pages:U12
test('signing out in one tab ends the session of the other one, with a message', fullOnly, async () => {
  const { page, context } = owner;
  const second = await context.newPage();
  await second.goto('/dashboard/');
  await second.getByRole('heading', { level: 1, name: '개요' }).waitFor();
  await second.getByRole('button', { name: '내 계정' }).click();
  await second.getByRole('menuitem', { name: '로그아웃' }).click();
  await second.waitForURL(/\/dashboard\/sign-in/);
  await go(page, 'u');
  await page.getByRole('dialog', { name: '로그인이 만료되었습니다' }).waitFor();
  // The browser itself reports that the server refused the ended session.
  assert.deepEqual(
    owner.faults.filter((fault) => !fault.includes('status of 401')),
    [],
  );
});

/** A printed link without its origin. */
function pathOf(link: string): string {
  const { pathname, hash } = new URL(link);
  return pathname + hash;
}

/** Presses Tab until the element with this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 80; presses += 1) {
    const focused = await page.evaluate<string>(`(() => {
      const element = document.activeElement;
      const label = element?.labels?.[0]?.textContent ?? element?.getAttribute('aria-label') ?? element?.textContent ?? '';
      return label.trim();
    })()`);
    if (focused.startsWith(name)) return;
    await page.keyboard.press('Tab');
  }
  assert.fail(`Tab never came to ${name}`);
}

/** Micro-won of a decimal amount of won. */
function microOf(amount: string): bigint {
  const [, sign, whole, fraction = ''] =
    /^"?([+-]?)([\d]+)(?:\.(\d{1,6}))?"?$/.exec(amount) ?? assert.fail(amount);
  return BigInt(`${sign === '-' ? '-' : ''}${whole}${fraction.padEnd(6, '0')}`);
}
