/**
 * The sign-in. The quick tier leaves a wrong password to `test/identity/sign-in.test.ts`, its message
 * to the wrong key here, and a used link to `test/browser/journeys.test.ts`.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { fullOnly } from '../harness/tier.ts';
import { startBrowser, type TestBrowser, themes } from './browser.ts';

let gateway: TestGateway;
let browser: TestBrowser;
let origin = '';
before(async () => {
  [gateway, browser] = await Promise.all([startTestGateway(), startBrowser()]);
  origin = await browser.reach('dashboard', gateway.origin);
});
after(async () => {
  await browser?.close();
  await gateway?.close();
});

test('a page leads to the sign-in and back; the end of a session keeps the page; signing out ends it', async () => {
  const account = await gateway.account();
  const { key } = await account.another({ kind: 'management' });
  const { page, context, axe, close } = await browser.open(origin);
  await page.goto('/dashboard/usage?range=7d');
  await page.waitForURL(/\/dashboard\/sign-in\?next=/);
  const signIn = async (on: typeof page, typed: string): Promise<void> => {
    await on.getByLabel('관리 키').fill(typed);
    await on.getByRole('button', { name: '로그인', exact: true }).click();
  };
  await page.getByRole('button', { name: '관리 키로 로그인' }).click();
  await signIn(page, 'sk-or-v1-wrong');
  await page.getByText('로그인하지 못했습니다.', { exact: false }).waitFor();
  assert.deepEqual(await axe(), []);
  await signIn(page, key);
  await page.waitForURL(/\/dashboard\/usage\?range=7d$/);
  // The page has read its session: the address changes before.
  await page.getByRole('heading', { name: '사용량', level: 1 }).waitFor();
  // As the server refuses a session that has ended.
  await context.clearCookies();
  // The person comes back to the window after a while: everything is read again, the session too.
  await page.evaluate(
    "{ const now = Date.now.bind(Date); Date.now = () => now() + 120_000; window.dispatchEvent(new Event('visibilitychange')); }",
  );
  const dialog = page.getByRole('dialog', { name: '로그인이 만료되었습니다' });
  await dialog.waitFor();
  assert.deepEqual(await axe(), []);
  await page.keyboard.press('Escape');
  assert.equal(await dialog.isVisible(), true);
  const [beside] = await Promise.all([
    context.waitForEvent('page'),
    dialog.getByRole('link', { name: '새 창에서 로그인' }).click(),
  ]);
  await beside.getByRole('button', { name: '관리 키로 로그인' }).click();
  await signIn(beside, key);
  await beside.getByRole('heading', { name: '로그인했습니다' }).waitFor();
  await dialog.getByRole('button', { name: '계속' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.equal(new URL(page.url()).pathname, '/dashboard/usage');
  await page.getByRole('button', { name: '내 계정' }).click();
  await page.getByRole('menuitem', { name: '로그아웃' }).click();
  await page.waitForURL(/\/dashboard\/sign-in$/);
  await page.goto('/dashboard/');
  await page.waitForURL(/\/dashboard\/sign-in\?next=/);
  await close();
});

for (const theme of themes)
  test(`the sign-in and a used link are accessible, and state what to do: ${theme}`, fullOnly, async () => {
    const { page, axe, close } = await browser.open(origin, { theme, width: 390 });
    await page.goto('/dashboard/sign-in');
    await page.getByLabel('이메일').fill('nobody@naru.example');
    await page.getByLabel('비밀번호').fill('wrong password');
    await page.getByRole('button', { name: '로그인', exact: true }).click();
    await page.getByText('로그인하지 못했습니다.', { exact: false }).waitFor();
    assert.equal(await page.getByLabel('이메일').inputValue(), 'nobody@naru.example');
    assert.deepEqual(await axe(), []);
    await page.goto('/dashboard/link#unknown-token');
    await page.getByText('이미 사용했거나 만료된 링크입니다.', { exact: false }).waitFor();
    assert.doesNotMatch(page.url(), /unknown-token/);
    assert.deepEqual(await axe(), []);
    await close();
  });
