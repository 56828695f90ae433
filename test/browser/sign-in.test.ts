import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { startBrowser, type TestBrowser, themes } from './browser.ts';

let gateway: TestGateway;
let browser: TestBrowser;
before(async () => {
  [gateway, browser] = await Promise.all([startTestGateway(), startBrowser()]);
});
after(async () => {
  await browser?.close();
  await gateway?.close();
});

test('a page leads to the sign-in and back, and signing out ends the session', async () => {
  const account = await gateway.account();
  const { key } = await account.another({ kind: 'management' });
  const { page, axe, close } = await browser.open(gateway.origin);
  await page.goto('/dashboard/usage?range=7d');
  await page.waitForURL(/\/dashboard\/sign-in\?next=/);
  await page.getByRole('button', { name: '관리 키로 로그인' }).click();
  await page.getByLabel('관리 키').fill('sk-or-v1-wrong');
  await page.getByRole('button', { name: '로그인', exact: true }).click();
  await page.getByText('로그인하지 못했습니다.', { exact: false }).waitFor();
  assert.deepEqual(await axe(), []);
  await page.getByLabel('관리 키').fill(key);
  await page.getByRole('button', { name: '로그인', exact: true }).click();
  await page.waitForURL(/\/dashboard\/usage\?range=7d$/);
  await page.getByRole('button', { name: '내 계정' }).click();
  await page.getByRole('menuitem', { name: '로그아웃' }).click();
  await page.waitForURL(/\/dashboard\/sign-in$/);
  await page.goto('/dashboard/');
  await page.waitForURL(/\/dashboard\/sign-in\?next=/);
  await close();
});

for (const theme of themes)
  test(`the sign-in and a used link are accessible, and say what to do: ${theme}`, async () => {
    const { page, axe, close } = await browser.open(gateway.origin, { theme, width: 390 });
    await page.goto('/dashboard/sign-in');
    await page.getByLabel('이메일').fill('nobody@naru.example');
    await page.getByLabel('비밀번호').fill('wrong password');
    await page.getByRole('button', { name: '로그인', exact: true }).click();
    await page.getByText('로그인하지 못했습니다.', { exact: false }).waitFor();
    assert.equal(await page.getByLabel('이메일').inputValue(), 'nobody@naru.example');
    assert.deepEqual(await axe(), []);
    await page.goto('/dashboard/link#unknown-token');
    await page.getByText('링크가 이미 사용되었거나 만료되었습니다.', { exact: false }).waitFor();
    assert.doesNotMatch(page.url(), /unknown-token/);
    assert.deepEqual(await axe(), []);
    await close();
  });
