import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { arePagesBuilt, buildPages } from '../../scripts/pages.mjs';
import type { Area } from '../../src/pages/page-session.ts';
import { byTier } from '../harness/tier.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { Relay } from './relay.ts';
import { WindowPool } from './window-pool.ts';

const root = join(import.meta.dirname, '../..');
const chromiums = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
/** The quick tier prefers Chromium without a user interface: a quarter less processor time. */
const executables = byTier(['/usr/bin/chromium-headless-shell', ...chromiums], chromiums);
const require = createRequire(import.meta.url);
/** How long the browser of a process waits for its next file. */
const idleMs = 1000;

export const themes = ['light', 'dark'] as const;
export const languages = ['ko', 'en'] as const;
/** Widths of a desktop and of a phone, in CSS pixels. */
export const widths = [1440, 390] as const;

export interface ViewOptions {
  readonly theme?: (typeof themes)[number];
  readonly language?: (typeof languages)[number];
  readonly width?: number;
}

/** One window of a person, with everything that it must not do. */
export interface View {
  readonly page: Page;
  readonly context: BrowserContext;
  /**
   * Violations of the content security policy, errors of the console, uncaught errors and requests
   * to other origins.
   */
  readonly faults: readonly string[];
  /** Fails unless nothing went wrong so far. */
  assertClean(): void;
  /** What axe finds on the page as it is, one entry a rule, with its first element. */
  axe(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** A browser, and the pages built from the present sources. */
export interface TestBrowser {
  /**
   * The origin of the windows for the server of this file: the same one for all files of a process.
   */
  reach(area: Area, serverOrigin: string): Promise<string>;
  open(origin: string, options?: ViewOptions): Promise<View>;
  close(): Promise<void>;
}

let built: Promise<void> | null = null;

/** Builds the pages unless their build is current; processes that do it at once replace the whole. */
export function buildTestPages(): Promise<void> {
  built ??= build();
  return built;
}

async function build(): Promise<void> {
  if (!arePagesBuilt(root)) assert.equal(await buildPages(root, process.execPath), null, 'the build of web/');
}

/** The look that differs from the usual one in everything. */
export const phone: ViewOptions = { language: 'en', theme: 'dark', width: 390 };

/** The two looks in which every page is tested; one of them, in turns, in the quick tier. */
const pageLooks: readonly ViewOptions[] = [{}, phone];

/** The looks of the page with this number. */
export function looksOf(number: number): readonly ViewOptions[] {
  return byTier(
    pageLooks.filter((_, index) => index === number % pageLooks.length),
    pageLooks,
  );
}

/**
 * Leads to another page of the application, and waits for its heading: as a link does in the quick
 * tier, by loading it in the full one, or where the page before has the same heading.
 */
export async function follow(page: Page, path: string, title: string): Promise<void> {
  const heading = page.getByRole('heading', { level: 1, name: title, exact: true });
  if (byTier(await heading.isHidden(), false))
    await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`);
  else await page.goto(path);
  await heading.waitFor();
}

/** The browser of a process, and how many files use it. */
interface SharedBrowser {
  readonly browser: Promise<Browser>;
  readonly pool: WindowPool;
  readonly relays: Readonly<Record<Area, Promise<Relay>>>;
  users: number;
}
let shared: SharedBrowser | null = null;

/**
 * Builds the pages if they are not current, and starts Debian's Chromium. Fails when there is none.
 * The files of one process share it. The quick tier has no fonts of the pages unless `hasFonts`: to
 * decode them takes a tenth of the processor time of a page; `bundle.test.ts` checks where they come
 * from.
 */
export async function startBrowser({ hasFonts = byTier(false, true) } = {}): Promise<TestBrowser> {
  await buildTestPages();
  shared ??= share(hasFonts);
  const own = shared;
  own.users += 1;
  const browser = await own.browser;
  return {
    reach: async (area, serverOrigin) => {
      const relay = await own.relays[area];
      relay.lead(serverOrigin);
      return relay.origin;
    },
    open: (origin, options = {}) => openView(browser, own.pool, origin, options),
    close: async () => {
      await own.pool.closeUsed();
      own.users -= 1;
      // The next file of this process starts at once, if there is one.
      setTimeout(() => {
        if (own.users > 0) return;
        if (shared === own) shared = null;
        void browser.close();
      }, idleMs);
    },
  };
}

function share(hasFonts: boolean): SharedBrowser {
  const relays = { dashboard: Relay.start(), console: Relay.start() };
  const launching = launch(hasFonts).then((browser) => {
    browser.once('disconnected', () => {
      // After a crash the next file starts another one.
      if (shared === created) shared = null;
      for (const relay of Object.values(relays)) void relay.then((running) => running.close());
    });
    return browser;
  });
  const created: SharedBrowser = { browser: launching, pool: new WindowPool(), relays, users: 0 };
  return created;
}

async function launch(hasFonts: boolean): Promise<Browser> {
  const executablePath = executables.find(existsSync);
  assert.ok(executablePath !== undefined, 'Chromium is missing: apt-get install chromium');
  return await chromium.launch({
    executablePath,
    chromiumSandbox: false,
    // Text is drawn the same on every machine, without hints of the display. Without a process of
    // its own for drawing, the browser uses a quarter less processor time.
    args: [
      ...['--disable-gpu', '--in-process-gpu', '--font-render-hinting=none', '--disable-lcd-text'],
      ...(hasFonts ? [] : ['--disable-remote-fonts']),
    ],
  });
}

async function openView(
  browser: Browser,
  pool: WindowPool,
  origin: string,
  options: ViewOptions,
): Promise<View> {
  const { theme = 'light', language = 'ko', width = 1440 } = options;
  const { page, context, close } = await pool.open([origin, theme, language, width].join(' '), async () => {
    const created = await browser.newContext({
      baseURL: origin,
      locale: language === 'ko' ? 'ko-KR' : 'en-US',
      timezoneId: 'Europe/Berlin',
      colorScheme: theme,
      reducedMotion: 'reduce',
      viewport: { width, height: width < 720 ? 844 : 900 },
      hasTouch: width < 720,
    });
    const limitMs = scaledLimit(20_000);
    created.setDefaultTimeout(limitMs);
    created.setDefaultNavigationTimeout(limitMs);
    return created;
  });
  const faults: string[] = [];
  watch(page, origin, faults);
  return {
    page,
    context,
    faults,
    assertClean: () => assert.deepEqual(faults, []),
    axe: () => runAxe(page, theme),
    close,
  };
}

function watch(page: Page, origin: string, faults: string[]): void {
  page.on('console', (message) => {
    const { url } = message.location();
    // The browser itself reports the refused question who has signed in.
    if (url.endsWith('/api/session') && message.text().startsWith('Failed to load resource')) return;
    // A request that the test itself aborts.
    if (message.text() === 'Failed to load resource: net::ERR_FAILED') return;
    if (message.type() === 'error' || message.type() === 'warning')
      faults.push(`console: ${message.text()} (${url})`);
  });
  page.on('pageerror', (error) => faults.push(`uncaught: ${error.message}`));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !/^(?:data|blob):/.test(url)) faults.push(`foreign request: ${url}`);
  });
  page.on('requestfailed', (request) => {
    const text = request.failure()?.errorText ?? '';
    if (text.includes('csp')) faults.push(`blocked: ${request.url()} ${text}`);
  });
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly help: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

/** The pages and dialogs that this process has checked, in the quick tier. */
const checked = new Set<string>();

/**
 * WCAG 2.2 AA and the best practices of axe. The quick tier checks each page once, each dialog once
 * without the page behind it, and the page of all components once in a theme.
 */
async function runAxe(page: Page, theme: string): Promise<readonly string[]> {
  // Before its heading a page is still loading.
  await page.locator('h1').first().waitFor({ state: 'attached' });
  const title = await page.evaluate<string | null>(
    "document.querySelector('[role=dialog]')?.textContent ?? null",
  );
  const path = new URL(page.url()).pathname.replace(/\/(?:\d+|gen-[^/]+|\w{32,})/g, '/ID');
  const subject = [path, title, path.endsWith('/components') ? theme : ''].join(' ');
  if (byTier(checked.has(subject), false)) return [];
  checked.add(subject);
  // The debugger runs it; a script element would violate the content security policy.
  if (!(await page.evaluate<boolean>("'axe' in window")))
    await page.evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
  const part = byTier("document.querySelector('[role=dialog]') ?? document", 'document');
  const results = (await page.evaluate(
    `axe.run(${part}, ${JSON.stringify({ resultTypes: ['violations'] })})`,
  )) as AxeResults;
  return results.violations.map(({ id, help, nodes }) => {
    const [first] = nodes;
    return `${id} (${nodes.length}): ${help}\n  ${first?.html}\n  ${first?.failureSummary}`;
  });
}
