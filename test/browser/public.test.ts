/** The pages that anybody may open without an account. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';
import { startBrowser, type TestBrowser, type View, type ViewOptions } from './browser.ts';

let upstream: Upstream;
let gateway: TestGateway;
let browser: TestBrowser;

before(async () => {
  upstream = await startUpstream();
  [gateway, browser] = await Promise.all([
    startTestGateway({
      models: [
        { id: 'test/large', upstreams: [upstream.url] },
        { id: 'test/small', upstreams: [upstream.url] },
      ],
      config: { datasets: { samples: true } },
    }),
    startBrowser(),
  ]);
});
after(async () => {
  await browser?.close();
  await gateway?.close();
  await upstream?.close();
});

/** A window of a visitor who has not signed in. */
async function visit(path: string, options: ViewOptions = {}): Promise<View> {
  const view = await browser.open(gateway.origin, options);
  await view.page.goto(`/dashboard${path}`);
  return view;
}

// pages:U10
test('the rankings of apps and models show their source, their charts and tables', async () => {
  for (const options of [{}, { language: 'en', theme: 'dark', width: 390 }] as const) {
    const { page, axe, assertClean, close } = await visit('/rankings', options);
    const isEnglish = 'language' in options;
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
test('category, subcategory, period and slice are in the address and narrow the ranking', async () => {
  const { page, assertClean, close } = await visit('/rankings');
  await page.getByLabel('분류', { exact: true }).selectOption('coding');
  await page.getByLabel('세부 분류').selectOption('cli-agent');
  await page.getByText('coding / ide-extension').first().waitFor({ state: 'detached' });
  const names = await page.getByRole('row').getByText('coding / cli-agent').count();
  assert.ok(names > 3);
  assert.match(page.url(), /category=coding/);
  const earlier = await page.getByLabel('기간').locator('option').nth(2).getAttribute('value');
  await page.getByLabel('기간').selectOption(earlier);
  await page.waitForURL((url) => url.searchParams.get('end') === earlier);
  await page.reload();
  assert.equal(await page.getByLabel('세부 분류').inputValue(), 'cli-agent');
  await page.getByText('coding / cli-agent').first().waitFor();
  await page.goto('/dashboard/rankings?view=models');
  await page.getByLabel('범위').selectOption('category:programming');
  await page.getByRole('button', { name: '일', exact: true }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: '표로 보기' }).click();
  await page.getByRole('main').getByRole('columnheader', { name: '날짜' }).waitFor();
  assertClean();
  await close();
});
