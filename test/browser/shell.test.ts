/**
 * The shell of the applications and their components, by keyboard. The tests of the quick tier share
 * one window with the page of all components; each leaves the page usable for the next one.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { byTier, sample } from '../harness/tier.ts';
import {
  languages,
  phone,
  startBrowser,
  type TestBrowser,
  themes,
  type View,
  type ViewOptions,
  widths,
} from './browser.ts';

let gateway: TestGateway;
let browser: TestBrowser;
let origin = '';
before(async () => {
  [gateway, browser] = await Promise.all([startTestGateway(), startBrowser()]);
  origin = await browser.reach('dashboard', gateway.origin);
});
after(async () => {
  await open?.close();
  await browser?.close();
  await gateway?.close();
});

type Look = Required<ViewOptions>;
const looks: readonly Look[] = themes.flatMap((theme) =>
  widths.flatMap((width) => languages.map((language) => ({ theme, width, language }))),
);
const [usual] = looks;

/** The window with the usual look that the next test of the quick tier goes on in. */
let open: View | null = null;

/** The components page, and at the end: nothing went wrong in it. */
async function withView(use: (view: View) => Promise<void>, look = usual): Promise<void> {
  const view = (look === usual ? open : null) ?? (await openComponents(look));
  if (open === view) open = null;
  await use(view);
  view.assertClean();
  if (byTier(look === usual, false)) open = view;
  else await view.close();
}

async function openComponents(look: ViewOptions | undefined): Promise<View> {
  const view = await browser.open(origin, look);
  await view.page.goto('/dashboard/components');
  await view.page.locator('svg.chart').nth(2).waitFor();
  return view;
}

for (const look of sample(looks, 2))
  test(`the components are accessible and quiet: ${look.theme}, ${look.language}, ${look.width} px`, () =>
    withView(async ({ page, axe }) => {
      await page.evaluate('document.fonts.ready');
      assert.equal(
        await page.locator('h1').textContent(),
        look.language === 'ko' ? '구성 요소' : 'Components',
      );
      assert.equal(await page.locator('html').getAttribute('lang'), look.language);
      assert.deepEqual(await axe(), []);
      assert.equal(
        await page.evaluate('document.documentElement.scrollWidth <= innerWidth'),
        true,
        'the page scrolls sideways',
      );
    }, look));

test('the first key press leads past the navigation', () =>
  withView(async ({ page }) => {
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate('document.activeElement.id'), 'main');
  }));

test('a dialog keeps the focus, requires the name, and restores the focus', () =>
  withView(async ({ page, axe }) => {
    const opener = page.getByRole('button', { name: '확인 요청' });
    await opener.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: '키를 폐기할까요?' });
    await dialog.waitFor();
    assert.deepEqual(await axe(), []);
    for (let presses = 0; presses < 6; presses += 1) {
      await page.keyboard.press('Tab');
      assert.equal(await page.evaluate("document.activeElement.closest('[role=dialog]') !== null"), true);
    }
    const confirm = dialog.getByRole('button', { name: '폐기' });
    assert.equal(await confirm.isDisabled(), true);
    await dialog.getByRole('textbox').fill('batch');
    assert.equal(await confirm.isEnabled(), true);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.locator(':focus', { hasText: '확인 요청' }).waitFor();
  }));

test('chosen days are checked, and go to the URL', () =>
  withView(async ({ page, axe }) => {
    await page.getByRole('button', { name: '직접 선택' }).click();
    await page.getByLabel('시작일').fill('2026-11-20');
    await page.getByLabel('종료일').fill('2026-11-01');
    await page.getByText('종료일이 시작일보다 빠릅니다.').waitFor();
    assert.deepEqual(await axe(), []);
    await page.getByLabel('종료일').fill('2026-11-21');
    await page.getByRole('button', { name: '적용' }).click();
    await page.waitForURL(/range=custom&from=2026-11-20&to=2026-11-21/);
  }));

test('a table sorts by exact values, and its CSV has every row', () =>
  withView(async ({ page }) => {
    const table = page.getByRole('region', { name: '표', exact: true });
    await table.getByRole('button', { name: '비용' }).click();
    assert.equal(await table.locator('th[aria-sort=descending]').textContent(), '비용');
    const costs = await table
      .locator('tbody td:nth-child(7) data')
      .evaluateAll((cells) => cells.map((cell) => BigInt((cell as unknown as { value: string }).value)));
    assert.equal(costs.length, 25);
    assert.ok(costs.every((cost, index) => index === 0 || cost <= (costs[index - 1] ?? 0n)));
    await page.getByRole('button', { name: '내보내기' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'CSV' }).click(),
    ]);
    const text = readFileSync(await download.path(), 'utf8');
    assert.ok(text.startsWith('\uFEFF시각 (KST),모델,'));
    assert.equal(text.trimEnd().split('\r\n').length, 2001);
    await page.getByText('행 2000개를 CSV 파일로 저장했습니다.').waitFor();
  }));

test('a virtual table renders only its window, and every other state has its message', () =>
  withView(async ({ page, axe }) => {
    await page.getByRole('button', { name: '가상' }).click();
    const table = page.getByRole('region', { name: '표', exact: true });
    await table.locator('table[aria-rowcount="2001"]').waitFor();
    assert.ok((await table.locator('tbody tr').count()) < 60);
    await page.evaluate('document.querySelector("section[aria-label=표]").scrollTo(0, 1e6)');
    await table.locator('tr[aria-rowindex="2001"]').waitFor();
    assert.deepEqual(await axe(), []);
    for (const [name, words] of [
      ['비어 있음', '아직 키가 없습니다'],
      ['오류', '불러오지 못했습니다'],
    ] as const) {
      await page.getByRole('button', { name, exact: true }).click();
      await page.getByText(words).nth(1).waitFor();
      assert.deepEqual(await axe(), []);
    }
  }));

test('a chart reads its values out by keyboard, and shows them as a table', () =>
  withView(async ({ page, axe }) => {
    const chart = page.getByRole('slider', { name: '모델별 비용' });
    await chart.focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowRight');
    assert.match(
      (await chart.getAttribute('aria-valuetext')) ?? '',
      /^10월 25일 \(일\): naru\/demo [\d,.]+원, /,
    );
    await page.locator('figure', { has: chart }).getByRole('button', { name: '표로 보기' }).click();
    const table = page.getByRole('region', { name: '모델별 비용' });
    const rows = table.locator('tbody tr');
    await rows.nth(29).waitFor();
    assert.equal(await rows.count(), 30);
    assert.deepEqual(await axe(), []);
  }));

test('the values beside the cursor of a chart stay in the window of a phone', () =>
  withView(
    async ({ page }) => {
      const chart = page.getByRole('slider').first();
      await chart.focus();
      await page.keyboard.press('Home');
      const values = page.locator('figure', { has: chart }).locator('.shadow-raised');
      for (let point = 0; point < 30; point += 1) {
        const box = await values.boundingBox();
        assert.ok(box !== null && box.x >= 0 && box.x + box.width <= 390, `${point}: ${JSON.stringify(box)}`);
        await page.keyboard.press('ArrowRight');
      }
    },
    looks.find(({ width }) => width === 390),
  ));

test('the palette opens by keyboard; theme, language, filters and days stay after a reload', () =>
  withView(async ({ page, axe }) => {
    await page.keyboard.press('Control+k');
    const input = page.getByRole('combobox', { name: '검색' });
    await input.fill('어둡게');
    assert.deepEqual(await axe(), []);
    await page.keyboard.press('Enter');
    await input.waitFor({ state: 'detached' });
    const isDark = (): Promise<string> =>
      page.evaluate('getComputedStyle(document.documentElement).colorScheme');
    assert.equal(await isDark(), 'dark');
    await page.getByRole('button', { name: '상태' }).first().focus();
    await page.keyboard.press('Enter');
    await page.getByRole('checkbox', { name: '실패' }).focus();
    await page.keyboard.press('Space');
    await page.waitForURL(/[?&]status=failed/);
    assert.deepEqual(await axe(), []);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: '7일' }).click();
    await page.waitForURL(/[?&]range=7d/);
    await page.getByRole('button', { name: '언어' }).click();
    await page.getByRole('menuitemradio', { name: 'English' }).click();
    await page.getByRole('heading', { level: 1, name: 'Components' }).waitFor();
    assert.equal(await page.title(), 'Components · Naru');
    await page.reload({ waitUntil: 'commit' });
    await page.waitForSelector('#root', { state: 'attached' });
    assert.equal(await isDark(), 'dark', 'before the application runs');
    await page.getByRole('heading', { level: 1, name: 'Components' }).waitFor();
    assert.equal(await page.locator('html').getAttribute('lang'), 'en');
    await page.getByRole('button', { name: 'Status: Failed' }).waitFor();
    assert.equal(await page.getByRole('button', { name: '7 days' }).getAttribute('aria-pressed'), 'true');
  }));

test('on a phone the navigation is a drawer that Escape closes', async () => {
  const { page, axe, assertClean, close } = await browser.open(origin, phone);
  await page.goto('/dashboard/docs');
  await page.getByRole('button', { name: 'Open the menu' }).click();
  const drawer = page.getByRole('dialog');
  await drawer.waitFor();
  assert.deepEqual(await axe(), []);
  await page.keyboard.press('Escape');
  await drawer.waitFor({ state: 'detached' });
  assertClean();
  await close();
});

test('a menu that is opened while a page loads stays open', async () => {
  const { page, assertClean, close } = await browser.open(origin);
  await page.goto('/dashboard/docs');
  await page.getByRole('heading', { level: 1 }).waitFor();
  const release = Promise.withResolvers<void>();
  await page.route('**/*.js', async (route) => {
    await release.promise;
    await route.continue();
  });
  await page.getByRole('navigation').getByRole('link', { name: '모델', exact: true }).click();
  await page.getByRole('button', { name: '언어' }).click();
  const menu = page.getByRole('menu');
  await menu.waitFor();
  release.resolve();
  await page.getByRole('heading', { level: 1, name: '모델' }).waitFor();
  // The router reports a page after it was painted.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)))');
  assert.equal(await menu.isVisible(), true);
  assertClean();
  await close();
});

test('a banner shows that the server is away, until it is back', async () => {
  const { page, axe, assertClean, close } = await browser.open(origin);
  await page.route('**/dashboard/api/session', (route) => route.abort());
  await page.route('**/dashboard/', (route) => route.abort());
  await page.goto('/dashboard/docs');
  const banner = page.getByText('서버에 연결할 수 없습니다.', { exact: false });
  await banner.waitFor();
  await page.getByRole('heading', { level: 1 }).waitFor();
  assert.deepEqual(await axe(), []);
  await page.unrouteAll();
  await banner.waitFor({ state: 'detached' });
  assertClean();
  await close();
});
