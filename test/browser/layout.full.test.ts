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
