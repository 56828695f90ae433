/**
 * The dashboard of an account with real requests: every page in both languages, and what an owner does
 * there. The quick tier leaves a withdrawn top-up to `test/pages/topups.test.ts` (the form sends one in
 * `test/browser/journeys.test.ts`), and the filters of the requests to `test/pages/requests.test.ts`
 * (the component and the address to `test/browser/shell.test.ts`).
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { TestSessions } from '../harness/pages.ts';
import { fullOnly } from '../harness/tier.ts';
import { until } from '../harness/until.ts';
import { reply, startUpstream, type Upstream } from '../harness/upstream.ts';
import { follow, startBrowser, type TestBrowser, type View, type ViewOptions } from './browser.ts';
import { checkPages, type PageCase } from './every-page.ts';

const sessions = new TestSessions();
let upstream: Upstream;
let gateway: TestGateway;
let account: TestAccount;
let browser: TestBrowser;
let origin = '';
let failedId = '';

const call = (key: string) =>
  gateway.send('POST', '/chat/completions', {
    key,
    headers: { 'x-title': 'My app' },
    body: { model: 'test/model', messages: [{ role: 'user', content: 'hello' }] },
  });

before(async () => {
  upstream = await startUpstream();
  [gateway, browser] = await Promise.all([
    startTestGateway({ sessions, models: [{ id: 'test/model', upstreams: [upstream.url] }] }),
    startBrowser(),
  ]);
  origin = await browser.reach('dashboard', gateway.origin);
  account = await gateway.account();
  for (let count = 0; count < 3; count += 1) assert.equal((await call(account.key)).status, 200);
  upstream.next(reply.status(500));
  const failed = await call(account.key);
  failedId = failed.headers.get('x-generation-id') ?? '';
  assert.equal(failed.status, 502);
  await gateway.settled();
});
after(async () => {
  await browser?.close();
  await gateway?.close();
  await upstream?.close();
});

/** A window of the signed-in owner at a page of the dashboard. */
async function openPage(path: string, options: ViewOptions = {}): Promise<View> {
  const view = await browser.open(origin, options);
  const token = sessions.owner(account.accountId);
  await view.context.addCookies([{ name: 'naru_session', value: token, url: `${origin}/dashboard` }]);
  await view.page.goto(`/dashboard${path}`);
  return view;
}

const pages: readonly PageCase[] = [
  ['/', '개요', 'Overview', /502 provider_error/],
  ['/usage', '사용량', 'Usage', /test\/model/],
  ['/requests', '요청 기록', 'Requests', /502 provider_error/],
  ['/keys', 'API 키', 'API keys', /test key/],
  ['/management-keys', '관리 키', 'Management keys', /만들기|Create/],
  ['/credits', '크레딧', 'Credits', /10,000/],
  ['/transactions', '거래 내역', 'Transactions', /10,000/],
  ['/statement', '거래 명세서', 'Statement', /10,000/],
  ['/models', '모델', 'Models', /test\/model/],
];

// pages:U1,U2,U3,U5,U6,U7,U8,U9
test('every page shows the data of the account, in both languages and themes, and axe finds nothing', async () => {
  await checkPages('dashboard', pages, openPage, undefined, ['My app', 'test key', 'Upstream', 'Test']);
});

// pages:U3,U3d
test('a failed request is found by its id, and its page shows why each candidate failed', async () => {
  const { page, axe, assertClean, close } = await openPage('/requests');
  await page.getByRole('searchbox', { name: '생성 ID 또는 요청 ID로 찾기' }).fill(failedId);
  await page.keyboard.press('Enter');
  await page.getByRole('row').nth(1).waitFor();
  await page.getByRole('row').nth(1).click();
  await page.getByRole('list', { name: '후보별 진행' }).getByText(/500/).waitFor();
  await page.getByText('오류로 응답했습니다').waitFor();
  assert.deepEqual(await axe(), []);
  assertClean();
  await close();
});

// pages:U3
test('requests are followed as they end, whichever node answers them', async (t) => {
  const other = await startTestGateway({
    beside: gateway,
    models: [{ id: 'test/model', upstreams: [upstream.url] }],
  });
  t.after(() => other.close());
  const { page, assertClean, close } = await openPage('/requests');
  await page.getByRole('switch', { name: '실시간' }).click();
  await page.getByText('모든 서버에서 끝나는 요청을 바로 표시합니다.').waitFor();
  const response = await other.send('POST', '/chat/completions', {
    key: account.key,
    headers: { 'x-title': 'Other node' },
    body: { model: 'test/model', messages: [{ role: 'user', content: 'hello' }] },
  });
  assert.equal(response.status, 200);
  await page.getByRole('row', { name: /Other node/ }).waitFor();
  assertClean();
  await close();
});

// pages:U3
test('requests that end while the live view is away are shown when it goes on', async () => {
  const { page, close } = await openPage('/requests');
  await page.getByRole('switch', { name: '실시간' }).click();
  const live = page.getByRole('status').getByText('실시간', { exact: true });
  await live.waitFor();
  await page.route('**/generations/live**', (route) => route.fulfill({ status: 503, body: '' }));
  // Leading there again ends the connections.
  await browser.reach('dashboard', gateway.origin);
  await page.getByText('연결이 끊겼습니다.', { exact: false }).first().waitFor();
  const response = await gateway.send('POST', '/chat/completions', {
    key: account.key,
    headers: { 'x-title': 'While away' },
    body: { model: 'test/model', messages: [{ role: 'user', content: 'hello' }] },
  });
  assert.equal(response.status, 200);
  await gateway.settled();
  // A view that begins is told the requests of the last seconds, which this one is not among.
  gateway.clock.advance(30_000);
  await page.unrouteAll();
  await live.waitFor();
  await page.getByRole('row', { name: /While away/ }).waitFor();
  await close();
});

// pages:U2
test('values that cannot be refreshed have their age, until they can', async () => {
  const { page, axe, close } = await openPage('/usage');
  await page.getByText('방금 갱신').waitFor();
  await page.getByRole('row', { name: /test\/model/ }).waitFor();
  await page.route('**/dashboard/api/usage/**', (route) => route.fulfill({ status: 500, body: 'proxy' }));
  await page.getByRole('button', { name: '새로 고침' }).click();
  await page.getByText(/일부 값을 갱신하지 못했습니다\. 마지막 갱신: (?:방금|\d+초 전)/).waitFor();
  assert.equal(await page.getByRole('row', { name: /test\/model/ }).count(), 1);
  assert.deepEqual(await axe(), []);
  await page.unrouteAll();
  await page.getByRole('button', { name: '다시 시도' }).click();
  await page.getByText('일부 값을 갱신하지 못했습니다', { exact: false }).waitFor({ state: 'detached' });
  await close();
});

// pages:U3
test(
  'the list of requests is narrowed by the values that it has, and the address keeps the choice',
  fullOnly,
  async () => {
    const { page, axe, assertClean, close } = await openPage('/requests');
    await page
      .getByRole('row', { name: /test\/model/ })
      .nth(2)
      .waitFor();
    const filters = page.getByRole('group', { name: '필터' });
    for (const name of ['모델', '제공자', '앱', '키', '상태 코드', '오류 종류'])
      await filters.getByRole('button', { name, exact: true }).waitFor();
    await filters.getByRole('button', { name: '상태 코드', exact: true }).click();
    await page.getByRole('checkbox', { name: '502' }).check();
    assert.deepEqual(await axe(), []);
    await page.keyboard.press('Escape');
    await filters.getByRole('button', { name: '상태 코드: 502' }).waitFor();
    await page.waitForURL(/status=502/);
    await page.getByRole('row', { name: /성공/ }).waitFor({ state: 'detached' });
    await page.getByRole('row', { name: /502 provider_error/ }).waitFor();
    await page.getByRole('button', { name: '필터 지우기' }).click();
    await page.getByRole('row', { name: /성공/ }).first().waitFor();
    assertClean();
    await close();
  },
);

// pages:U3d
test('the waterfall of a request says how long each part took, also as a table, and its cost is that of the API', async () => {
  const { json } = await call(account.key);
  await gateway.settled();
  const { page, axe, assertClean, close } = await openPage(`/requests/${json.id}`);
  const candidates = page.getByRole('list', { name: '후보별 진행' });
  await candidates.getByRole('img', { name: /시작, .*첫 바이트까지 [\d.]+(ms|초)/ }).waitFor();
  await page.getByRole('button', { name: '표로 보기' }).click();
  const table = page.getByRole('region', { name: '후보별 진행' });
  await table.getByRole('row', { name: /응답 첫 번째 후보가 응답했습니다/ }).waitFor();
  for (const header of ['대기', '연결', '첫 바이트까지', '첫 토큰까지', '응답 수신', '종료'])
    assert.equal(await table.getByRole('columnheader', { name: header, exact: true }).count(), 1, header);
  assert.deepEqual(await axe(), []);
  await page.getByRole('button', { name: '차트로 보기' }).click();
  await candidates.waitFor();
  const cost = page.locator('tfoot data');
  await cost.waitFor();
  assert.equal(Number(await cost.getAttribute('value')) / 1e6, json.usage.cost);
  assertClean();
  await close();
});

// pages:U2,U8
test('hours of a long range lead to those of a week; a ledger is narrowed to a month from a list', async () => {
  const { page, assertClean, close } = await openPage('/usage?step=hour');
  await page.getByRole('status').filter({ hasText: '8일 이내' }).waitFor();
  await page.getByRole('button', { name: '최근 7일을 시간 단위로 보기' }).click();
  await page.waitForURL(/range=7d/);
  await page.getByRole('slider').waitFor();
  assert.equal(await page.getByRole('status').filter({ hasText: '8일 이내' }).count(), 0);
  await follow(page, '/dashboard/transactions', '거래 내역');
  const month = page.getByRole('combobox', { name: '월', exact: true });
  await page.getByRole('row', { name: /충전/ }).first().waitFor();
  await month.selectOption({ index: 1 });
  await page.waitForURL(/month=\d{4}-\d{2}$/);
  await page.getByRole('row', { name: /충전/ }).first().waitFor();
  assertClean();
  await close();
});

// pages:U5,U7
test('a form keeps what was typed while the server is away and when the session has ended', async () => {
  const { page, context, close } = await openPage('/keys');
  await page.getByRole('button', { name: '키 만들기' }).click();
  const form = page.getByRole('dialog', { name: 'API 키 만들기' });
  await form.getByLabel('이름').fill('typed once');
  await form.getByLabel('한도', { exact: false }).first().fill('1234');
  const rows = '**/dashboard/api/keys';
  const submit = () => form.getByRole('button', { name: '키 만들기' }).click();
  const isKept = async () => {
    assert.equal(await form.getByLabel('이름').inputValue(), 'typed once');
    assert.equal(await form.getByLabel('한도', { exact: false }).first().inputValue(), '1234');
  };
  await page.route(rows, (route) => route.abort('connectionrefused'));
  await submit();
  await form.getByText('서버에 연결할 수 없습니다', { exact: false }).waitFor();
  await isKept();
  await page.unrouteAll();
  await context.clearCookies();
  // A read of the page may find the end of the session first: then its dialog covers and hides the form.
  await page.locator('#key-form').dispatchEvent('submit');
  const ended = page.getByRole('dialog', { name: '로그인이 만료되었습니다' });
  await ended.waitFor();
  const value = sessions.owner(account.accountId);
  await context.addCookies([{ name: 'naru_session', value, url: `${origin}/dashboard` }]);
  await ended.getByRole('button', { name: '계속' }).click();
  await ended.waitFor({ state: 'detached' });
  await isKept();
  await submit();
  await page.getByRole('dialog', { name: /typed once/ }).waitFor();
  const { items } = (await (
    await page.request.get(`${origin}/dashboard/api/keys?kind=inference`)
  ).json()) as {
    items: readonly { name: string }[];
  };
  assert.equal(items.filter(({ name }) => name === 'typed once').length, 1);
  await close();
});

// pages:U5,U5c
test('a key whose response was lost is replaced by one that the page shows', async () => {
  const { page, axe, close } = await openPage('/keys');
  let lost = 0;
  await page.route('**/dashboard/api/keys', async (route) => {
    if (route.request().method() !== 'POST' || lost > 0) return route.continue();
    lost += 1;
    await route.fetch();
    return route.abort('connectionreset');
  });
  await page.getByRole('button', { name: '키 만들기' }).first().click();
  const form = page.getByRole('dialog');
  await form.getByLabel('이름').fill('lost on the way');
  await form.getByRole('button', { name: '키 만들기' }).click();
  const reported = page.getByRole('dialog', { name: /lost on the way.*받지 못했습니다/ });
  await reported.getByText(/이 키를 폐기하고 새 키를 만들어/).waitFor();
  assert.deepEqual(await axe(), []);
  await reported.getByRole('button', { name: '폐기하고 새 키 만들기' }).click();
  const shown = page.getByRole('dialog', { name: /lost on the way.*만들었습니다/ });
  const plaintext = (await shown.locator('pre').first().textContent()) ?? '';
  assert.equal((await call(plaintext)).status, 200);
  await shown.getByLabel('키를 저장했습니다').check();
  await shown.getByRole('button', { name: '닫기' }).click();
  await page.getByRole('row', { name: /lost on the way/ }).waitFor();
  assert.equal(await page.getByRole('row', { name: /lost on the way/ }).count(), 1);
  await close();
});

// pages:U5,U5c
test('a key is made, stored, used up to its limit, raised, used again, and revoked by its name', async () => {
  const { page, axe, faults, close } = await openPage('/keys');
  await page.getByRole('button', { name: '키 만들기' }).first().click();
  const form = page.getByRole('dialog');
  await form.getByRole('button', { name: '키 만들기' }).click();
  await form.getByText('이름을 입력해 주세요.').waitFor();
  await form.getByLabel('이름').fill('web shop');
  await form.getByLabel(/^한도/).first().fill('5,000');
  await form.getByRole('button', { name: '키 만들기' }).click();
  const shown = page.getByRole('dialog', { name: /web shop/ });
  await shown.waitFor();
  assert.deepEqual(await axe(), []);
  const plaintext = (await shown.locator('pre').first().textContent()) ?? '';
  assert.equal((await call(plaintext)).status, 200);
  const done = shown.getByRole('button', { name: '닫기' });
  assert.equal(await done.isDisabled(), true, 'the key must be stored first');
  await page.keyboard.press('Escape');
  assert.equal(await shown.isVisible(), true);
  await shown.getByLabel('키를 저장했습니다').check();
  await done.click();
  const row = page.getByRole('row', { name: /web shop/ });
  await row.getByText(/5,000/).waitFor();
  assert.equal((await page.content()).includes(plaintext), false, 'it is shown once');
  const limitTo = async (won: string): Promise<void> => {
    await row.getByRole('button', { name: /작업/ }).click();
    await page.getByRole('menuitem', { name: '수정', exact: true }).click();
    await form.getByLabel(/^한도/).first().fill(won);
    await form.getByRole('button', { name: '저장' }).click();
    await form.waitFor({ state: 'detached' });
  };
  // The page reads the database, and again after 30 s only.
  await gateway.settled();
  await limitTo('1');
  const exceeded = await call(plaintext);
  assert.equal(exceeded.status, 402);
  assert.match(exceeded.text, /key_limit_exceeded/);
  assert.match(exceeded.text, /한도/);
  await row.getByText('한도 도달').waitFor();
  await limitTo('6,000');
  assert.equal((await call(plaintext)).status, 200);
  await row.getByRole('button', { name: /작업/ }).click();
  await page.getByRole('menuitem', { name: '수정', exact: true }).click();
  await form.getByText('사용 제한').click();
  const models = form.getByLabel(/^허용 모델/);
  await models.fill('test/mistyped');
  await models.press('Enter');
  await form.getByRole('button', { name: '저장' }).click();
  await form.getByText(/test\/mistyped에 해당하는 모델이 없습니다/).waitFor();
  assert.deepEqual(await axe(), []);
  await form.getByRole('button', { name: 'test/mistyped 삭제' }).click();
  await models.fill('test/*');
  await form.getByLabel('분당 요청 수').fill('1');
  await form.getByRole('button', { name: '저장' }).click();
  await form.waitFor({ state: 'detached' });
  await row.getByText('사용 제한').waitFor();
  await until('the second call of a minute is rejected', async () => (await call(plaintext)).status === 429);
  await row.getByRole('button', { name: /작업/ }).click();
  await page.getByRole('menuitem', { name: '폐기' }).click();
  const revoke = page.getByRole('dialog').getByRole('button', { name: '폐기' });
  assert.equal(await revoke.isDisabled(), true);
  await page.getByRole('dialog').getByRole('textbox').fill('web shop');
  await revoke.click();
  // While it is open, the rows behind it are hidden.
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await row.waitFor({ state: 'detached' });
  assert.equal((await call(plaintext)).status, 401);
  // The mistyped model.
  const others = faults.filter((fault) => !fault.includes('400 (Bad Request)'));
  assert.deepEqual(others, []);
  await close();
});

// pages:U7
test('a top-up is requested once, and withdrawn', fullOnly, async () => {
  const { page, assertClean, close } = await openPage('/credits');
  await page.getByRole('button', { name: '충전 요청' }).click();
  await page.getByText(/0보다 큰 금액/).waitFor();
  await page.getByLabel('금액').first().fill('12,345');
  await page.getByRole('button', { name: '충전 요청' }).dblclick();
  const row = page.getByRole('row', { name: /12,345/ });
  await row.getByText('확인 대기').waitFor();
  assert.equal(await row.count(), 1);
  await row.getByRole('button', { name: '취소' }).click();
  await row.getByText('취소됨').waitFor();
  assertClean();
  await close();
});

test('a row is a link, and the filters of the list filter its histogram', async () => {
  const { page, assertClean, close } = await openPage('/requests');
  const row = page.getByRole('row').nth(1);
  const address = (await row.getByRole('link').first().getAttribute('href')) ?? '';
  assert.match(address, /^\/dashboard\/requests\/gen-/);
  const chart = page.getByRole('slider');
  assert.match((await chart.getAttribute('aria-valuetext')) ?? '', /200 \d.*502 1/);
  await page.getByRole('combobox', { name: '결과' }).selectOption('failed');
  await page.locator('[role=slider][aria-valuetext*="502 1"]:not([aria-valuetext*="200 "])').waitFor();
  await page.getByRole('searchbox').fill(address.replace('/dashboard/requests/', ''));
  await page.keyboard.press('Enter');
  await chart.waitFor({ state: 'detached' });
  assertClean();
  await close();
});

test('the focus returns to what opened a dialog, from a menu and from the palette', async () => {
  const { page, assertClean, close } = await openPage('/keys');
  const menu = page.getByRole('button', { name: /작업$/ }).first();
  const name = (await menu.getAttribute('aria-label')) ?? '';
  await menu.focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByLabel('이름').waitFor();
  await page.keyboard.press('Escape');
  await page.locator(`:focus[aria-label="${name}"]`).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: '검색' }).waitFor();
  await page.keyboard.press('Escape');
  await page.locator(`:focus[aria-label="${name}"]`).waitFor();
  assertClean();
  await close();
});

test('saving a key that was revoked in another window says so, and the list shows it no more', async () => {
  const { page, faults, close } = await openPage('/keys');
  await page.getByRole('button', { name: '키 만들기' }).first().click();
  await page.getByRole('dialog').getByLabel('이름').fill('gone meanwhile');
  await page.getByRole('dialog').getByRole('button', { name: '키 만들기' }).click();
  const shown = page.getByRole('dialog', { name: /gone meanwhile/ });
  await shown.getByLabel('키를 저장했습니다').check();
  await shown.getByRole('button', { name: '닫기' }).click();
  const row = page.getByRole('row', { name: /gone meanwhile/ });
  await row.getByRole('button', { name: /작업/ }).click();
  await page.getByRole('menuitem', { name: '수정', exact: true }).click();
  await page.getByRole('dialog').getByLabel('이름').fill('another name');
  const { items } = (await (await page.request.get(`${origin}/dashboard/api/keys`)).json()) as {
    items: readonly { name: string; hash: string }[];
  };
  const hash = items.find(({ name }) => name === 'gone meanwhile')?.hash;
  const revoked = await page.request.delete(`${origin}/dashboard/api/keys/${hash}`, {
    headers: { origin, 'idempotency-key': randomUUID() },
  });
  assert.equal(revoked.status(), 200, await revoked.text());
  await page.getByRole('dialog').getByRole('button', { name: '저장' }).click();
  await page.getByText('다른 곳에서 폐기된 키입니다. 변경한 내용은 저장하지 않았습니다.').waitFor();
  await row.waitFor({ state: 'detached' });
  assert.deepEqual(
    faults.filter((fault) => !fault.includes('status of 409')),
    [],
  );
  await close();
});

test('the palette finds keys, models, apps and a request by keyboard, and says why it found nothing', async () => {
  const { page, axe, faults, close } = await openPage('/settings');
  await page.getByRole('heading', { level: 1, name: '설정' }).waitFor();
  const asked: string[] = [];
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname === '/dashboard/api/search') asked.push(searchParams.get('text') ?? '');
  });
  const { json } = await call(account.key);
  await gateway.settled();
  const input = page.getByRole('combobox', { name: '검색' });
  const open = async (text: string): Promise<void> => {
    await page.keyboard.press('Control+k');
    await input.waitFor();
    await page.keyboard.type(text);
  };
  for (const [text, option, address] of [
    ['test key', /test key/, /\/keys\?search=[0-9a-f]{64}$/],
    ['my APP', /My app/, /\/apps\/\d+$/],
    ['test/mod', /test\/model/, /\/models\/test\/model$/],
    [json.id, /열기/, new RegExp(`/requests/${json.id}$`)],
  ] as const) {
    await open(text);
    await page.getByRole('option', { name: option, selected: true }).waitFor();
    if (text === 'my APP') assert.deepEqual(await axe(), []);
    await page.keyboard.press('Enter');
    await page.waitForURL(address);
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }
  await open('no such thing');
  await page.getByRole('status').getByText('일치하는 항목이 없습니다.').waitFor();
  assert.deepEqual(asked.slice(0, 3), ['test key', 'my APP', 'test/mod'], 'once for what was typed');
  await page.route('**/dashboard/api/search*', (route) => route.fulfill({ status: 500, body: '' }));
  await page.keyboard.type(' else');
  await page
    .getByRole('status')
    .getByText(/찾지 못했습니다\. 서버 오류/)
    .waitFor();
  await page.unrouteAll();
  const pasted = `sk-naru-v1-${'0'.repeat(64)}`;
  await input.fill(pasted);
  await page.getByRole('status').getByText('일치하는 항목이 없습니다.').waitFor();
  assert.ok(
    asked.every((text) => !text.includes(pasted)),
    'a whole key stays in the browser',
  );
  assert.deepEqual(await axe(), []);
  assert.deepEqual(
    faults.filter((fault) => !fault.includes('status of 500')),
    [],
  );
  await close();
});

test('the heading of a page from the palette keeps the focus when its data replaces it', async () => {
  const { page, assertClean, close } = await openPage('/settings');
  await page.getByRole('heading', { level: 1, name: '설정' }).waitFor();
  const main = page.getByRole('main');
  for (const [text, option, data, shown] of [
    ['test/mod', /test\/model/, '**/public/models/**', main.getByRole('heading', { name: '호출 방법' })],
    ['my APP', /My app/, '**/api/apps/*', main.getByRole('heading', { name: '앱 식별 근거' })],
    ['플레이', /플레이그라운드/, '**/dashboard/api/models', main.getByRole('textbox', { name: '메시지' })],
  ] as const) {
    const focused = Promise.withResolvers<void>();
    await page.route(data, async (route) => {
      await focused.promise;
      await route.continue();
    });
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: '검색' }).waitFor();
    await page.keyboard.type(text);
    await page.getByRole('option', { name: option, selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.locator('.page:has(.skeleton) h1:focus').waitFor();
    focused.resolve();
    await shown.waitFor();
    assert.equal(await page.locator('h1:focus').count(), 1, text);
    await page.unroute(data);
  }
  assertClean();
  await close();
});

test('an unknown address keeps the navigation', async () => {
  const { page, axe, assertClean, close } = await openPage('/no/such/page');
  await page.getByRole('heading', { level: 1, name: '찾을 수 없음' }).waitFor();
  await page.getByRole('navigation', { name: '주 메뉴' }).getByRole('link', { name: '요청 기록' }).waitFor();
  assert.equal(await page.getByRole('main').count(), 1);
  assert.deepEqual(await axe(), []);
  assertClean();
  await close();
});

test('the ledger and a request are printed without what can be pressed', async () => {
  const { page, assertClean, close } = await openPage('/requests');
  const request = await page.getByRole('row').nth(1).getByRole('link').first().getAttribute('href');
  await follow(page, '/dashboard/transactions', '거래 내역');
  await page.getByRole('row').nth(1).waitFor();
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  for (const path of [null, request]) {
    if (path !== null) {
      await page.goto(path);
      await page.getByRole('heading', { level: 2 }).first().waitFor();
    }
    assert.equal(await page.getByRole('navigation').count(), 0);
    assert.equal(await page.getByRole('main').getByRole('combobox').count(), 0);
    assert.equal(await page.evaluate('getComputedStyle(document.documentElement).colorScheme'), 'light');
    assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
  }
  assertClean();
  await close();
});

// pages:U2,U3
test('usage by end user and by tag leads to the requests, whose list and histogram have the filter', async () => {
  for (const [user, metadata] of [
    ['직원 1, 서울', { team: '빨강', stage: 'test' }],
    ['\u202eشبكة 👩‍👩‍👧', { team: '파랑' }],
    ['직원 1, 서울', { team: '파랑' }],
  ] as const)
    await gateway.send('POST', '/chat/completions', {
      key: account.key,
      body: { model: 'test/model', user, metadata, messages: [{ role: 'user', content: 'hello' }] },
    });
  await gateway.settled();
  const { page, axe, assertClean, close } = await openPage('/usage');
  const by = page.getByRole('combobox', { name: '기준' });
  await by.selectOption({ label: '최종 사용자' });
  await page.getByText('기록이 삭제된 요청은 기타에 포함됩니다', { exact: false }).waitFor();
  await page.getByRole('row', { name: /직원 1, 서울/ }).waitFor();
  await page.getByRole('row', { name: /사용자 정보 없음/ }).waitFor();
  await by.selectOption({ label: '태그' });
  const tag = page.getByRole('combobox', { name: '태그', exact: true });
  await tag.selectOption({ label: 'stage' });
  await page.getByRole('row', { name: /^test / }).waitFor();
  await tag.selectOption({ label: 'team' });
  await page.getByRole('row', { name: /파랑/ }).waitFor();
  assert.deepEqual(await axe(), []);
  const charted = page.waitForRequest(/usage\/series.*tag_value=/);
  await page.getByRole('link', { name: '빨강' }).click();
  await page.waitForURL(/\/requests\?.*tag=team/);
  await charted;
  const rows = page.getByRole('row', { name: /test\/model/ });
  await until('one request is listed', async () => (await rows.count()) === 1);
  await page.getByRole('button', { name: 'team: 빨강' }).waitFor();
  await page.getByRole('button', { name: '필터 지우기' }).click();
  await rows.nth(3).waitFor();
  await page.goto(`/dashboard/requests?user=${encodeURIComponent('직원 1, 서울')}`);
  await until('two requests are listed', async () => (await rows.count()) === 2);
  assertClean();
  await close();
});
