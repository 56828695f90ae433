import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Area } from '../../src/pages/page-session.ts';

/** The views of a page whose address has a parameter, or which has several; null: it shows one thing. */
const views: Readonly<Record<Area, Readonly<Record<string, readonly string[] | null>>>> = {
  dashboard: {
    '/requests/$id': null,
    '/apps/$id': null,
    '/models/$author/$slug': ['/models/test/model'],
    '/rankings': ['/rankings', '/rankings?view=models'],
    '/sign-in': null,
    '/link': null,
    '/components': null,
  },
  console: {
    '/requests/$id': null,
    '/accounts/$id': ['usage', 'requests', 'apps', 'keys', 'credit', 'ledger', 'owners'].map(
      (tab) => `/accounts/1?tab=${tab}`,
    ),
    '/accounts/$id/requests/$request': null,
    '/accounts/$id/statement': ['/accounts/1/statement'],
    '/keys/$hash': null,
    '/top-ups': ['/top-ups?state=all'],
    '/quarantine': ['/quarantine?view=all'],
    // The table of the dashboard's settings.
    '/settings': null,
    '/sign-in': null,
    '/link': null,
  },
};

/** The addresses of every page with a list in the table of pages, with their views. */
export function viewsOf(area: Area): readonly string[] {
  const table = readFileSync(join(import.meta.dirname, `../../web/src/${area}/pages.ts`), 'utf8');
  const paths = [...table.matchAll(/^ {2}'([^']+)': \{/gm)].map(([, path = '']) => path);
  assert.ok(paths.length > 15);
  return paths.flatMap((path) => {
    const stated = views[area][path];
    assert.ok(stated !== undefined || !path.includes('$'), `${area} ${path}: state its views`);
    return stated === undefined ? [path] : (stated ?? []);
  });
}
