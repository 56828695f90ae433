/* `docs/spec/` and its citations: the form is in `docs/spec/README.md`. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  citationsIn,
  numbersOf,
  specificationPages,
  textOf,
  writtenFiles,
} from '../../scripts/docs-site/specification.ts';

const pages = specificationPages();
const files = writtenFiles();

test('the index names every page of the specification', () => {
  const folder = join(import.meta.dirname, '../../docs/spec');
  const found = readdirSync(folder).filter((file) => file !== 'README.md');
  assert.deepEqual(pages.map(({ file }) => file).sort(), found.sort());
  assert.equal(new Set(pages.map(({ name }) => name)).size, pages.length);
});

test('every section and statement has its own number, and a statement is in its section', () => {
  for (const { file, text, sections, statements } of pages) {
    assert.ok(statements.length > 10, `${file}: ${statements.length} statements`);
    for (const numbers of [sections, statements]) assert.equal(new Set(numbers).size, numbers.length, file);
    for (const [index, section] of sections.entries()) assert.equal(Number(section), index + 1, file);
    let section = '';
    for (const line of text.split('\n')) {
      section = /^## (\d+) /.exec(line)?.[1] ?? section;
      const number = /^(?:- |\| )\*\*(\d+)\.\d+\*\*/.exec(line)?.[1];
      if (number !== undefined) assert.equal(number, section, `${file}: ${line}`);
    }
  }
});

test('every item of a list and every row of a table is a statement', () => {
  for (const { file, text } of pages) {
    const loose = text
      .split('\n')
      .filter((line) => /^(- |\| )/.test(line) && !/^\| No\. \|/.test(line))
      .filter((line) => !/^(?:- |\| )\*\*\d+(?:\.\d+)?\*\* /.test(line));
    assert.deepEqual(loose, [], file);
  }
});

test('every citation has a target', () => {
  const targets = new Set(
    pages.flatMap(({ name, sections, statements }) =>
      [...sections, ...statements].map((number) => `${name}/${number}`),
    ),
  );
  const cited = files.flatMap((file) => citationsIn(file, textOf(file)));
  assert.ok(cited.length > 200, `${cited.length} citations`);
  const dangling = cited
    .filter(({ page, number }) => !targets.has(`${page}/${number}`))
    .map(({ file, line, page, number }) => `${file}:${line} spec:${page}/${number}`);
  assert.deepEqual(dangling, []);
});

test('a citation may name several numbers and ranges', () => {
  assert.deepEqual(numbersOf('1,5,157-159'), ['1', '5', '157', '158', '159']);
  assert.deepEqual(numbersOf('3.9-3.11'), ['3.9', '3.10', '3.11']);
  assert.deepEqual(
    citationsIn('a.ts', '// spec:money/6.2, see spec:conformance/1,2.').map(
      ({ page, number }) => page + number,
    ),
    ['money6.2', 'conformance1', 'conformance2'],
  );
});
