/**
 * What the pages do with names of any length and script and with the largest amounts: nothing leaves
 * its container, money and states stay in sight, and nothing jumps while a page loads. Every view of
 * both applications, in both languages, at three widths; the quick tier takes a sample.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { sample } from '../harness/tier.ts';
import { languages, startBrowser, type TestBrowser } from './browser.ts';
import { type LongSite, startLongSite } from './long-site.ts';

const widths = [1280, 1440, 390];
/** The layout shift of a page that loads, all in all. */
const maxShift = 0.05;

let site: LongSite;
let browser: TestBrowser;

before(async () => {
  [site, browser] = await Promise.all([startLongSite(30), startBrowser({ hasFonts: true })]);
});
after(async () => {
  await browser?.close();
  await site?.close();
});

interface Layout {
  readonly faults: readonly string[];
  readonly shift: number;
  readonly moved: readonly string[];
}

for (const area of ['dashboard', 'console'] as const)
  for (const width of widths)
    for (const language of languages)
      test(`nothing of the ${area} leaves its container or jumps, at ${width} px in ${language}`, async () => {
        const origin = await browser.reach(area, site.origins[area]);
        const { page, context, close } = await browser.open(origin, { width, language });
        await context.addCookies(site.cookiesOf(area, origin));
        await (await context.newCDPSession(page)).send('Network.setCacheDisabled', { cacheDisabled: true });
        const found: string[] = [];
        for (const address of sample(site.addresses[area], 3)) {
          const { faults, shift, moved } = await layoutOf(page, `/${area}${address}`);
          console.log(`layout shift ${shift.toFixed(3)} ${area}${address} ${width} px ${language}`);
          found.push(...faults.map((fault) => `${address}: ${fault}`));
          if (shift > maxShift) found.push(`${address}: shift ${shift.toFixed(3)} by ${moved.join(' | ')}`);
        }
        await close();
        assert.deepEqual(found, []);
      });

// A later page of a window finds its fonts loaded. The texts of these two wrap most.
for (const language of languages)
  test(`the first page of a new window does not jump, at 390 px in ${language}`, async () => {
    const origin = await browser.reach('dashboard', site.origins.dashboard);
    for (const address of ['/docs', '/keys']) {
      const { page, context, close } = await browser.open(origin, { width: 390, language });
      await context.addCookies(site.cookiesOf('dashboard', origin));
      const { shift, moved } = await layoutOf(page, `/dashboard${address}`);
      await close();
      assert.ok(shift <= maxShift, `${address}: shift ${shift.toFixed(3)} by ${moved.join(' | ')}`);
    }
  });

/** The buttons that open a dialog, at a few addresses. */
const dialogs = {
  dashboard: { '/keys': ['키 만들기'], '/playground': ['코드 보기'] },
  console: {
    '/accounts': ['계정 만들기'],
    '/accounts/1?tab=owners': [
      ...['수정', '해지', '정지', '조정', '크레딧 지급'],
      ...['소유자 초대', '모두 로그아웃'],
    ],
    '/announcements': ['공지 작성'],
    '/operators': ['운영자 추가', '토큰 만들기'],
    '/candidates': ['테스트', '새 요청 중단'],
    '/quarantine?view=all': ['다시 정산', '청구 포기'],
  },
} as const;

for (const area of ['dashboard', 'console'] as const)
  for (const width of [1280, 390])
    test(`nothing of a dialog of the ${area} leaves it, and every ring shows, at ${width} px`, async () => {
      const origin = await browser.reach(area, site.origins[area]);
      const { page, context, close } = await browser.open(origin, { width });
      await context.addCookies(site.cookiesOf(area, origin));
      const found: string[] = [];
      for (const [address, names] of Object.entries<readonly string[]>(dialogs[area])) {
        for (const name of names) {
          await page.goto(`/${area}${address}`);
          const opener = page.getByRole('main').getByRole('button', { name, exact: true }).first();
          await opener.focus();
          await page.keyboard.press('Enter');
          const dialog = page.getByRole('dialog');
          await dialog.waitFor();
          for (const folded of await dialog.locator('details:not([open]) summary').all()) {
            await folded.focus();
            await page.keyboard.press('Enter');
          }
          const { faults } = await page.evaluate<Layout>(measure);
          found.push(...faults.map((fault) => `${address} ${name}: ${fault}`));
        }
      }
      await close();
      assert.deepEqual(found, []);
    });

const measure = readFileSync(join(import.meta.dirname, 'measure-layout.js'), 'utf8');

/** A page from an empty cache until it is quiet, and what is wrong with it. */
async function layoutOf(page: Page, address: string): Promise<Layout> {
  await page.goto(address);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForLoadState('networkidle').catch(() => {});
  await page.evaluate('document.fonts.ready');
  // From here on the focus has its ring.
  await page.keyboard.press('Tab');
  return await page.evaluate<Layout>(measure);
}
