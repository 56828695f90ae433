import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { arePagesBuilt, buildPages } from '../../scripts/pages.mjs';
import { scaledLimit } from '../harness/time-limit.ts';

const root = join(import.meta.dirname, '../..');
const executables = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const require = createRequire(import.meta.url);

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
  open(origin: string, options?: ViewOptions): Promise<View>;
  close(): Promise<void>;
}

/** Builds the pages unless their build is current. Files of one run that build at once each replace the whole. */
export async function buildTestPages(): Promise<void> {
  if (!arePagesBuilt(root)) assert.equal(await buildPages(root, process.execPath), null, 'the build of web/');
}

/** Builds the pages if they are not current, and starts Debian's Chromium. Fails when there is none. */
export async function startBrowser(): Promise<TestBrowser> {
  await buildTestPages();
  const executablePath = executables.find(existsSync);
  assert.ok(executablePath !== undefined, 'Chromium is missing: apt-get install chromium');
  const browser = await chromium.launch({
    executablePath,
    chromiumSandbox: false,
    // Text is drawn the same on every machine, without hints of the display. Without a process of
    // its own for drawing, the browser uses a quarter less processor time.
    args: ['--disable-gpu', '--in-process-gpu', '--font-render-hinting=none', '--disable-lcd-text'],
  });
  return {
    open: (origin, options = {}) => openView(browser, origin, options),
    close: () => browser.close(),
  };
}

async function openView(browser: Browser, origin: string, options: ViewOptions): Promise<View> {
  const { theme = 'light', language = 'ko', width = 1440 } = options;
  const context = await browser.newContext({
    baseURL: origin,
    locale: language === 'ko' ? 'ko-KR' : 'en-US',
    timezoneId: 'Europe/Berlin',
    colorScheme: theme,
    reducedMotion: 'reduce',
    viewport: { width, height: width < 720 ? 844 : 900 },
    hasTouch: width < 720,
  });
  const limitMs = scaledLimit(20_000);
  context.setDefaultTimeout(limitMs);
  context.setDefaultNavigationTimeout(limitMs);
  const page = await context.newPage();
  const faults: string[] = [];
  watch(page, origin, faults);
  return {
    page,
    context,
    faults,
    assertClean: () => assert.deepEqual(faults, []),
    axe: () => runAxe(page),
    close: () => context.close(),
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

/** WCAG 2.2 AA and the best practices of axe. */
async function runAxe(page: Page): Promise<readonly string[]> {
  // The debugger runs it; a script element would violate the content security policy.
  await page.evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
  const results = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as AxeResults;
  return results.violations.map(({ id, help, nodes }) => {
    const [first] = nodes;
    return `${id} (${nodes.length}): ${help}\n  ${first?.html}\n  ${first?.failureSummary}`;
  });
}
