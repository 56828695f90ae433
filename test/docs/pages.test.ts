import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isBuilt, pageRows, pagesDocument, pagesFile, pageTests } from '../../scripts/page-tests.ts';

test('every page that is built has a test, and every page that a test names exists', () => {
  const named = new Set(pageTests().flatMap(({ ids }) => ids));
  const built = pageRows.filter(isBuilt).map(({ id }) => id);
  assert.deepEqual(
    built.filter((id) => !named.has(id)),
    [],
  );
  assert.deepEqual(
    [...named].filter((id) => !pageRows.some((row) => row.id === id)),
    [],
  );
});

test('docs/pages.md names each of those tests, and no other', () => {
  assert.equal(
    readFileSync(pagesFile, 'utf8'),
    pagesDocument(pageTests()),
    'run `node scripts/page-tests.ts` with the Node of the project',
  );
});
