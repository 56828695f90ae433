/**
 * The settings of an owner in a real browser, with real sessions and a virtual authenticator. The
 * quick tier leaves the forms of the profile, the password, two-factor authentication, personal data,
 * claimed accounts and alerts to `test/identity` and `test/pages`.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import type { BrowserContext } from 'playwright-core';
import { parseEmail } from '../../src/identity/email.ts';
import { totpCode, totpStepAt } from '../../src/identity/totp-code.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, type PageResponse } from '../harness/pages.ts';
import { fullOnly } from '../harness/tier.ts';
import { addAuthenticator } from './authenticator.ts';
import { phone, startBrowser, type TestBrowser, type View, type ViewOptions } from './browser.ts';

const cli = { kind: 'cli', name: 'tests' } as const;
const password = 'correct horse battery';
const minuteMs = 60_000;
let gateway: TestGateway;
let browser: TestBrowser;
let origin = '';

before(async () => {
  const config = { webhooks: { private_networks: ['127.0.0.0/8'] } };
  [gateway, browser] = await Promise.all([startTestGateway({ config }), startBrowser()]);
  origin = await browser.reach('dashboard', gateway.origin);
});
after(async () => {
  await browser?.close();
  await gateway?.close();
});

/** An owner of a new account, by an invitation; returns the session that it opened. */
async function newOwner(email: string): Promise<string> {
  const { accountId } = await gateway.account();
  const link = await gateway.operator.identity.links.invite(accountId, parseEmail(email), cli);
  if (typeof link === 'string') assert.fail(link);
  const body = { token: link.token, password, name: '홍길동' };
  return sessionOf(
    await new PageBrowser(origin, 'dashboard', null).send('POST', '/sign-in/link/redeem', { body }),
  );
}

/** The session that a response opened. */
function sessionOf({ status, text, headers }: PageResponse): string {
  assert.equal(status, 200, text);
  return /naru_session=([^;]+)/.exec(headers.get('set-cookie') ?? '')?.[1] ?? assert.fail('no session');
}

async function addSession(context: BrowserContext, value: string): Promise<void> {
  await context.addCookies([{ name: 'naru_session', value, url: `${origin}/dashboard` }]);
}

/** The settings of a new owner in a window with the session of the invitation. */
async function openSettingsOf(email: string, options: ViewOptions = {}): Promise<View> {
  const value = await newOwner(email);
  const view = await browser.open(origin, options);
  await addSession(view.context, value);
  await view.page.goto('/dashboard/settings');
  await view.page.getByRole('heading', { level: 1, name: '설정' }).waitFor();
  return view;
}

/** The settings in a window that has just signed in with a password. */
async function openSettings(email: string, options: ViewOptions = {}): Promise<View> {
  const view = await browser.open(origin, options);
  const isEnglish = options.language === 'en';
  await view.page.goto('/dashboard/sign-in?next=/dashboard/settings');
  await view.page.getByLabel(isEnglish ? 'E-mail' : '이메일').fill(email);
  await view.page.getByLabel(isEnglish ? 'Password' : '비밀번호', { exact: true }).fill(password);
  await view.page.getByRole('button', { name: isEnglish ? 'Sign in' : '로그인', exact: true }).click();
  await view.page.getByRole('heading', { level: 1, name: isEnglish ? 'Settings' : '설정' }).waitFor();
  return view;
}

/** Gives a window the session of an owner that signs in with a password. */
async function signInThere(context: BrowserContext, email: string): Promise<void> {
  const body = { email, password };
  const api = new PageBrowser(origin, 'dashboard', null);
  await addSession(context, sessionOf(await api.send('POST', '/sign-in/password', { body })));
}

/** A window without the noise of refusals that the test wants: the browser reports each response of 4xx. */
function unexpected({ faults }: View, ...expected: readonly string[]): readonly string[] {
  return faults.filter((fault) => !expected.some((part) => fault.includes(part)));
}

// pages:U12
test('the profile is saved; language and theme follow the owner to another browser', fullOnly, async () => {
  await newOwner('looks@naru.example');
  const { page, axe, assertClean, close } = await openSettings('looks@naru.example');
  const name = page.getByRole('textbox', { name: /^이름/ });
  assert.equal(await name.inputValue(), '홍길동');
  await name.fill('김나루');
  await page.getByRole('button', { name: '저장' }).first().click();
  await page.getByText('저장했습니다.').waitFor();
  assert.deepEqual(await axe(), []);
  await page.getByRole('button', { name: '어둡게' }).click();
  // The next one is the language of messages.
  await page.getByRole('button', { name: 'English' }).first().click();
  await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
  await page.waitForLoadState('networkidle');
  assertClean();
  await close();
  const other = await browser.open(origin);
  await other.page.goto('/dashboard/sign-in?next=/dashboard/settings');
  await other.page.getByLabel('이메일').fill('looks@naru.example');
  await other.page.getByLabel('비밀번호', { exact: true }).fill(password);
  await other.page.getByRole('button', { name: '로그인', exact: true }).click();
  await other.page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
  await other.page.locator('html[data-theme=dark]').waitFor();
  assert.equal(await other.page.getByRole('textbox', { name: /^Name(?! of)/ }).inputValue(), '김나루');
  assert.deepEqual(await other.axe(), []);
  other.assertClean();
  await other.close();
});

// pages:U12
test(
  'a password is changed with the old one when the sign-in is old, and nothing typed is lost',
  fullOnly,
  async () => {
    const view = await openSettingsOf('password@naru.example');
    const { page } = view;
    const field = page.getByLabel('새 비밀번호');
    await field.fill('short');
    await page.getByRole('button', { name: '비밀번호 변경' }).click();
    await page.getByText(/10자 이상 256자 이하/).waitFor();
    gateway.clock.advance(20 * minuteMs);
    await field.fill('another horse battery');
    await page.getByRole('button', { name: '비밀번호 변경' }).click();
    const dialog = page.getByRole('dialog', { name: '본인 확인' });
    await dialog.getByLabel('현재 비밀번호').fill('wrong');
    await dialog.getByRole('button', { name: '계속' }).click();
    await dialog.getByText('비밀번호가 올바르지 않습니다.').waitFor();
    assert.deepEqual(await view.axe(), []);
    await dialog.getByLabel('현재 비밀번호').fill(password);
    await dialog.getByRole('button', { name: '계속' }).click();
    await page.getByText('비밀번호를 변경했습니다.').waitFor();
    assert.equal(await field.inputValue(), '');
    const signIn = (secret: string) =>
      new PageBrowser(origin, 'dashboard', null).send('POST', '/sign-in/password', {
        body: { email: 'password@naru.example', password: secret },
      });
    assert.deepEqual(
      [(await signIn(password)).status, (await signIn('another horse battery')).status],
      [401, 200],
    );
    assert.deepEqual(unexpected(view, '/api/password'), []);
    await view.close();
  },
);

// pages:U12
test('a passkey is added through the browser, signs in, and is removed', async () => {
  const { page, context, axe, assertClean, close } = await openSettingsOf('passkey@naru.example');
  const authenticator = await addAuthenticator(context, page);
  await page.bringToFront();
  await page.getByLabel('패스키 이름').fill('<b>내 노트북</b>');
  await page.getByRole('button', { name: '패스키 추가' }).click();
  const remove = page.getByRole('button', { name: '<b>내 노트북</b> 삭제' });
  await remove.waitFor();
  assert.deepEqual(await axe(), []);
  await page.getByRole('button', { name: '내 계정' }).click();
  await page.getByRole('menuitem', { name: '로그아웃' }).click();
  await page.waitForURL(/\/dashboard\/sign-in/);
  await page.goto('/dashboard/sign-in?next=/dashboard/settings');
  // A browser makes and uses passkeys only in the window that has the focus.
  await page.bringToFront();
  await page.getByRole('button', { name: '패스키로 로그인' }).click();
  await page.getByRole('heading', { level: 1, name: '설정' }).waitFor();
  await remove.click();
  await page.getByRole('dialog').getByRole('button', { name: '삭제' }).click();
  await page.getByText('등록한 패스키가 없습니다.').waitFor();
  // A browser makes no passkey for an IP address, and none is offered there.
  const byAddress = await browser.open(origin.replace('localhost', '127.0.0.1'));
  await byAddress.page.goto('/dashboard/sign-in');
  await byAddress.page.getByRole('button', { name: '관리 키로 로그인' }).waitFor();
  assert.equal(await byAddress.page.getByRole('button', { name: '패스키로 로그인' }).count(), 0);
  await byAddress.close();
  assertClean();
  await authenticator.detach();
  await close();
});

// pages:U12
test('two-factor authentication is turned on with a QR code, and off', fullOnly, async () => {
  const view = await openSettingsOf('totp@naru.example', { width: 390 });
  const { page, axe } = view;
  await page.getByRole('button', { name: '2단계 인증 켜기' }).click();
  const dialog = page.getByRole('dialog', { name: '인증 앱 연결' });
  await dialog.getByRole('img', { name: '인증 앱에 등록할 QR 코드' }).waitFor();
  const secret = (await dialog.locator('pre').textContent()) ?? '';
  const submit = dialog.getByRole('button', { name: '켜기' });
  await dialog.getByLabel('인증 코드').fill('000000');
  await submit.click();
  await dialog.getByText('인증 코드가 올바르지 않습니다.').waitFor();
  assert.deepEqual(await axe(), []);
  await dialog.getByLabel('인증 코드').fill(codeOf(secret));
  await submit.click();
  const codes = page.getByRole('dialog', { name: '복구 코드' });
  assert.equal(((await codes.locator('pre').textContent()) ?? '').split('\n').length, 10);
  await codes.getByLabel('복구 코드를 저장했습니다').check();
  await codes.getByRole('button', { name: '닫기' }).click();
  await page.getByText('남은 복구 코드 10개').waitFor();
  await page.getByRole('button', { name: '2단계 인증 끄기' }).click();
  await page.getByRole('dialog').getByRole('button', { name: '2단계 인증 끄기' }).click();
  await page.getByRole('button', { name: '2단계 인증 켜기' }).waitFor();
  assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
  assert.deepEqual(unexpected(view, '/api/totp/enable'), []);
  await view.close();
});

function codeOf(secret: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = [...secret].map((char) => alphabet.indexOf(char).toString(2).padStart(5, '0')).join('');
  const octets = (bits.match(/.{8}/g) ?? []).map((octet) => Number.parseInt(octet, 2));
  return totpCode(Buffer.from(octets), totpStepAt(gateway.clock.now()));
}

// pages:U12
test('a session that another browser ends shows it, and the others end together', async () => {
  await newOwner('devices@naru.example');
  const there = await browser.open(origin, phone);
  await signInThere(there.context, 'devices@naru.example');
  await there.page.goto('/dashboard/settings');
  await there.page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
  const here = await openSettings('devices@naru.example');
  const table = here.page.getByRole('table');
  await table.getByText('이 기기').waitFor();
  await table
    .getByRole('button', { name: /로그아웃$/ })
    .first()
    .click();
  await there.page.getByRole('button', { name: 'Open the menu' }).click();
  await there.page.getByRole('link', { name: 'Usage' }).click();
  await there.page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
  assert.deepEqual(await there.axe(), []);
  // The session that the invitation opened.
  await here.page.getByRole('button', { name: '다른 기기 모두 로그아웃' }).click();
  await here.page.getByText('다른 기기 1대에서 로그아웃했습니다.').waitFor();
  await here.page.getByRole('button', { name: '다른 기기 모두 로그아웃' }).waitFor({ state: 'detached' });
  here.assertClean();
  await here.close();
  await there.close();
});

// pages:U12
test('personal data is downloaded, and deleted with the way to sign in', fullOnly, async () => {
  const { page, assertClean, close } = await openSettingsOf('leaves@naru.example');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: '개인정보 내려받기' }).click(),
  ]);
  const data = JSON.parse(readFileSync(await download.path(), 'utf8'));
  assert.equal(data.owner.email, 'leaves@naru.example');
  assert.equal(JSON.stringify(data).includes('argon2'), false);
  await page.getByRole('button', { name: '개인정보 삭제' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox').fill('leaves@naru.example');
  await dialog.getByRole('button', { name: '개인정보 삭제' }).click();
  await page.waitForURL(/\/dashboard\/sign-in/);
  const again = await new PageBrowser(origin, 'dashboard', null).send('POST', '/sign-in/password', {
    body: { email: 'leaves@naru.example', password },
  });
  assert.equal(again.status, 401);
  assertClean();
  await close();
});

// pages:U12
test('a person who used a link of the account becomes its owner', fullOnly, async () => {
  const { accountId } = await gateway.account();
  const link = await gateway.operator.identity.links.openAccount(accountId, cli);
  const { page, axe, assertClean, close } = await browser.open(origin);
  await page.goto(`/dashboard/link#${link.token}`);
  await page.getByRole('button', { name: '대시보드 열기' }).click();
  // The page that follows the link replaces the menu.
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.getByRole('button', { name: '내 계정' }).click();
  await page.getByRole('menuitem', { name: '설정' }).click();
  await page.getByLabel('이메일').fill('claimed@naru.example');
  await page.getByLabel('새 비밀번호').fill(password);
  assert.deepEqual(await axe(), []);
  await page.getByRole('button', { name: '저장하고 계속' }).click();
  await page.getByRole('heading', { level: 2, name: '패스키' }).waitFor();
  await page.getByRole('main').getByText('claimed@naru.example').waitFor();
  assertClean();
  await close();
});

// pages:U7,U12
test(
  'an alert that is chosen warns on the overview; lots and balance add up to the credits',
  fullOnly,
  async () => {
    const { page, axe, assertClean, close } = await openSettingsOf('alerts@naru.example');
    const below = page.getByLabel(/^남은 금액/);
    assert.equal(await below.inputValue(), '1000');
    await below.fill('많이');
    const save = page.locator('form').filter({ has: below }).getByRole('button', { name: '저장' });
    await save.click();
    await page.getByText(/0보다 큰 금액/).waitFor();
    await below.fill('20,000');
    await save.click();
    await page.getByText('알림 기준을 저장했습니다.').waitFor();
    await page.getByRole('link', { name: '개요' }).click();
    await page.getByText('잔액이 10,000원 남았습니다.', { exact: false }).waitFor();
    await page.getByRole('link', { name: '크레딧', exact: true }).click();
    await page.getByRole('cell', { name: '충전', exact: true }).waitFor();
    await page.locator('path.mark').waitFor({ state: 'attached' });
    assert.deepEqual(await axe(), []);
    await page.getByRole('button', { name: '표로 보기' }).click();
    await page.getByRole('cell', { name: /10,000원 지급/ }).waitFor();
    const amounts = await page.getByRole('main').locator('dd data').all();
    const shown = await Promise.all(amounts.map((one) => one.getAttribute('value')));
    // Balance, credits, used, floor; paid, bonus and their sum.
    assert.deepEqual(
      [shown[0], shown[4], shown[5], shown[6]],
      ['10000000000', '10000000000', '0', '10000000000'],
    );
    assertClean();
    await close();
  },
);

// pages:U12 spec:operator/5.4
test('an owner chooses messages, sets a webhook whose secret is shown once, and sees how a test ended', async () => {
  const received: string[] = [];
  const receiver = createServer((request, response) => {
    received.push(String(request.headers['webhook-id']));
    response.writeHead(500).end();
  });
  await new Promise<void>((resolve) => void receiver.listen(0, '127.0.0.1', () => resolve()));
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  const view = await openSettingsOf('messages@naru.example', { width: 390 });
  const { page, axe } = view;
  const form = page.locator('form').filter({ has: page.getByLabel('주소', { exact: true }) });
  await form.getByLabel('주소', { exact: true }).fill('https://10.0.0.1/');
  await form.getByRole('button', { name: '저장' }).click();
  await form.getByText('웹훅 주소는 https://로 시작하는 공개 주소여야').waitFor();
  await form.getByLabel('주소', { exact: true }).fill(url);
  await form.getByLabel('충전 완료').uncheck();
  await form.getByRole('button', { name: '저장' }).click();
  const dialog = page.getByRole('dialog', { name: '웹훅 서명 키' });
  assert.match((await dialog.locator('pre').textContent()) ?? '', /^whsec_/);
  assert.deepEqual(await axe(), []);
  await dialog.getByRole('button', { name: '닫기' }).click();
  await form.getByRole('button', { name: '테스트 보내기' }).click();
  await page.getByText('HTTP 500').waitFor();
  assert.equal(received.length, 1, 'a test is sent once');
  await page.reload();
  await form.getByLabel('충전 요청 거절').waitFor();
  assert.equal(await form.getByLabel('충전 완료').isChecked(), false);
  assert.deepEqual(await axe(), []);
  assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
  await form.getByRole('button', { name: '삭제' }).click();
  await form.getByRole('button', { name: '삭제' }).waitFor({ state: 'detached' });
  assert.deepEqual(unexpected(view, '/api/messages/webhook'), []);
  await view.close();
  receiver.close();
});
