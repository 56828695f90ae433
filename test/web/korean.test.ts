/** The Korean texts use the terms of the table in CONTRIBUTING.md, in one style. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** The words of the last column of the table. */
function rejectedWords(): readonly string[] {
  const [, table = ''] =
    /^\| English \| Korean \| Not \|\n(.*?)\n\n?$/ms.exec(`${read('CONTRIBUTING.md')}\n`) ?? [];
  return table
    .split('\n')
    .slice(1)
    .flatMap((row) => (row.split('|')[3] ?? '').split(','))
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

/** Translationese, and particles that leave the choice to the reader. */
const awkward = ['에 의해', '되어지', '되어집', '지게 됩', '을(를)', '은(는)', '이(가)', '(으)로'];

/** What people read in Korean. The names of invented rows of a dataset are data. */
const files = [
  ...globSync('web/src/i18n/ko/*.json', { cwd: root }),
  ...globSync('src/**/*.ts', { cwd: root }).filter((file) => !file.startsWith('src/datasets/')),
  'deploy/nginx.conf',
  ...globSync('docs/**/*.ko.md', { cwd: root }),
];

/** The lines with a Korean word that begins with a rejected one, or with an awkward ending. */
function findings(text: string, rejected: readonly string[]): readonly string[] {
  return text
    .split('\n')
    .flatMap((line) => [
      ...rejected.filter((word) => new RegExp(`(?<![가-힣])${word}`, 'u').test(line)),
      ...awkward.filter((part) => line.includes(part)),
    ]);
}

test('the table of Korean terms rejects words', () => {
  const rejected = rejectedWords();
  assert.ok(rejected.length > 40, `${rejected.length} words`);
  assert.ok(files.length > 100, `${files.length} files`);
  assert.deepEqual(findings('"공급자의 오류", "다음 쪽", "왼쪽", "키을(를) 삭제"', rejected), [
    '공급자',
    '쪽',
    '을(를)',
  ]);
});

test('no Korean text has a rejected term or an awkward form', () => {
  const rejected = rejectedWords();
  assert.deepEqual(
    files.flatMap((file) => findings(read(file), rejected).map((word) => `${file}: ${word}`)),
    [],
  );
});

test('a Korean sentence of the web ends in the polite style', () => {
  const polite = /(?:니다|니까|까요|주세요|보세요)[.?]?$/u;
  const rude: string[] = [];
  for (const file of files.filter((one) => one.endsWith('.json'))) {
    for (const [, text = ''] of read(file).matchAll(/: "((?:[^"\\]|\\.)*)"/g)) {
      // A text with a full stop is a sentence; others may be labels.
      for (const sentence of text.split(/(?<=[가-힣)][.?])(?:\s|$)/u)) {
        if (/[가-힣)][.?]$/u.test(sentence) && !polite.test(sentence)) rude.push(`${file}: ${sentence}`);
      }
    }
  }
  assert.deepEqual(rude, []);
});
