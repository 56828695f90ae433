import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
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

test('every test that docs/pages-conventions.md names exists', () => {
  const tests = join(import.meta.dirname, '..');
  const page = readFileSync(join(tests, '../docs/pages-conventions.md'), 'utf8');
  const named = [...page.matchAll(/`([\w/-]+\.test\.ts)`: (.+?)(?=<br>| \|)/g)];
  assert.ok(named.length > 50);
  const missing = named.flatMap(([, file = '', name = '']) =>
    readFileSync(join(tests, file), 'utf8').includes(name) ? [] : [`${file}: ${name}`],
  );
  assert.deepEqual(missing, []);
});
