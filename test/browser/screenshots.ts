/**
 * `npm run screenshots [pattern]`: renders every page in both languages and themes, at 1440 and 390 px,
 * into `.cache/screenshots`, on a server with the demo engine and a month of real calls; then, as `long-…`,
 * in light colours at 1280 and 390 px, on a server with 1,000 rows of each list, names of any length and
 * script, and the largest amounts. With a pattern only the images whose name it matches, such as
 * `^dashboard-usage-ko-dark` or `long`; with `--window` what a window shows at first, instead of the
 * whole page.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { BrowserContext, Page } from 'playwright-core';
import type { Area } from '../../src/pages/page-session.ts';
import { root } from '../cli/naru.ts';
import { serverVariable } from '../harness/database.ts';
import { startTestServer } from '../harness/test-server.ts';
import { languages, startBrowser, type TestBrowser, themes, widths } from './browser.ts';
import { startBusySite } from './demo-traffic.ts';
import { type SignedInSite, startLongSite } from './long-site.ts';
import { shots } from './shots.ts';

const folder = join(root, '.cache/screenshots');
/** How long a chart may take after its page has its data. */
const settleMs = 600;

interface Session {
  readonly origin: string;
  readonly cookies: Parameters<BrowserContext['addCookies']>[0];
}
interface Picture {
  readonly name: string;
  readonly session: Session | null;
  readonly origin: string;
  readonly isWhole: boolean;
  readonly show: (page: Page) => Promise<void>;
  readonly widths?: readonly number[];
  readonly themes?: readonly (typeof themes)[number][];
}

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { window: { type: 'boolean', default: false } },
});

await main(new RegExp(positionals[0] ?? ''));

async function main(wanted: RegExp): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const server = await startTestServer(() => {});
  process.env[serverVariable] = JSON.stringify(server.connection);
  const browser = await startBrowser({ hasFonts: true });
  try {
    if (!wanted.source.includes('long')) await renderDemo(browser, wanted);
    if (!/^(?:dashboard|console)/.test(wanted.source)) await renderLong(browser, wanted);
  } finally {
    await browser.close();
    await server.stop();
  }
}

async function renderDemo(browser: TestBrowser, wanted: RegExp): Promise<void> {
  const site = await startBusySite();
  try {
    const sessions = {
      dashboard: await sessionAt(browser, site, 'dashboard'),
      console: await sessionAt(browser, site, 'console'),
    };
    for (const picture of picturesOf(sessions, site.ids)) await render(browser, picture, wanted);
  } finally {
    await site.close();
  }
}

async function sessionAt(browser: TestBrowser, site: SignedInSite, area: Area): Promise<Session> {
  const origin = await browser.reach(area, site.origins[area]);
  return { origin, cookies: site.cookiesOf(area, origin) };
}

async function renderLong(browser: TestBrowser, wanted: RegExp): Promise<void> {
  const site = await startLongSite(1000);
  try {
    for (const area of ['dashboard', 'console'] as const) {
      const session = await sessionAt(browser, site, area);
      for (const address of site.addresses[area]) {
        const name = `long-${area}${address.replaceAll(/\W+/g, '-').slice(0, 40)}`;
        const picture = {
          ...pageOf(name, `/${area}${address}`, session),
          widths: [1280, 390],
          themes: ['light'] as const,
        };
        // Its skeletons stay, and a picture without names shows it.
        if (address !== '/components') await render(browser, picture, wanted);
      }
    }
  } finally {
    await site.close();
  }
}

function pageOf(name: string, address: string, session: Session): Picture {
  return {
    name,
    session,
    origin: session.origin,
    isWhole: true,
    show: async (page) => {
      await page.goto(address);
      await page.getByRole('heading', { level: 1 }).waitFor();
    },
  };
}

function picturesOf(
  sessions: Readonly<Record<Area, Session>>,
  ids: { readonly request: string; readonly app: string },
): readonly Picture[] {
  const pages = (['dashboard', 'console'] as const).flatMap((area) =>
    pathsOf(area).map((path) => {
      const address = `/${area}${path
        .replace(/\/requests\/\$(?:id|request)$/, `/requests/${ids.request}`)
        .replace('/apps/$id', `/apps/${ids.app}`)
        .replace('$id', '1')}`;
      const name = path === '/' ? (area === 'dashboard' ? 'overview' : 'now') : path.slice(1);
      return pageOf(`${area}-${name.replaceAll(/\W+/g, '-')}`, address, sessions[area]);
    }),
  );
  const views = shots.map(
    (shot): Picture => ({
      ...shot,
      session: shot.isSignedIn === true ? sessions.dashboard : null,
      origin: sessions.dashboard.origin,
    }),
  );
  // The views make calls of the playground, which the pages would show.
  return [...pages, ...views];
}

/** The addresses of an application that need no more than the id of an account, an app or a request. */
function pathsOf(area: Area): readonly string[] {
  const text = readFileSync(join(root, `web/src/${area}/pages.ts`), 'utf8');
  const paths = [...text.matchAll(/^ {2}'([^']+)': \{/gm)].map(([, path = '']) => path);
  return paths.filter((path) => !/\$(?!id|request)|^\/(?:sign-in|link|components)/.test(path));
}

async function render(browser: TestBrowser, picture: Picture, wanted: RegExp): Promise<void> {
  for (const language of languages)
    for (const theme of picture.themes ?? themes)
      for (const width of picture.widths ?? widths) {
        const name = `${picture.name}-${language}-${theme}-${width}`;
        if (!wanted.test(name)) continue;
        const view = await browser.open(picture.origin, { language, theme, width });
        if (picture.session !== null) await view.context.addCookies([...picture.session.cookies]);
        await picture.show(view.page);
        // The page of the components shows what a page shows while it loads.
        if (picture.session !== null)
          await view.page.locator('.skeleton').first().waitFor({ state: 'detached' });
        await view.page.evaluate('document.fonts.ready');
        await view.page.waitForTimeout(settleMs);
        await view.page.screenshot({
          path: join(folder, `${name}.png`),
          fullPage: picture.isWhole && !flags.window,
        });
        await view.close();
        console.log(`${name}.png`);
      }
}
