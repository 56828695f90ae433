import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'SECURITY.md'), 'utf8');

/**
 * The rows of the table of guarantees: what is promised, and `file`: "test" for each test that is
 * named.
 */
const rows = [...page.matchAll(/^\| (\d[^|]*) \| ([^|]+) \| ([^|]+) \|$/gm)].map(
  ([, against = '', promise = '', held = '']) => ({
    against,
    promise,
    tests: [...held.matchAll(/`([^`]+\.test\.ts)`: "([^"]+)"/g)].map(([, file = '', name = '']) => ({
      file,
      name,
    })),
  }),
);

/** The names of a file's tests. */
function namesIn(file: string): readonly string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/\btest\(\s*(['"`])((?:\\.|(?!\1)[\s\S])*)\1/g)].map(([, , name = '']) =>
    name.replace(/\\(.)/g, '$1'),
  );
}

test('every guarantee of SECURITY.md names tests, and they exist', () => {
  assert.ok(rows.length >= 20, `${rows.length} rows`);
  for (const { promise, tests } of rows) {
    assert.ok(tests.length > 0, promise);
    for (const { file, name } of tests)
      assert.ok(namesIn(file).includes(name), `${file} has no test "${name}"`);
  }
});

test('every test of test/security holds a guarantee of SECURITY.md', async () => {
  const { globSync } = await import('node:fs');
  const named = new Set(rows.flatMap(({ tests }) => tests.map(({ file, name }) => `${file}: ${name}`)));
  const files = globSync('test/security/*.test.ts', { cwd: root });
  assert.ok(files.length >= 10);
  const missing = files.flatMap((file) =>
    namesIn(file)
      .filter((name) => !/^the (guard|search)/.test(name))
      .map((name) => `${file}: ${name}`)
      .filter((each) => !named.has(each)),
  );
  assert.deepEqual(missing, []);
});

test('every untrusted party appears in the table', () => {
  const distrusted = [...page.matchAll(/^(\d)\. \*\*/gm)].map(([, n = '']) => n);
  assert.ok(distrusted.length >= 6);
  for (const n of distrusted)
    assert.ok(
      rows.some(({ against }) => against.split(', ').includes(n)),
      `nothing against ${n}`,
    );
});
