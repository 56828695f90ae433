/** The map of a newcomer leads somewhere: its files exist, and have what it names. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');
const lines = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8').split('\n');

/** What a line names, and where it is; a bare file name lies in the folder of the path before it. */
function filesOf(line: string): readonly { readonly path: string; readonly file: string | null }[] {
  let folder = '.';
  return [...line.matchAll(/`([\w./-]+(?:\.(?:ts|mjs|md|json)|\/))`/g)].map(([, path = '']) => {
    const file =
      [join('src', path), path, join(folder, path)].find((each) => existsSync(join(root, each))) ?? null;
    if (path.includes('/') && file !== null) folder = path.endsWith('/') ? file : dirname(file);
    return { path, file };
  });
}

test('every file that ARCHITECTURE.md names exists', () => {
  const all = lines.flatMap(filesOf);
  assert.ok(all.length > 150, `${all.length} files`);
  assert.deepEqual(
    all.filter(({ file }) => file === null).map(({ path }) => path),
    [],
  );
});

test('every identifier that ARCHITECTURE.md names in a file is there', () => {
  let count = 0;
  for (const line of lines)
    for (const [text, name = '', path = ''] of line.matchAll(
      /`(\w+)`(?:, which \w+,)? (?:in|of) `([\w./-]+\.ts)`/g,
    )) {
      const file = filesOf(line).find((each) => each.path === path)?.file ?? path;
      assert.match(readFileSync(join(root, file), 'utf8'), new RegExp(`\\b${name}\\b`), text);
      count += 1;
    }
  assert.ok(count > 15, `${count} identifiers`);
});
