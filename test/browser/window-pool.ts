import type { BrowserContext, Page } from 'playwright-core';
import { byTier } from '../harness/tier.ts';

/** A window of its own profile: no cookie, no stored value and no other page of an earlier test. */
export interface Window {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Ends its use. */
  close(): Promise<void>;
}

/** The events for which tests register listeners. */
const events = [
  'console',
  'pageerror',
  'request',
  'requestfailed',
  'requestfinished',
  'response',
  'download',
  'dialog',
  'popup',
] as const;

/**
 * The windows of one process. In the quick tier a window that a test closed is emptied and used
 * again by the next one with the same look: a page in a new profile takes 2 s of processor time, in
 * a used window 0.3 s. In the full tier every test has a new profile.
 */
export class WindowPool {
  readonly #free = new Map<string, { readonly context: BrowserContext; readonly page: Page }[]>();
  readonly #used = new Set<BrowserContext>();

  /** A window for this look, which `create` creates if none is free. */
  async open(look: string, create: () => Promise<BrowserContext>): Promise<Window> {
    const free = this.#free.get(look)?.pop();
    const context = free?.context ?? (await create());
    this.#used.add(context);
    const page = free?.page ?? (await context.newPage());
    const close = async (): Promise<void> => {
      this.#used.delete(context);
      if (!byTier(true, false) || !(await empty(context, page))) return await context.close();
      this.#free.set(look, [...(this.#free.get(look) ?? []), { context, page }]);
    };
    return { context, page, close };
  }

  /** Closes the windows that failed tests left open. */
  async closeUsed(): Promise<void> {
    const used = [...this.#used];
    this.#used.clear();
    await Promise.all(used.map((context) => context.close()));
  }
}

/** Removes what a test left in a window; false if that is impossible. */
async function empty(context: BrowserContext, page: Page): Promise<boolean> {
  try {
    for (const event of events) page.removeAllListeners(event);
    for (const other of context.pages()) if (other !== page) await other.close();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await context.unrouteAll({ behavior: 'ignoreErrors' });
    // It leaves by itself: the empty document has its origin and its process.
    await page.evaluate("void setTimeout(() => location.replace('about:blank'))");
    await page.waitForURL('about:blank');
    await page.evaluate('localStorage.clear(); sessionStorage.clear()');
    await context.clearCookies();
    await context.clearPermissions();
    return true;
  } catch {
    return false;
  }
}
