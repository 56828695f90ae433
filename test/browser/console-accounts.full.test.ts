/**
 * The console of an operator: accounts, their money and keys, and the record of every act. The quick
 * tier leaves confirmed top-ups to `test/browser/journeys.test.ts`, rejected ones to
 * `test/pages/topups.test.ts`, what a viewer sees to a slot in `test/browser/console-live.full.test.ts`,
 * and grants, refunds, suspended accounts, announcements and the audit log to
 * `test/pages/console-accounts.test.ts`.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { Role } from '../../src/pages/page-session.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { byTier, fullOnly } from '../harness/tier.ts';
import { eventually } from '../harness/until.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';
import { follow, startBrowser, type TestBrowser, type View, type ViewOptions } from './browser.ts';
import { checkPages, type PageCase } from './every-page.ts';

const sessions = new TestSessions();
let upstream: Upstream;
let gateway: TestGateway;
let account: TestAccount;
let browser: TestBrowser;
let origin = '';
let requestId = '';

const call = (key: string) =>
  gateway.send('POST', '/chat/completions', {
    key,
    body: { model: 'test/model', messages: [{ role: 'user', content: 'hello' }] },
  });

before(async () => {
  upstream = await startUpstream();
  [gateway, browser] = await Promise.all([
    startTestGateway({ sessions, models: [{ id: 'test/model', upstreams: [upstream.url] }] }),
    startBrowser(),
  ]);
  origin = await browser.reach('console', `http://127.0.0.1:${gateway.gateway.admin.port}`);
  account = await gateway.account();
  const response = await call(account.key);
  assert.equal(response.status, 200);
  requestId = response.json.id;
  await gateway.settled();
});
after(async () => {
  await browser?.close();
  await gateway?.close();
  await upstream?.close();
});

/** A window of an operator at a page of the console. */
async function openPage(path: string, role: Role = 'admin', options: ViewOptions = {}): Promise<View> {
  const view = await browser.open(origin, options);
  const value = sessions.operator(role);
  await view.context.addCookies([{ name: 'naru_console', value, url: `${origin}/console` }]);
  await view.page.goto(`/console${path}`);
  return view;
}

/** The owner of an account asks for a top-up; returns the id of the request. */
async function requestTopup({ accountId }: TestAccount, won: number, depositor: string): Promise<number> {
  const owner = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(accountId));
  const body = { amount_micro: `${won}000000`, depositor };
  const response = await owner.send('POST', '/topups', { body });
  assert.equal(response.status, 200, response.text);
  return response.json.id;
}

/** Grants credit from the window of an operator as a page would; returns the status. */
function grantFrom(page: Page, accountId: number): Promise<number> {
  return page.evaluate(`fetch('/console/api/accounts/${accountId}/grants', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() },
    body: JSON.stringify({ amount_micro: '1000000', kind: 'bonus', reason: 'x' }),
  }).then(({ status }) => status)`);
}

const pages: readonly PageCase[] = [
  ['/usage', '사용량', 'Usage', /test\/model/],
  ['/top-ups', '충전 요청', 'Top-up requests', /Park/],
  ['/accounts', '계정', 'Accounts', /test/],
  ['/accounts/1', 'test', 'test', /test\/model/],
  ['/accounts/1/requests/REQUEST', 'test/model', 'test/model', /up1\/upstream-model/],
  ['/accounts/1/statement', '거래 명세서', 'Statement', /10,000/],
  ['/keys', '키', 'Keys', /test key/],
  ['/audit', '감사 기록', 'Audit log', /금액|Amount/],
  ['/liability', '부채', 'Liability', /3,000,000,000/],
  ['/announcements', '공지', 'Announcements', /점검|announcement/i],
  ['/operators', '운영자', 'Operators', /운영자가 없습니다|No operators/],
];

// pages:A2,A3,A8,A9,A12
test('every page shows real data, in both languages and themes, and axe finds nothing', async () => {
  await requestTopup(account, 1_000, 'Park');
  const shown = pages.map(([path, ...rest]) => [path.replace('REQUEST', requestId), ...rest] as const);
  const data = ['test key', 'test', 'Park', 'Upstream', 'stop', 'node', 'cli'];
  await checkPages('console', shown, (path, options) => openPage(path, 'viewer', options), undefined, data);
});

// pages:A8
test('a rejection needs a reason, which the owner sees; a viewer cannot decide', fullOnly, async () => {
  const id = await requestTopup(account, 3_000, 'Jung');
  const viewer = await openPage('/top-ups', 'viewer');
  const refused = viewer.page.getByRole('row', { name: /Jung/ }).getByRole('button', { name: '거절' });
  assert.equal(await refused.getAttribute('aria-disabled'), 'true');
  await viewer.close();
  const { page, assertClean, close } = await openPage('/top-ups', 'support');
  const row = page.getByRole('row', { name: /Jung/ });
  await row.getByRole('button', { name: '거절' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: '거절' }).click();
  await dialog.getByText('사유를 입력해 주세요.').waitFor();
  await dialog.getByLabel('사유').fill('입금이 없습니다');
  await dialog.getByRole('button', { name: '거절' }).click();
  await dialog.waitFor({ state: 'detached' });
  await row.waitFor({ state: 'detached' });
  const owner = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(account.accountId));
  const { items } = await owner.get('/topups?state=rejected');
  assert.deepEqual(
    items.map((one: { id: number; reason: string }) => [one.id, one.reason]),
    [[id, '입금이 없습니다']],
  );
  assertClean();
  await close();
});

// pages:A2
test(
  'credit is granted once by two clicks, with the balance before and after, and deducted with a reason',
  fullOnly,
  async () => {
    const one = await gateway.account();
    const { page, axe, assertClean, close } = await openPage(`/accounts?search=${one.accountId}`);
    await page.getByRole('link', { name: new RegExp(`#${one.accountId}$`) }).click();
    await page.getByRole('button', { name: '크레딧 지급' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: '크레딧 지급' }).click();
    await dialog.getByText('사유를 입력해 주세요.').waitFor();
    await dialog.getByLabel('금액').fill('2,500');
    await dialog.getByLabel('사유').fill('장애 보상');
    await dialog.getByText('12,500원').waitFor();
    assert.deepEqual(await axe(), []);
    await dialog.getByRole('button', { name: '크레딧 지급' }).dblclick();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('main').getByText('12,500원').first().waitFor();
    await page.getByRole('button', { name: '조정' }).click();
    await dialog.getByRole('button', { name: '차감' }).click();
    await dialog.getByLabel('금액').fill('500.5');
    await dialog.getByLabel('사유').fill('중복 지급');
    await dialog.getByText('11,999.5원').waitFor();
    await dialog.getByRole('button', { name: '조정' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('tab', { name: '원장' }).click();
    await page.getByRole('row', { name: /조정.*-500\.5원.*11,999\.5원/ }).waitFor();
    const entries = await Array.fromAsync(gateway.operator.exportEntries(one.accountId));
    assert.deepEqual(entries.map(({ kind, amountMicro }) => [kind, amountMicro]).slice(1), [
      ['bonus', 2_500_000_000n],
      ['adjustment', -500_500_000n],
    ]);
    assert.deepEqual(await axe(), []);
    assertClean();
    await close();
  },
);

// pages:A2
test(
  'a point of the usage of an account leads to its requests, and one of them to what each won was for',
  fullOnly,
  async () => {
    const { page, faults, close } = await openPage(`/accounts/${account.accountId}?range=7d`, 'viewer');
    const chart = page.getByRole('slider', { name: '비용' });
    await chart.focus();
    await chart.press('End');
    await chart.press('Enter');
    await page.waitForURL(/tab=requests/);
    const { searchParams } = new URL(page.url());
    assert.equal(searchParams.get('range'), 'custom');
    assert.equal(searchParams.get('from'), searchParams.get('to'));
    await page.getByRole('row', { name: /test\/model/ }).click();
    const [entry] = await Array.fromAsync(gateway.operator.exportEntries(account.accountId)).then((all) =>
      all.filter(({ kind }) => kind === 'usage'),
    );
    const cost = page.locator('tfoot data');
    await cost.waitFor();
    assert.equal(BigInt((await cost.getAttribute('value')) ?? ''), -(entry?.amountMicro ?? 0n));
    const refund = page.getByRole('button', { name: '환불' });
    assert.equal(await refund.getAttribute('aria-disabled'), 'true');
    assert.equal(await grantFrom(page, account.accountId), 403, 'the server refuses it too');
    await page.getByRole('link', { name: 'test의 요청 기록' }).click();
    await page.getByRole('tab', { name: '원장' }).click();
    await page.getByRole('link', { name: /요청/ }).last().waitFor();
    const after = await Array.fromAsync(gateway.operator.exportEntries(account.accountId));
    assert.deepEqual(after.map(({ kind }) => kind).toSorted(), ['topup', 'usage']);
    // The browser itself reports the refused grant.
    assert.deepEqual(
      faults.filter((fault) => !fault.includes('status of 403')),
      [],
    );
    await close();
  },
);

// pages:A2
test(
  'a request is refunded from the list, and a suspended account is rejected until it is lifted',
  fullOnly,
  async () => {
    const { page, assertClean, close } = await openPage(`/accounts/${account.accountId}?tab=requests`);
    await page.getByRole('row').nth(1).getByRole('button', { name: '환불' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('사유').fill('빈 응답');
    await dialog.getByLabel('키 한도에도 되돌리기').check();
    await dialog.getByRole('button', { name: '환불' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: '정지', exact: true }).click();
    await dialog.getByText(/키가 1개에서 0개로/).waitFor();
    await dialog.getByLabel('사유').fill('미납');
    await dialog.getByRole('button', { name: '정지', exact: true }).click();
    await page.getByText(/정지된 계정입니다.*미납/).waitFor();
    await eventually('the key is rejected', 20_000, async () =>
      (await call(account.key)).status === 403 ? true : null,
    );
    await page.getByRole('button', { name: '정지 해제' }).click();
    await dialog.getByLabel('사유').fill('납부');
    await dialog.getByRole('button', { name: '정지 해제' }).click();
    await dialog.waitFor({ state: 'detached' });
    await eventually('the key is served', 20_000, async () =>
      (await call(account.key)).status === 200 ? true : null,
    );
    const entries = await Array.fromAsync(gateway.operator.exportEntries(account.accountId));
    assert.equal(entries.filter(({ kind }) => kind === 'refund').length, 1);
    const [act] = await gateway.operator.identity.readActs({ act: 'credit.refund', limit: 1 });
    assert.equal(act?.after?.['kind'], 'to_key_limit');
    await page.getByText(/요청 .*, 만료 0원, 차감 .*원/).waitFor();
    assertClean();
    await close();
  },
);

// pages:A3
test('a pasted key is hashed in the browser, and its page states why its calls are refused', async () => {
  const one = await gateway.account();
  const { page, axe, assertClean, close } = await openPage('/keys', 'support');
  const sent: string[] = [];
  page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`));
  await page.getByLabel('키 찾기').fill(one.key);
  await page.getByRole('button', { name: '찾기' }).click();
  await page.getByText('현재 이 키나 계정 때문에 거부되는 요청은 없습니다.').waitFor();
  assert.match(page.url(), new RegExp(`/keys/${one.hash}$`));
  assert.ok(sent.some((request) => request.includes(one.hash)));
  assert.deepEqual(
    sent.filter((request) => request.includes(one.key.slice(-16))),
    [],
  );
  await page.getByRole('button', { name: '정지' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('사유').fill('유출 신고');
  await dialog.getByRole('button', { name: '정지' }).click();
  await page
    .getByText(/403 key_suspended/)
    .first()
    .waitFor();
  await page.getByText(/운영자가 키를 정지했습니다. 사유: 유출 신고/).waitFor();
  await eventually('the key is rejected', 20_000, async () =>
    (await call(one.key)).status === 403 ? true : null,
  );
  await page.getByRole('row', { name: /403 key_suspended/ }).waitFor();
  assert.deepEqual(await axe(), []);
  await page.getByRole('button', { name: '정지 해제' }).click();
  await dialog.getByLabel('사유').fill('확인 완료');
  await dialog.getByRole('button', { name: '정지 해제' }).click();
  await page.getByText('현재 이 키나 계정 때문에 거부되는 요청은 없습니다.').waitFor();
  await page.getByRole('button', { name: '한도 변경' }).click();
  await dialog.getByText('사용 제한').click();
  await dialog.getByLabel('분당 요청 수').fill('77');
  await dialog.getByLabel('사유').fill('고객 요청');
  await dialog.getByRole('button', { name: '한도 변경' }).click();
  await page.getByText('77', { exact: true }).waitFor();
  assertClean();
  await close();
});

// pages:A12
test(
  'an announcement stands above the pages of the dashboard in the language of the owner, until dismissed',
  fullOnly,
  async () => {
    const { page, axe, assertClean, close } = await openPage('/announcements');
    await page.getByRole('button', { name: '공지 작성' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: '주의' }).click();
    await dialog.getByLabel('한국어').fill('오늘 밤 점검합니다');
    await dialog.getByRole('button', { name: '공지 작성' }).click();
    await dialog.getByText('한국어와 영어를 모두 입력해 주세요.').waitFor();
    await dialog.getByLabel('영어').fill('Maintenance tonight <script>');
    assert.deepEqual(await axe(), []);
    await dialog.getByRole('button', { name: '공지 작성' }).click();
    await page.getByRole('row', { name: /오늘 밤 점검합니다.*표시 중/ }).waitFor();
    const dashboard = await browser.reach('dashboard', gateway.origin);
    const owner = await browser.open(dashboard, { language: 'en' });
    const value = sessions.owner(account.accountId);
    await owner.context.addCookies([{ name: 'naru_session', value, url: `${dashboard}/dashboard` }]);
    await owner.page.goto('/dashboard/');
    for (const [path, title] of [
      ['/', 'Overview'],
      ['/keys', 'API keys'],
      ['/credits', 'Credits'],
    ] as const) {
      await follow(owner.page, `/dashboard${path}`, title);
      await owner.page.getByText('Maintenance tonight <script>').waitFor();
    }
    assert.deepEqual(await owner.axe(), []);
    await owner.page.getByRole('button', { name: 'Dismiss' }).click();
    await owner.page.getByText('Maintenance tonight').waitFor({ state: 'detached' });
    const read = owner.page.waitForResponse((response) => response.url().endsWith('/api/announcements'));
    await owner.page.reload();
    await (await read).finished();
    await owner.page.getByRole('heading', { level: 1 }).waitFor();
    assert.equal(await owner.page.getByText('Maintenance tonight').count(), 0);
    owner.assertClean();
    await owner.close();
    await page.getByRole('row').nth(1).getByRole('button', { name: '내리기' }).click();
    await dialog.getByRole('button', { name: '내리기' }).click();
    await page.getByRole('row', { name: /오늘 밤 점검합니다.*종료/ }).waitFor();
    assertClean();
    await close();
  },
);

// spec:operator/1.28
test('an account gets a business number, and its person is erased once it is closed', fullOnly, async () => {
  const { accountId } = await gateway.account();
  const { page, axe, assertClean, close } = await openPage(`/accounts/${accountId}`);
  await page.getByRole('button', { name: '수정' }).click();
  const number = page.getByLabel('사업자등록번호');
  await number.fill('124-81-0099');
  await page.getByRole('dialog').getByRole('button', { name: '저장' }).click();
  await page.getByText('숫자 10자리를 입력해 주세요.').waitFor();
  await number.fill('124-81-00998');
  await page.getByRole('dialog').getByRole('button', { name: '저장' }).click();
  await page.getByText('사업자등록번호 124-81-00998').waitFor();
  assert.equal(await page.getByRole('button', { name: '개인정보 삭제' }).count(), 0);
  await gateway.operator.closeAccount({ accountId, closed: true, reason: 'asked' });
  await page.getByRole('button', { name: '개인정보 삭제' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/계정 이름 · 1/).waitFor();
  await dialog.getByText(/사업자등록번호 · 1/).waitFor();
  assert.deepEqual(await axe(), []);
  await dialog.getByRole('button', { name: '개인정보 삭제' }).dblclick();
  await page.getByRole('heading', { level: 1, name: `account ${accountId}` }).waitFor();
  assertClean();
  await close();
});

// spec:operator/1.19
test('an admin adds an operator, and creates a token that is shown once and revoked', fullOnly, async () => {
  const { page, axe, assertClean, close } = await openPage('/operators');
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: '운영자 추가' }).click();
  await dialog.getByLabel('이름').fill('김 지원');
  await dialog.getByRole('button', { name: '지원', exact: true }).click();
  await dialog.getByRole('button', { name: '운영자 추가' }).dblclick();
  await dialog.getByText(/\/console\/link#/).waitFor();
  await dialog.getByRole('button', { name: '닫기' }).click();
  await page.getByRole('row', { name: /김 지원.*지원/ }).waitFor();
  await page.getByRole('button', { name: '토큰 만들기' }).click();
  await dialog.getByLabel('이름').fill('billing');
  const lastDay = new Date(gateway.clock.now() + 30 * 86_400_000).toISOString().slice(0, 10);
  await dialog.getByLabel('마지막 사용 가능일').fill(lastDay);
  assert.deepEqual(await axe(), []);
  await dialog.getByRole('button', { name: '만들기' }).click();
  await dialog.getByText(/^naru_op_/).waitFor();
  await page.keyboard.press('Escape');
  await dialog.getByRole('button', { name: '닫기' }).click();
  await page
    .getByRole('row', { name: /billing/ })
    .getByRole('button', { name: '폐기' })
    .click();
  await dialog.getByLabel('사유').fill('끝');
  await dialog.getByRole('button', { name: '폐기' }).click();
  await page.getByText('토큰이 없습니다').waitFor();
  await page
    .getByRole('row', { name: /김 지원/ })
    .getByRole('button', { name: '삭제' })
    .click();
  await dialog.getByLabel('사유').fill('끝');
  await dialog.getByRole('button', { name: '삭제' }).click();
  await page.getByText('운영자가 없습니다').waitFor();
  assertClean();
  await close();
});

// pages:A12
test('the audit log names who did what to what, and what it changed', fullOnly, async () => {
  const one = await gateway.account();
  const { page, assertClean, close } = await openPage(`/audit?account=${one.accountId}`, 'viewer');
  const row = page.getByRole('row', { name: /credit\.grant/ });
  await row.getByText('10,000원').last().waitFor();
  await row.getByRole('cell', { name: /명령줄/ }).waitFor();
  await page.getByLabel('작업').selectOption('account.create');
  await row.waitFor({ state: 'detached' });
  await page.getByRole('row', { name: /account\.create/ }).waitFor();
  await page.getByLabel('운영자').selectOption('cli');
  await page.getByRole('row', { name: /account\.create/ }).waitFor();
  assertClean();
  await close();
});

// pages:A12
test('the palette leads an operator to an account, a key and a model of any account', async () => {
  const key = await gateway.account();
  const { page, assertClean, close } = await openPage('/audit', 'viewer');
  await page.getByRole('heading', { level: 1, name: '감사 기록' }).waitFor();
  const { items } = await page.evaluate<{ items: readonly { hash: string }[] }>(
    `fetch('/console/api/keys?account=${key.accountId}').then((response) => response.json())`,
  );
  const hash = items[0]?.hash ?? '';
  for (const [text, address] of [
    [String(key.accountId), `/console/accounts/${key.accountId}`],
    [hash, `/console/keys/${hash}`],
    ['test/model', '/console/prices?model=test%2Fmodel'],
  ] as const) {
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: '검색' }).waitFor();
    await page.keyboard.type(text);
    await page.getByRole('option', { selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.pathname + url.search === address);
    // The heading of the new page takes the focus, or the page while it has none.
    await page.locator('main:focus, main h1:focus').waitFor();
  }
  assertClean();
  await close();
});

test('the export of a list has every row of it; a refused file is a message', async () => {
  const acts = byTier(150, 10_050);
  await gateway.database.query(
    `INSERT INTO audit_entry (at, who, role, act) SELECT now(), 'cli', 'cli', 'test.export' FROM generate_series(1, $1)`,
    [acts],
  );
  const { page, context, close } = await openPage('/audit?act=test.export', 'viewer');
  await page.getByRole('button', { name: '더 보기' }).waitFor();
  await page.getByRole('button', { name: '내보내기' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'CSV' }).click(),
  ]);
  const lines =
    readFileSync(await download.path(), 'utf8')
      .trimEnd()
      .split('\r\n').length - 1;
  assert.equal(lines, acts);
  await page.getByText(`행 ${acts}개를 CSV 파일로 저장했습니다.`).waitFor();
  await context.clearCookies();
  await page.getByRole('button', { name: '내보내기' }).click();
  await page.getByRole('menuitem', { name: 'CSV' }).click();
  await page.getByRole('dialog', { name: '로그인이 만료되었습니다' }).waitFor();
  await close();
});
