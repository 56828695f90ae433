/** Every statement that needs a test has one, also in the quick tier. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { allClaims, citingTests } from '../../scripts/docs-site/evidence.ts';

const root = join(import.meta.dirname, '../..');

for (const { title, prefix, statements } of allClaims())
  test(`each has a test, and every test that cites one exists there: ${title}`, () => {
    assert.ok(statements.size > 20, `${statements.size} statements`);
    const shown = new Set(citingTests(prefix).flatMap(({ ids }) => ids));
    assert.deepEqual(
      [...statements.keys()].filter((id) => !shown.has(id)),
      [],
    );
    assert.deepEqual(
      [...shown].filter((id) => !statements.has(id)),
      [],
    );
  });

test('every statement of conformance is shown in the quick tier', () => {
  const tests = citingTests('spec:conformance/');
  const inQuick = tests.filter(({ file, name }) => {
    const text = readFileSync(join(root, file), 'utf8').replaceAll('\\', '');
    const at = text.indexOf(name.replaceAll('\\', ''));
    assert.ok(at > 0, `${file}: ${name}`);
    return !/^.,\s*(?:\{\s*\.\.\.)?fullOnly/.test(text.slice(at + name.length));
  });
  const quick = new Set(inQuick.flatMap(({ ids }) => ids));
  assert.deepEqual(
    tests.flatMap(({ ids }) => ids.filter((id) => !quick.has(id))),
    [],
  );
});
