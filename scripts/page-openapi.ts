/**
 * Writes `web/src/api/openapi.json`, the OpenAPI document of the page API, from its rows, and from
 * the document `web/src/api/types.gen.ts`, the types of the web. `test/pages/openapi.test.ts`
 * checks that both are current.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type ConsoleParts, consoleRows } from '../src/pages/console/rows.ts';
import { type DashboardParts, dashboardRows } from '../src/pages/dashboard/rows.ts';
import { pageOpenapi } from '../src/pages/openapi.ts';
import { pageTypes } from './page-types.ts';

export const pageOpenapiFile = join(import.meta.dirname, '../web/src/api/openapi.json');
export const pageTypesFile = join(import.meta.dirname, '../web/src/api/types.gen.ts');

/** The document as it is written. Rows need their parts only when they handle a request. */
export function pageOpenapiText(): string {
  const rows = [...dashboardRows({} as DashboardParts), ...consoleRows({} as ConsoleParts)];
  return `${JSON.stringify(pageOpenapi(rows), null, 2)}\n`;
}

/** The types as they are written. */
export function pageTypesText(): string {
  return pageTypes(JSON.parse(pageOpenapiText()));
}

if (import.meta.main) {
  mkdirSync(dirname(pageOpenapiFile), { recursive: true });
  writeFileSync(pageOpenapiFile, pageOpenapiText());
  writeFileSync(pageTypesFile, pageTypesText());
}
