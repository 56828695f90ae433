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
import { root } from '../cli/naru.ts';
import { serverVariable } from '../harness/database.ts';
import { startTestServer } from '../harness/test-server.ts';
import { languages, startBrowser, type TestBrowser, themes, widths } from './browser.ts';
import { type BusySite, startBusySite } from './demo-traffic.ts';
import { startLongSite } from './long-site.ts';
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
  const browser = await startBrowser({ hasFonts: true });
  try {
    if (!wanted.source.includes('long')) await renderDemo(browser, wanted);
    if (!/^(?:dashboard|console)/.test(wanted.source)) await renderLong(browser, wanted);
  } finally {
    await browser.close();
  }
}

async function renderDemo(browser: TestBrowser, wanted: RegExp): Promise<void> {
  const site = await startBusySite();
  try {
    const sessions = {
      dashboard: await signInOwner(browser, site),
      console: await signInOperator(browser, site),
    };
    const ids = { request: site.requestId, app: await firstApp(sessions.dashboard) };
    for (const picture of picturesOf(site, sessions, ids)) await render(browser, picture, wanted);
  } finally {
    await site.close();
  }
}

async function renderLong(browser: TestBrowser, wanted: RegExp): Promise<void> {
  const server = await startTestServer(() => {});
  process.env[serverVariable] = JSON.stringify(server.connection);
  const site = await startLongSite(1000);
  try {
    for (const area of ['dashboard', 'console'] as const) {
      const origin = await browser.reach(area, site.origins[area]);
      const session = { origin, cookies: site.cookiesOf(area, origin) };
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
    await server.stop();
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

/** The owner, who chooses a password with an invitation. */
async function signInOwner(browser: TestBrowser, { installation, server }: BusySite): Promise<Session> {
  const { out } = await installation.run(
    'account',
    'invite',
    '--account',
    '1',
    '--email',
    'minji@naru.example',
  );
  return await signIn(browser, linkIn(out, server.origin), async (page) => {
    await page.getByLabel('새 비밀번호').fill('a long enough password');
    await page.getByRole('button', { name: '저장하고 로그인' }).click();
  });
}

async function signInOperator(browser: TestBrowser, { installation, links }: BusySite): Promise<Session> {
  const { out } = await installation.run('console');
  return await signIn(browser, linkIn(out, new URL(links.console).origin), async (page) => {
    await page.getByRole('button', { name: '콘솔 열기' }).click();
  });
}

/** The link of an output, at the address where the server listens. */
function linkIn(output: string, origin: string): string {
  const link = new URL(/http\S+/.exec(output)?.[0] ?? '');
  return `${origin}${link.pathname}${link.hash}`;
}

async function signIn(
  browser: TestBrowser,
  link: string,
  confirm: (page: Page) => Promise<void>,
): Promise<Session> {
  const { origin } = new URL(link);
  const view = await browser.open(origin);
  await view.page.goto(link);
  await confirm(view.page);
  await view.page.waitForURL((url) => !url.pathname.endsWith('/link'));
  await view.page.getByRole('heading', { level: 1 }).waitFor();
  const cookies = await view.context.cookies();
  await view.close();
  return { origin, cookies };
}

/** The id of an app with requests. */
async function firstApp({ origin, cookies }: Session): Promise<string> {
  const response = await fetch(`${origin}/dashboard/api/apps`, {
    headers: { cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; ') },
  });
  const { items } = (await response.json()) as { items: readonly { id: string | number }[] };
  return String(items[0]?.id);
}

function picturesOf(
  site: BusySite,
  sessions: Readonly<Record<'dashboard' | 'console', Session>>,
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
      origin: site.server.origin,
    }),
  );
  // The views make calls of the playground, which the pages would show.
  return [...pages, ...views];
}

/** The addresses of an application that need no more than the id of an account, an app or a request. */
function pathsOf(area: 'dashboard' | 'console'): readonly string[] {
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
