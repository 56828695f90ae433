/**
 * The apps of an account, with texts that strangers chose. The quick tier leaves what an owner changes
 * of an app to `test/pages/apps.test.ts`.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { TestSessions } from '../harness/pages.ts';
import { fullOnly, sample } from '../harness/tier.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';
import { follow, looksOf, startBrowser, type TestBrowser, type View, type ViewOptions } from './browser.ts';

const sessions = new TestSessions();
let upstream: Upstream;
let gateway: TestGateway;
let account: TestAccount;
let hostile: TestAccount;
let browser: TestBrowser;
let origin = '';

const scripts = [
  '<img src=x onerror="window.attacked=1">',
  '"><script>window.attacked=1</script>',
  "'-window.attacked=1-'",
  'javascript:window.attacked=1',
  '{{constructor.constructor("window.attacked=1")()}}',
  `<svg onload=window.attacked=1>${'\ud83d\udc69\u200d\ud83d\udc67'.repeat(40)}`,
];

const call = (key: string, headers: Readonly<Record<string, string>>, model = 'test/model') =>
  gateway.send('POST', '/chat/completions', {
    key,
    headers: { 'user-agent': 'unknown-client', ...headers },
    body: { model, user: scripts[0], messages: [{ role: 'user', content: 'hello' }] },
  });

before(async () => {
  upstream = await startUpstream();
  [gateway, browser] = await Promise.all([
    startTestGateway({ sessions, models: [{ id: 'test/model', upstreams: [upstream.url] }] }),
    startBrowser(),
  ]);
  origin = await browser.reach('dashboard', gateway.origin);
  account = await gateway.account();
  hostile = await gateway.account();
  await call(account.key, { 'x-title': 'Web shop' });
  await call(account.key, { 'http-referer': 'https://app.example/chat', 'x-title': 'Chat' });
  await call(account.key, { 'user-agent': 'curl/8.5.0' });
  await call(account.key, {});
  for (const text of scripts) {
    const sent = Buffer.from(text).toString('latin1');
    const headers = { 'x-title': sent, 'user-agent': sent };
    assert.equal((await call(hostile.key, headers)).status, 200);
    const withAddress = { ...headers, 'http-referer': `https://evil.example/${sent}` };
    assert.equal((await call(hostile.key, withAddress)).status, 200);
    assert.equal((await call(hostile.key, headers, text)).status, 400);
  }
  await gateway.settled();
});
after(async () => {
  await browser?.close();
  await gateway?.close();
  await upstream?.close();
});

/** A window of an owner at a page of the dashboard. */
async function openPage(path: string, options: ViewOptions = {}, owner = account): Promise<View> {
  const view = await browser.open(origin, options);
  const value = sessions.owner(owner.accountId);
  await view.context.addCookies([{ name: 'naru_session', value, url: `${origin}/dashboard` }]);
  await view.page.goto(`/dashboard${path}`);
  return view;
}

// pages:U4
test('the apps and one app show their usage and how they were recognised, and axe finds nothing', async () => {
  for (const options of looksOf(1)) {
    const { page, axe, assertClean, close } = await openPage('/apps', options);
    const isEnglish = 'language' in options;
    await page.getByRole('heading', { level: 1, name: isEnglish ? 'Apps' : '앱' }).waitFor();
    await page
      .getByText(isEnglish ? /do not affect the public ranking/ : /공개 순위에는 반영하지 않습니다/)
      .waitFor();
    await page.getByText('https://app.example/chat').waitFor();
    await page.locator('svg.chart').waitFor();
    assert.deepEqual(await axe(), []);
    await page.getByRole('main').getByRole('link', { name: 'Chat' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Chat' }).waitFor();
    await page.locator('dd', { hasText: 'unknown-client' }).waitFor();
    await page.locator('svg.chart').waitFor();
    assert.deepEqual(await axe(), []);
    assertClean();
    await close();
  }
});

// pages:U4,U1,U2,U3
test('an app is renamed, merged, separated and hidden, and the other pages follow', fullOnly, async () => {
  const { page, assertClean, close } = await openPage('/apps');
  const rowOf = (name: string) => page.getByRole('row', { name: new RegExp(`^${name}`) });
  const act = async (name: string, action: string) => {
    await rowOf(name)
      .getByRole('button', { name: `${name} 작업` })
      .click();
    await page.getByRole('menuitem', { name: action }).click();
  };
  await act('Web shop', '이름 변경');
  await page.getByRole('dialog').getByRole('textbox').fill('우리 쇼핑몰');
  await page.getByRole('dialog').getByRole('button', { name: '저장' }).click();
  await rowOf('우리 쇼핑몰').waitFor();
  await act('curl', '다른 앱에 합치기');
  await page.getByRole('dialog').getByLabel('합칠 대상').selectOption({ label: '우리 쇼핑몰' });
  await page.getByRole('dialog').getByRole('button', { name: '다른 앱에 합치기' }).click();
  await rowOf('curl').waitFor({ state: 'detached' });
  await rowOf('우리 쇼핑몰').getByText('+1개 합침').waitFor();
  await follow(page, '/dashboard/', '개요');
  const top = page.locator('section', { has: page.getByRole('heading', { name: /앱/ }) });
  await top.getByText('우리 쇼핑몰').first().waitFor();
  assert.equal(await top.getByText('curl').count(), 0);
  await follow(page, '/dashboard/apps', '앱');
  await rowOf('우리 쇼핑몰').getByRole('link', { name: '2' }).click();
  await page.getByRole('button', { name: '앱: 우리 쇼핑몰' }).waitFor();
  const requests = page.getByRole('main').getByRole('row');
  await requests.nth(2).waitFor();
  assert.equal(await requests.count(), 3);
  await follow(page, '/dashboard/apps', '앱');
  await rowOf('우리 쇼핑몰').getByRole('link', { name: '우리 쇼핑몰' }).click();
  await page.getByRole('button', { name: 'curl 분리' }).click();
  await page.getByRole('button', { name: 'curl 분리' }).waitFor({ state: 'detached' });
  await page.getByRole('link', { name: '앱 목록' }).click();
  await rowOf('curl').waitFor();
  await act('curl', '숨기기');
  await rowOf('curl').waitFor({ state: 'detached' });
  await page.getByRole('switch', { name: /숨긴 앱 1개/ }).click();
  await rowOf('curl').getByText('숨김').waitFor();
  assertClean();
  await close();
});

// pages:U4
// spec:conformance/257
// security:33
test('markup in titles, referers, programs, users and model names runs nowhere', async () => {
  const { page, assertClean, close } = await openPage('/apps', {}, hostile);
  await page
    .getByText(/onerror/)
    .first()
    .waitFor();
  const itemsOf = (path: string): Promise<readonly Readonly<Record<string, string>>[]> =>
    page.evaluate(`fetch("/dashboard/api${path}").then((r) => r.json()).then(({ items }) => items)`);
  const apps = await itemsOf('/apps?range=today');
  const requests = await itemsOf('/generations');
  const visitOf = ({ id, model, asked_model }: Readonly<Record<string, string>>) =>
    [`/requests/${id}`, model ?? asked_model ?? ''] as const;
  const visits = [
    ['/', '개요'],
    ['/apps', '앱'],
    ['/usage?by=app', '사용량'],
    ...requests.slice(0, 1).map(visitOf),
    ['/usage?by=model', '사용량'],
    ...apps
      .filter(({ id }) => Number(id) > 0)
      .slice(0, 3)
      .map(({ id, name = '' }) => [`/apps/${id}`, name] as const),
    ['/requests', '요청 기록'],
    ...requests.slice(1, 2).map(visitOf),
  ] as const;
  assert.ok(visits.length >= 10);
  for (const [path, title] of sample(visits, 6)) {
    await follow(page, `/dashboard${path}`, title);
    await page
      .getByText(/attacked/)
      .first()
      .waitFor();
    await page.locator('[role="status"][aria-busy="true"]').waitFor({ state: 'detached' });
    assert.equal(await page.evaluate('window.attacked'), undefined, path);
    assert.equal(await page.locator('main a[href^="javascript:"]').count(), 0, path);
    assert.equal(await page.locator('main img, main script').count(), 0, path);
  }
  assertClean();
  await close();
});
