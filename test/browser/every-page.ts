import assert from 'node:assert/strict';
import type { Area } from '../../src/pages/page-session.ts';
import { byTier } from '../harness/tier.ts';
import { follow, looksOf, type View, type ViewOptions } from './browser.ts';

/** The path of a page, its heading in both languages, and a text that only loaded data shows. */
export type PageCase = readonly [path: string, ko: string, en: string, shows: RegExp];

/** Names and identifiers that a Korean page has in Latin letters; `test` is the account of the harness. */
const latinNames = new Set(
  (
    'API APIs ID KST UTC GPU URL JSON CSV HTTP IP KRW USD PIN QR SDK AI OpenAI OpenAPI OpenRouter LangChain Python TypeScript ' +
    'Naru naru openai curl English Ctrl K G Enter Shift User Agent Top Min P MiB GiB kB MB ms pid Chrome Chromium Linux test'
  ).split(' '),
);

/** The words in Latin letters of a page that are neither names, nor identifiers, nor of `data`. */
async function latinWords(view: View, data: readonly string[]): Promise<readonly string[]> {
  const texts = await view.page.evaluate<readonly string[]>(`(() => {
    const skipped = 'code, pre, kbd, option, .font-mono, [lang]:not(html)';
    const texts = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { parentElement, data } = walker.currentNode;
      if (parentElement.closest(skipped + ', script, style') === null) texts.push(data);
    }
    for (const element of document.querySelectorAll('[aria-label], [placeholder], [title]'))
      for (const name of ['aria-label', 'placeholder', 'title'])
        if (element.closest(skipped) === null) texts.push(element.getAttribute(name) ?? '');
    return texts;
  })()`);
  const words = texts
    .map((text) => data.reduce((rest, name) => rest.replaceAll(name, ' '), text))
    // A command, a name between quotes, and a path.
    .map((text) => text.replaceAll(/naru(?: [a-z-]+)+|“[^”]*”|‘[^’]*’|(?:GET )?(?<!\w)\/\w+/g, ' '))
    .flatMap((text) => (text.match(/[A-Za-z][\w'./:@=…-]+/g) ?? []).map((word) => [word, text] as const))
    .map(([word, text]) => [word.replace(/[.:'…-]+$/, ''), text.trim().slice(0, 100)] as const);
  // What has a digit, a dot, a slash, an underscore or a hyphen is an identifier.
  return words
    .filter(([word]) => !/[\d._/:@=-]/.test(word) && !latinNames.has(word))
    .map(([word, text]) => `${word}: ${text}`);
}

/**
 * Opens every page of an area in its looks: it shows its data, axe finds nothing, and nothing goes
 * wrong. In the quick tier the pages of one look follow each other in one window, and axe looks at
 * half of the pages of each look; in the full tier each has its own window, and axe looks at all.
 * `check` is called at every page as well. A Korean page has no English beside names and `data`.
 */
export async function checkPages(
  area: Area,
  pages: readonly PageCase[],
  open: (path: string, options: ViewOptions) => Promise<View>,
  check: (view: View, isEnglish: boolean) => Promise<void> = async () => {},
  data: readonly string[] = [],
): Promise<void> {
  const visits = pages.flatMap((page, number) =>
    looksOf(number).map((look) => ({ page, look, isForAxe: byTier(number % 4 < 2, true) })),
  );
  const windows = byTier(
    [...Map.groupBy(visits, ({ look }) => look).values()],
    visits.map((visit) => [visit]),
  );
  for (const visitsOfWindow of windows) {
    let view: View | null = null;
    for (const { page, look, isForAxe } of visitsOfWindow) {
      const [path, ko, en, shows] = page;
      const isEnglish = look.language === 'en';
      const title = isEnglish ? en : ko;
      if (view === null) view = await open(path, look);
      else await follow(view.page, `/${area}${path}`, title);
      await view.page.getByRole('heading', { level: 1, name: title }).waitFor();
      await view.page.getByRole('main').getByText(shows).first().waitFor();
      if (!isEnglish) assert.deepEqual(await latinWords(view, data), [], `${path}: Latin words`);
      await check(view, isEnglish);
      if (isForAxe) assert.deepEqual(await view.axe(), [], `${path} ${title}`);
    }
    view?.assertClean();
    await view?.close();
  }
}
