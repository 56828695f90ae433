import assert from 'node:assert/strict';
import type { Area } from '../../src/pages/page-session.ts';
import { byTier } from '../harness/tier.ts';
import { follow, looksOf, type View, type ViewOptions } from './browser.ts';

/** The path of a page, its heading in both languages, and a text that only loaded data shows. */
export type PageCase = readonly [path: string, ko: string, en: string, shows: RegExp];

/**
 * Opens every page of an area in its looks: it shows its data, axe finds nothing, and nothing goes
 * wrong. In the quick tier the pages of one look follow each other in one window, and axe looks at
 * half of the pages of each look; in the full tier each has its own window, and axe looks at all.
 * `check` is called at every page as well.
 */
export async function checkPages(
  area: Area,
  pages: readonly PageCase[],
  open: (path: string, options: ViewOptions) => Promise<View>,
  check: (view: View, isEnglish: boolean) => Promise<void> = async () => {},
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
      await check(view, isEnglish);
      if (isForAxe) assert.deepEqual(await view.axe(), [], `${path} ${title}`);
    }
    view?.assertClean();
    await view?.close();
  }
}
