/**
 * The pages that anybody may open without an account. The quick tier leaves the categories of a
 * ranking to `test/pages/rankings.test.ts`.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { TestSessions } from '../harness/pages.ts';
import { fullOnly } from '../harness/tier.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';
import { follow, looksOf, startBrowser, type TestBrowser, type View, type ViewOptions } from './browser.ts';
import { checkPages, type PageCase } from './every-page.ts';

const sessions = new TestSessions();
let upstream: Upstream;
let account: TestAccount;
let gateway: TestGateway;
let browser: TestBrowser;
let origin = '';

before(async () => {
  upstream = await startUpstream();
  [gateway, browser] = await Promise.all([
    startTestGateway({
      sessions,
      models: [
        { id: 'test/large', upstreams: [upstream.url] },
        { id: 'test/small', upstreams: [upstream.url], model: { context_length: 4_096 } },
      ],
      config: { datasets: { samples: true } },
    }),
    startBrowser(),
  ]);
  origin = await browser.reach('dashboard', gateway.origin);
  account = await gateway.account();
  // Its speed is measured before a visitor reads the list, which is kept for some seconds.
  const streamed = await gateway.send('POST', '/chat/completions', {
    key: account.key,
    body: { model: 'test/large', stream: true, messages: [{ role: 'user', content: 'hello' }] },
  });
  assert.equal(streamed.status, 200);
});
after(async () => {
  await browser?.close();
  await gateway?.close();
  await upstream?.close();
});

/** A window of a visitor who has not signed in. */
async function visit(path: string, options: ViewOptions = {}): Promise<View> {
  const view = await browser.open(origin, options);
  await view.page.goto(`/dashboard${path}`);
  return view;
}

// pages:U10
test('the rankings of apps and models show anybody their source, their charts and tables', async () => {
  for (const options of looksOf(0)) {
    const { page, axe, assertClean, close } = await visit('/rankings', options);
    const isEnglish = 'language' in options;
    await page.getByRole('link', { name: isEnglish ? 'Sign in' : '로그인' }).waitFor();
    await page.getByText(isEnglish ? 'Sample data' : '예시 데이터').waitFor();
    await page.locator('svg.chart').waitFor();
    await page.getByText('98,765,432,109,876,543,210').first().waitFor();
    assert.deepEqual(await axe(), []);
    await page.getByRole('button', { name: isEnglish ? 'Models' : '모델', exact: true }).click();
    await page.getByRole('main').getByText('sample/seorak-70b').first().waitFor();
    await page.locator('svg.chart').waitFor();
    await page.getByText(isEnglish ? 'Sample data' : '예시 데이터').waitFor();
    assert.deepEqual(await axe(), []);
    assertClean();
    await close();
  }
});

// pages:U10
test(
  'category, subcategory, period and slice are in the address and narrow the ranking',
  fullOnly,
  async () => {
    const { page, assertClean, close } = await visit('/rankings');
    await page.getByLabel('분류', { exact: true }).selectOption('coding');
    await page.getByLabel('세부 분류').selectOption('cli-agent');
    await page.getByText('coding / ide-extension').first().waitFor({ state: 'detached' });
    await page.getByRole('row').getByText('coding / cli-agent').nth(3).waitFor();
    assert.match(page.url(), /category=coding/);
    const earlier = await page.getByLabel('기간').locator('option').nth(2).getAttribute('value');
    await page.getByLabel('기간').selectOption(earlier);
    await page.waitForURL((url) => url.searchParams.get('end') === earlier);
    await page.reload();
    assert.equal(await page.getByLabel('세부 분류').inputValue(), 'cli-agent');
    await page.getByText('coding / cli-agent').first().waitFor();
    await follow(page, '/dashboard/rankings?view=models', '순위');
    await page.getByLabel('범위').selectOption('category:programming');
    await page.getByRole('button', { name: '일', exact: true }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: '표로 보기' }).click();
    await page.getByRole('main').getByRole('columnheader', { name: '날짜' }).waitFor();
    assertClean();
    await close();
  },
);

/** Every other page for visitors. */
const pages: readonly PageCase[] = [
  ['/models', '모델', 'Models', /test\/large/],
  ['/models/test/large', 'test/large', 'test/large', /curl http/],
  ['/providers', '제공자', 'Providers', /up1/],
  ['/docs', '문서', 'Docs', /OPENAI_BASE_URL/],
];

// pages:U9
test('models, one model, providers and docs open without an account, and axe finds nothing', async () => {
  await checkPages(
    'dashboard',
    pages,
    visit,
    async ({ page }, isEnglish) => {
      const banner = page.getByRole('banner');
      await banner.getByRole('link', { name: isEnglish ? 'Sign in' : '로그인' }).waitFor();
    },
    ['Test', 'Upstream', 'large'],
  );
});

// pages:U9
test('a visitor sees the public pages in the navigation, signs in, and finds the others there too', async () => {
  const { page, context, assertClean, close } = await visit('/');
  await page.waitForURL('**/dashboard/sign-in**');
  const around = page.getByRole('navigation', { name: '로그인하지 않고 둘러보기' });
  await around.getByRole('link', { name: '모델' }).click();
  await page.getByRole('link', { name: 'test/large' }).first().waitFor();
  const menu = page.getByRole('navigation', { name: '주 메뉴' });
  await menu.getByRole('link', { name: 'API 키' }).waitFor({ state: 'detached' });
  assert.deepEqual(
    (await menu.getByRole('link').allTextContents()).map((text) => text.replace(/G .$/, '')),
    ['모델', '순위', '제공자', '문서'],
  );
  await page.getByRole('main').getByRole('link', { name: 'test/large' }).first().click();
  await page.getByRole('heading', { level: 1, name: 'test/large' }).waitFor();
  assert.equal(await page.getByRole('link', { name: '내 사용량 보기' }).count(), 0);
  await menu.getByRole('link', { name: '문서' }).click();
  await page.getByRole('link', { name: 'API 문서 열기' }).waitFor();
  assert.equal(await menu.getByRole('link', { name: '순위' }).count(), 0, 'it stands under the models');
  const value = sessions.owner(account.accountId);
  await context.addCookies([{ name: 'naru_session', value, url: `${origin}/dashboard` }]);
  await page.reload();
  await menu.getByRole('link', { name: 'API 키' }).waitFor();
  await page.getByRole('link', { name: 'API 키로 이동' }).click();
  await page.getByRole('heading', { level: 1, name: 'API 키' }).waitFor();
  await menu.getByRole('link', { name: '모델', exact: false }).first().click();
  await page.getByRole('main').getByRole('link', { name: 'test/large' }).first().waitFor();
  assertClean();
  await close();
});

// pages:U9
test('the catalogue is narrowed by its filters and leads to the page of a model; an unknown one has a message', async () => {
  const { page, axe, assertClean, close } = await visit('/models');
  await page.getByRole('main').getByText('test/small').first().waitFor();
  assert.deepEqual(await axe(), []);
  await page.getByRole('group', { name: '필터' }).getByRole('button', { name: '제공 방식' }).click();
  await page.getByRole('checkbox', { name: '외부 제공자' }).check();
  await page.keyboard.press('Escape');
  await page.getByRole('combobox', { name: '컨텍스트' }).selectOption('32000');
  await page.getByRole('main').getByText('test/small').first().waitFor({ state: 'detached' });
  assert.match(page.url(), /context=32000/);
  assert.match(page.url(), /where=upstream/);
  await page.getByRole('main').getByRole('link', { name: 'test/large' }).first().click();
  await page.getByRole('heading', { level: 1, name: 'test/large' }).waitFor();
  assertClean();
  await follow(page, '/dashboard/models/no/model', 'no/model');
  await page.getByText('모델을 찾을 수 없습니다').waitFor();
  await close();
});
