import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { sample } from '../harness/tier.ts';
import { languages, startBrowser, type TestBrowser, themes, type View, widths } from './browser.ts';

let gateway: TestGateway;
let browser: TestBrowser;
let origin = '';
before(async () => {
  [gateway, browser] = await Promise.all([startTestGateway(), startBrowser()]);
  origin = await browser.reach('dashboard', gateway.origin);
});
after(async () => {
  await browser?.close();
  await gateway?.close();
});

async function open(options: Parameters<TestBrowser['open']>[1]): Promise<View> {
  const view = await browser.open(origin, options);
  await view.page.goto('/dashboard/components');
  await view.page.locator('svg.chart').nth(2).waitFor();
  await view.page.evaluate('document.fonts.ready');
  return view;
}

const looks = themes.flatMap((theme) =>
  widths.flatMap((width) => languages.map((language) => ({ theme, width, language }))),
);

for (const { theme, width, language } of sample(looks, 2))
  test(`the components are accessible and quiet: ${theme}, ${language}, ${width} px`, async () => {
    const view = await open({ theme, language, width });
    assert.equal(await view.page.locator('h1').textContent(), language === 'ko' ? '구성 요소' : 'Components');
    assert.equal(await view.page.locator('html').getAttribute('lang'), language);
    assert.deepEqual(await view.axe(), []);
    assert.equal(
      await view.page.evaluate('document.documentElement.scrollWidth <= innerWidth'),
      true,
      'the page scrolls sideways',
    );
    view.assertClean();
    await view.close();
  });
